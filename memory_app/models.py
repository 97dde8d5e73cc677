"""The versioned rows (`MemoryBlock`, `MemoryNote`, in `memory`) and the ledger (`Change`, in `default`).

Rows of `memory` name their owner by username: there are no foreign keys between the databases.
New columns of versioned tables are null or have a `db_default`: otherwise older branches could not be merged.
"""

import re
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory_app.dolt.types import FIRST

#: Namespaces of row ids: uuid5(owner, label or note id), so that two branches creating one conflict.
BLOCK_NAMESPACE = uuid.UUID("6f0f3a52-6d0c-5d4e-9a39-0a2f3c7d9b11")
NOTE_NAMESPACE = uuid.UUID("0c7f4a0e-3f0d-5b58-9a0b-6b1d1f6f2a77")

USERNAME = re.compile(r"[a-z0-9._-]{1,64}")
LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

#: Characters to which the limit of a block may be raised.
MAX_BLOCK_LIMIT = 200_000


def block_id(owner: str, label: str) -> uuid.UUID:
    return uuid.uuid5(BLOCK_NAMESPACE, f"{owner}\n{label}")


def note_pk(owner: str, note_id: str) -> uuid.UUID:
    return uuid.uuid5(NOTE_NAMESPACE, f"{owner}\n{note_id}")


class TargetKind(models.TextChoices):
    """What a proposal or a row of the ledger is about. Only proposals use IMPORT: the ledger has a row per note."""

    BLOCK = "block", _("block")
    NOTE = "note", _("note")
    IMPORT = "import", _("import of notes")


class NoteSource(models.TextChoices):
    """Who wrote a note's words: an agent, a person, or the file it was imported from."""

    AGENT = "agent", _("an agent")
    USER = "user", _("a person")
    IMPORT = "import", _("an import")


Sealed = TypeVar("Sealed", bound=models.Model)


class SealedRows(models.QuerySet[Sealed]):
    """Opens the texts of instances; other reads of these columns (`values_list`) find nothing in them."""

    #: `memory_app.sealing.open_instances`, which needs the models.
    opening: ClassVar[Callable[[list[Any]], object]]

    def _fetch_all(self) -> None:
        super()._fetch_all()
        type(self).opening([each for each in self._result_cache or () if isinstance(each, self.model)])


class MemoryBlock(models.Model):
    """A labelled document about one owner.

    Each write changes `sha256`, so two concurrent changes of one block conflict instead of being merged cell by cell.
    What it says is in `sealed` (`memory_app.sealing`); in rows from before that, in the columns of their names.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    owner = models.CharField(_("owner"), max_length=64)
    label = models.CharField(_("label"), max_length=64)
    title = models.CharField(_("title"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    body = models.TextField(_("text"), blank=True)
    limit = models.PositiveIntegerField(_("limit in characters"))
    read_only = models.BooleanField(_("read-only for agents"), default=False)
    schema_ref = models.CharField(_("schema"), max_length=200, null=True, blank=True)
    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)
    sealed = models.BinaryField(null=True, editable=False)

    objects = SealedRows.as_manager()

    class Meta:
        verbose_name = _("memory block")
        verbose_name_plural = _("memory blocks")
        ordering = ["owner", "label"]
        # A plain index without a unique one: Dolt cannot merge a table with both over the same columns. The id is
        # unique per owner and label anyway.
        indexes = [models.Index(fields=["owner", "label"], name="block_owner_label")]

    def __str__(self) -> str:
        return f"{self.owner}/{self.label}"


class MemoryNote(models.Model):
    """A short typed statement about one owner, with its own id. Sealed as a block is."""

    # Derived from owner and note_id, like a block's: two owners who import the same file have separate notes.
    id = models.UUIDField(primary_key=True, editable=False)
    owner = models.CharField(_("owner"), max_length=64)
    note_id = models.CharField(_("id"), max_length=64, editable=False)
    content = models.TextField(_("content"))
    type = models.CharField(_("type"), max_length=32, default="note")
    tags = models.JSONField(_("tags"), default=list, blank=True)
    category = models.CharField(_("category"), max_length=64, null=True, blank=True)
    confidence = models.FloatField(_("confidence"), default=0.8)
    rationale = models.TextField(_("rationale"), null=True, blank=True)
    importance = models.FloatField(_("importance"), default=1.0)
    source = models.CharField(_("source"), max_length=16, choices=NoteSource, default=NoteSource.AGENT)
    session_id = models.CharField(_("session"), max_length=128, null=True, blank=True)
    superseded_by = models.CharField(_("replaced by"), max_length=64, null=True, blank=True)
    superseded_reason = models.TextField(_("why outdated"), null=True, blank=True)
    # A note is superseded when this is set; a replacement is optional.
    superseded_at = models.DateTimeField(_("outdated since"), null=True, blank=True)
    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)
    sealed = models.BinaryField(null=True, editable=False)

    objects = SealedRows.as_manager()

    class Meta:
        db_table = "memory_app_note"
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        ordering = ["owner", "-created_at", "note_id"]
        indexes = [models.Index(fields=["owner", "created_at"], name="note_owner_created")]

    def __str__(self) -> str:
        return f"{self.owner}/{self.note_id}"


class TextKey(models.Model):
    """A root of the keys of an owner's texts, or what is left of its tree, wrapped (see `memory_app.sealing`)."""

    # Random: cells name it. 0 is nobody's, and tells with which key of the installation the others are wrapped.
    id = models.BigIntegerField(primary_key=True)
    owner = models.CharField(max_length=64)
    wrapped = models.BinaryField()
    made_at = models.DateTimeField(default=timezone.now)
    # Since when no new texts grow from it, because some were erased.
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("key of texts")
        verbose_name_plural = _("keys of texts")
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=models.Q(closed_at=None), name="one_open_key")
        ]

    def __str__(self) -> str:
        return f"{self.owner} {self.id:x}"


class TextErasure(models.Model):
    """That texts were erased: whose, when, and who asked for it. The texts are nowhere, this stays."""

    owner = models.CharField(_("owner"), max_length=64)
    # Both are empty where all of the owner's texts were erased.
    kind = models.CharField(_("kind"), max_length=16, choices=TargetKind, blank=True)
    target = models.CharField(_("what"), max_length=64, blank=True)
    # Of one version: the commit that has it, and what names it in its cell (`sealing.version_of`).
    commit = models.CharField(_("commit"), max_length=64, blank=True)
    version = models.CharField(max_length=24, blank=True)
    by = models.CharField(_("asked for by"), max_length=64, blank=True)
    at = models.DateTimeField(_("asked for"), default=timezone.now)
    done_at = models.DateTimeField(_("done"), null=True)

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        ordering = ["-at"]
        indexes = [models.Index(fields=["owner", "kind", "target", "-at"], name="erasure_of_target")]

    def __str__(self) -> str:
        return f"{self.owner}/{self.target or '*'}"


class MemoryDatabase(models.Model):
    """One database of the memory. An installation has one, `memory`, until `manage.py memories add` makes another."""

    name = models.CharField(max_length=32, primary_key=True)
    # The name of a server in ASSENT_MEMORY_SERVERS; empty for the one of MEMORY_DATABASE_URL. Never an address, which
    # may contain a password.
    server = models.CharField(max_length=64, blank=True)
    takes_owners = models.BooleanField(default=True)
    # How many owners were placed there, since there are several.
    owners = models.BigIntegerField(default=0)
    # Increases when the database moves: what began before is not recorded any more. Below 0 while it is being made.
    epoch = models.BigIntegerField(default=0)
    # A lease of the process that moves it; nothing is written until then.
    moving_until = models.DateTimeField(null=True)
    # Of the last `check_memory` that found nothing: main's newest commit and the ledger's newest row when it began.
    checked_commit = models.CharField(max_length=64, blank=True)
    checked_change = models.BigIntegerField(default=0)
    checked_at = models.DateTimeField(null=True)
    # When what can be read of its history begins, where it was squashed and the former one is kept no more.
    history_from = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("memory database")
        verbose_name_plural = _("memory databases")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class MemoryOwner(models.Model):
    """In which database an owner's memory is. Made by the first write, and never changed: only databases move."""

    owner = models.CharField(max_length=64, primary_key=True)
    database = models.ForeignKey(MemoryDatabase, on_delete=models.PROTECT, related_name="+")

    class Meta:
        verbose_name = _("owner of a memory")
        verbose_name_plural = _("owners of memories")

    def __str__(self) -> str:
        return f"{self.owner} in {self.database_id}"


class Change(models.Model):
    """One row of the ledger: what a commit on main did to one target.

    A cache of the Dolt log that makes history fast: scanning `dolt_history_*` took 2.6 s at 17,000 commits.
    `manage.py rebuild_ledger` rebuilds it from the trailers of the log.
    """

    class Action(models.TextChoices):
        APPROVED = "approved", _("approved proposal")
        EDITED = "edited", _("direct edit")
        CREATED = "created", _("created")
        SUPERSEDED = "superseded", _("marked as outdated")
        REINSTATED = "reinstated", _("reinstated")
        DELETED = "deleted", _("deleted")
        APPLIED = "applied", _("automatic")
        IMPORTED = "imported", _("imported")
        REVERTED = "reverted", _("reverted")
        RECOVERED = "recovered", _("written outside Assent")

    # Whose log has the commit.
    database = models.CharField(max_length=32, default=FIRST, db_default=FIRST)
    commit = models.CharField(max_length=64)
    owner = models.CharField(max_length=64)
    target_kind = models.CharField(max_length=16, choices=TargetKind)
    target = models.CharField(max_length=64)
    action = models.CharField(max_length=16, choices=Action)
    actor = models.CharField(max_length=64, help_text=_("username of the person, empty when none"))
    agent = models.CharField(max_length=64, blank=True)
    proposal_id = models.BigIntegerField(null=True)
    comment = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        ordering = ["-at", "-id"]
        constraints = [
            # Not on `commit` alone: an import is one commit with a row per note, and uncommitted rows found on main
            # may be blocks of several owners with the same label.
            models.UniqueConstraint(fields=["commit", "owner", "target_kind", "target"], name="change_once_per_target"),
        ]
        indexes = [
            models.Index(fields=["owner", "target_kind", "target", "-at", "-id"], name="change_of_target"),
            models.Index(fields=["owner", "-at", "-id"], name="change_of_owner"),
            models.Index(fields=["owner", "id"], name="change_since"),
            # Of all owners of a database: the commit at a given time, and the last recorded ones.
            models.Index(fields=["database", "-at", "-id"], name="change_of_database"),
            # Each run of `recover` looks for reverts and for approvals of open proposals.
            models.Index(fields=["proposal_id"], condition=models.Q(action="reverted"), name="change_reverts"),
            models.Index(fields=["proposal_id"], condition=models.Q(action="approved"), name="change_approvals"),
        ]

    def __str__(self) -> str:
        return f"{self.commit[:8]} {self.owner}/{self.target}"


class DirectWrite(models.Model):
    """A write of main without a proposal, recorded before its commit is made.

    Needed to rebuild the ledger: a commit counts as a person's own edit only if its operation is listed here. The
    person's comment is kept here and in the ledger, never in the log of the memory.
    """

    operation = models.CharField(max_length=32, primary_key=True)
    # Label or id of its first target, until the ledger has the commit: lists of notes look there (`reads.catalogue`).
    pending = models.CharField(max_length=64, null=True, editable=False)
    owner = models.CharField(max_length=64)
    action = models.CharField(max_length=16, choices=Change.Action)
    actor = models.CharField(max_length=64, blank=True)
    comment = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("direct write")
        verbose_name_plural = _("direct writes")
        ordering = ["at"]
        indexes = [
            models.Index(fields=["owner"], condition=models.Q(pending__isnull=False), name="direct_write_pending")
        ]

    def __str__(self) -> str:
        return f"{self.owner} {self.action} {self.operation[:8]}"


class Message(models.Model):
    """One turn of a conversation between an agent and an owner: evidence, and searchable on request.

    Neither versioned nor part of the memory; deleted after its retention time.
    """

    class Role(models.TextChoices):
        USER = "user", _("user")
        ASSISTANT = "assistant", _("assistant")
        SYSTEM = "system", _("system")
        TOOL = "tool", _("tool")

    owner = models.CharField(_("owner"), max_length=64)
    session_id = models.CharField(_("session"), max_length=128)
    # The agent's own id, or one we generate. A message sent twice with the same id is stored once.
    message_id = models.CharField(_("id"), max_length=128)
    role = models.CharField(_("role"), max_length=16, choices=Role)
    content = models.TextField(_("content"))
    author = models.CharField(_("author"), max_length=128, blank=True)
    # The agent that sent it, by name as in the ledger; no other agent may delete it.
    agent = models.CharField(_("agent"), max_length=64, blank=True)
    at = models.DateTimeField(_("said"))
    received_at = models.DateTimeField(_("received"), auto_now_add=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["owner", "session_id", "at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "session_id", "message_id"], name="message_once"),
        ]
        indexes = [
            models.Index(fields=["owner", "session_id", "at", "id"], name="message_of_session"),
            models.Index(fields=["owner", "id"], name="message_since"),
            models.Index(fields=["received_at"], name="message_received"),
        ]

    def __str__(self) -> str:
        return f"{self.owner}/{self.session_id}/{self.message_id}"


class NoteAccess(models.Model):
    """How often agents recalled a note, and when last. Not versioned, so that reading commits nothing."""

    owner = models.CharField(_("owner"), max_length=64)
    note_id = models.CharField(_("note"), max_length=64)
    count = models.PositiveIntegerField(_("times recalled"), default=0)
    last_at = models.DateTimeField(_("last recalled"))

    class Meta:
        verbose_name = _("note access")
        verbose_name_plural = _("note accesses")
        constraints = [models.UniqueConstraint(fields=["owner", "note_id"], name="access_once")]

    def __str__(self) -> str:
        return f"{self.owner}/{self.note_id}"


class SearchIndex(models.Model):
    """How far an owner's chunks follow the memory. Derived data: `manage.py reindex` rebuilds it."""

    owner = models.CharField(_("owner"), max_length=64, unique=True)
    embedder = models.CharField(_("embedder"), max_length=128)
    # The last row of the ledger, and the last message, that the chunks reflect.
    change_id = models.BigIntegerField(default=0)
    message_id = models.BigIntegerField(default=0)
    commit = models.CharField(_("commit"), max_length=64, blank=True)
    # Increases with every write of chunks; processes fetch the chunks that are newer than their arrays.
    version = models.BigIntegerField(default=0)
    # Removed chunks older than this version are deleted: arrays below it are reloaded.
    floor = models.BigIntegerField(default=0)
    # How many transactions wrote changes or messages of the owner, each counting itself, and how many of them the
    # chunks reflect. A new row is behind.
    writes = models.BigIntegerField(db_default=1, editable=False)
    writes_indexed = models.BigIntegerField(db_default=0, editable=False)
    # A lease: one process at a time writes an owner's chunks, and that process may die.
    busy_until = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("search index")
        verbose_name_plural = _("search indices")
        indexes = [
            # Who is behind is asked by each /readyz and each minute: a row for each owner took 2 s at 100,000.
            models.Index(
                fields=["owner"],
                condition=models.Q(writes_indexed__lt=models.F("writes")) | models.Q(busy_until__isnull=False),
                name="index_unsettled",
            ),
            models.Index(fields=["embedder", "owner"], name="index_of_embedder"),
        ]

    def __str__(self) -> str:
        return self.owner


class Chunk(models.Model):
    """One searchable passage, with its terms and its vector (see `search.ranking.chunking.IndexRow`)."""

    owner = models.CharField(_("owner"), max_length=64)
    source = models.CharField(_("source"), max_length=16)
    document_id = models.CharField(_("document"), max_length=128)
    item_id = models.CharField(max_length=128)
    order = models.BigIntegerField()
    text = models.TextField()
    title = models.CharField(max_length=200, blank=True)
    section = models.TextField(blank=True)
    type = models.CharField(max_length=32, blank=True)
    tags = models.JSONField(default=list)
    category = models.CharField(max_length=64, blank=True)
    author = models.CharField(max_length=128, blank=True)
    at = models.DateTimeField(null=True)
    session_id = models.CharField(max_length=128, blank=True)
    superseded = models.BooleanField(default=False)
    terms = models.TextField()
    marks = models.PositiveSmallIntegerField(default=0)
    vector = models.BinaryField(default=bytes)
    version = models.BigIntegerField()
    removed = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        indexes = [
            models.Index(fields=["owner", "source", "document_id"], name="chunk_of_document"),
            models.Index(fields=["owner", "version"], name="chunk_since"),
            # Those that no `PackedChunks` holds.
            models.Index(fields=["owner", "id"], condition=models.Q(removed=False), name="chunk_live"),
        ]

    def __str__(self) -> str:
        return f"{self.owner}/{self.source}/{self.document_id}"


class PackedChunks(models.Model):
    """Chunks of an owner as arrays, for the first search of a process (see `search.snapshots`). Derived data."""

    owner = models.CharField(_("owner"), max_length=64)
    # Reflects each chunk of the owner with an id from `after` (without it) to `last`, as it is now.
    after = models.BigIntegerField()
    last = models.BigIntegerField()
    data = models.BinaryField()

    class Meta:
        verbose_name = verbose_name_plural = _("packed chunks")
        constraints = [models.UniqueConstraint(fields=["owner", "after"], name="packed_once")]

    def __str__(self) -> str:
        return f"{self.owner} {self.after}–{self.last}"


class SiteRecord(models.Model):
    """Something that the site remembers of itself; see `runtime.records`."""

    name = models.CharField(max_length=32, primary_key=True)
    value = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        verbose_name = _("record of the site")
        verbose_name_plural = _("records of the site")

    def __str__(self) -> str:
        return self.name
