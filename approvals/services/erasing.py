"""Erase for good what was said of somebody: all of it, or a block, a note, or one former version of either.

The keys of the texts are destroyed (`memory_app.sealing`), so that no commit, branch or copy of the memory can be read,
and what `default` says of them is blanked. What stays: that there was something, when it changed and by whom, and that
it was erased. Each erasure is also a line in a file that is in no backup (`settings.ERASED_LIST`), and what is restored
from an older backup is erased once more.

Not here: removing the texts of proposals that were not taken, and of conversations (`texts`), which this builds on.
"""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, NotSupportedError, ProgrammingError, connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import (
    DECIDABLE,
    AuditEvent,
    Batch,
    Proposal,
    ProposalQuerySet,
    RejectedFingerprint,
    RejectReason,
    Revision,
    Status,
    User,
)
from approvals.permissions import may_erase
from approvals.services import close, texts
from approvals.services.errors import DecisionRefused, Refusal
from approvals.services.recheck import after_change
from approvals.services.writing import write_main
from memory_app import conversations, reads, sealing
from memory_app.databases import clock
from memory_app.databases.prepared import batched
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import DoltError, EngineUnavailable, NothingToCommit, RevisionNotFound
from memory_app.dolt.placement import FRESH
from memory_app.dolt.types import aware
from memory_app.models import Change, DirectWrite, NoteAccess, TargetKind, TextErasure
from memory_app.reads import blame
from memory_app.runtime import background
from memory_app.runtime.workers import enqueue
from memory_app.search import store
from memory_app.writing.ledger import LedgerEntry
from memory_app.writing.rows import TargetMoved
from memory_app.writing.values import BlockWrite, NoteWrite, Write

log = structlog.get_logger(__name__)

#: Name of the thread that erases where there is no worker; tests wait for it.
THREAD = "erase"
#: Seconds until every process lets new texts grow from another root, and has committed those of the old one.
SETTLES = 2 * FRESH
#: Seconds that a decision which is under way gets to end.
_PATIENCE = 10.0

#: Callbacks that remove copies in the layers above, given owner, kind and target; kind and target may be empty.
copies: list[Callable[[str, str, str], object]] = []


def ask(
    *, by: User | None, owner: str, kind: str = "", target: str = "", commit: str = "", waits: bool = False
) -> TextErasure:
    """Ask for texts to be erased, which begins at once and cannot be taken back.

    Args:
        by: None for an operator.
        kind, target: of a block or a note; both empty for everything about the owner, conversations too.
        commit: of main, whose version of the target alone is meant.
        waits: the caller calls `finish` itself.

    Raises:
        `not_allowed`: this person may not write this memory.
        `nothing_to_erase`: there was no such target, or no such version.
        `is_current`: the version is what the memory says now.
        `not_sealed`: the version is from before texts were sealed.
        OSError: the erasure cannot be written down outside the databases; nothing was erased.
        RevisionNotFound: of the commit. It was erased before: `TextErased`.
    """
    if by and not may_erase(by, owner):
        raise Refusal(_("You may not edit this memory."), code="not_allowed")
    erasure = TextErasure(owner=owner, kind=kind, target=target, commit=commit, at=clock.now())
    if kind and not _changes(erasure).exists():
        raise Refusal(_("There was never anything of this name."), code="nothing_to_erase")
    erasure.version = _version_at(owner, kind, target, commit) if commit else ""
    erasure.by = by.username if by else ""
    with transaction.atomic():
        erasure.save()
        _write_down(erasure)
    what = " ".join(filter(None, [kind, target, commit[:8]])) or "everything"
    audit.record(AuditEvent.Act.ERASED, owner=owner, detail=what, actor=erasure.by)
    if not waits:
        transaction.on_commit(finish_soon)
    return erasure


def finish_soon() -> None:
    enqueue("approvals.erase", otherwise=partial(background.soon, THREAD, finish))


def is_unfinished() -> bool:
    return TextErasure.objects.filter(done_at=None).exists()


def finish() -> int:
    """Carry out what was asked for and is not done, then collect garbage; return what `texts.collect` does.

    One that cannot be done now, as a change of its target is under way, is left for the next run.
    """
    for erasure in TextErasure.objects.filter(done_at=None).order_by("at"):
        try:
            carry_out(erasure)
        except (DatabaseError, DoltError):
            log.exception("not_erased_yet", erasure=erasure.pk)
    return texts.collect()


def carry_out(erasure: TextErasure) -> None:
    """Erase what an erasure names; repeated, what a crash left of it.

    Raises:
        EngineUnavailable: the memory does not answer, or a change of the target is under way.
    """
    by = User.objects.filter(username=erasure.by).first()
    if erasure.version:
        roots = {sealing.root_of(erasure.version)}
    else:
        roots = sealing.close(erasure.owner, erasure.at)
        time.sleep(SETTLES)
        _delete_from_main(erasure, roots, by)
    until = _deleted_at(erasure)
    proposals = _proposals(erasure).filter(created_at__lte=until)
    _end_waiting(proposals, by)
    for proposal in proposals.select_related("agent").iterator(chunk_size=100):
        with transaction.atomic(durable=True):
            texts.remove(proposal, actor=by, everything=True)
    _blank_copies(erasure, proposals, until)
    sealing.cut(erasure.owner, roots, erasure.kind, erasure.target, erasure.version)
    if not erasure.version:
        _delete_from_main(erasure, roots, by)  # what came from a process that was too slow: nobody could read it
        store.reindex(erasure.owner, whole=not erasure.kind)
    TextErasure.objects.filter(pk=erasure.pk).update(done_at=timezone.now())
    log.info("erased", user_id=erasure.owner, kind=erasure.kind, target=erasure.target, by=erasure.by)


def _deleted_at(erasure: TextErasure) -> datetime:
    """Return when it was gone from main, by this run or one that died: what was said later is of something else."""
    deleted = _changes(erasure).filter(action=Change.Action.DELETED, at__gte=erasure.at)
    return deleted.aggregate(last=Max("at"))["last"] or timezone.now()


def _changes(erasure: TextErasure) -> QuerySet[Change]:
    of_target = {"target_kind": erasure.kind, "target": erasure.target} if erasure.kind else {}
    return Change.objects.filter(owner=erasure.owner, **of_target)


def remember() -> int:
    """Ask again for the erasures in the file that `default` does not know, as it is from before them; return how many.

    `finish` carries them out.
    """
    known = set(map(_known_by, TextErasure.objects.values()))
    file = settings.ERASED_LIST
    lines = file.read_text().splitlines() if file and file.exists() else []
    told = [json.loads(line) for line in lines if line.endswith("}")]  # but those that a crash broke off
    missing = [said for said in told if _known_by(said) not in known]
    for said in missing:
        TextErasure.objects.create(**said)
    return len(missing)


def _known_by(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells an erasure, of the file or of `default`, from others. Not a commit: a move changes its hash."""
    return tuple(str(said[name]) for name in ("owner", "kind", "target", "version", "at"))


def may_be_plain(owner: str, kind: str = "", target: str = "") -> bool:
    """Whether the memory may have versions of an owner's texts, or of one target's, from before texts were sealed."""
    since, begins = sealing.sealed_since(), reads.history_from(owner)
    if since is None or (begins and begins > since and not dolt(owner).kept()):
        return False
    return _changes(TextErasure(owner=owner, kind=kind, target=target)).filter(at__lt=since).exists()


def told(owner: str, kind: str, target: str) -> dict[str, Any]:
    """Return what pages say of a target's erasures: them, and whether texts from before may still be read there."""
    erased = sealing.erasures_of(owner, kind, target)
    return {"erased": erased, "is_partly_plain": erased.exists() and may_be_plain(owner, kind, target)}


def _write_down(erasure: TextErasure) -> None:
    """Write an erasure where no backup has it, before anything is erased. Raises OSError."""
    if settings.ERASED_LIST is None:
        raise OSError("ASSENT_ERASED_LIST is not set: name a file that stays, and that is in no backup")
    names = ("owner", "kind", "target", "commit", "version", "by", "at")
    said = {name: str(getattr(erasure, name)) for name in names}
    made = os.open(settings.ERASED_LIST, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(made, "a") as file:
        # After a line that a crash broke off, too: that erasure was not acknowledged.
        file.write(f"\n{json.dumps(said)}\n")
        file.flush()
        os.fsync(file.fileno())


def _version_at(owner: str, kind: str, target: str, commit: str) -> str:
    """Return what names the version at a commit; see `ask` for what it raises."""
    then, now = (_cell_of(owner, kind, target, revision) for revision in (commit, None))
    if then is None:
        raise Refusal(_("There was no such version."), code="nothing_to_erase")
    if then == now:
        raise Refusal(
            _("This is what the memory says now. Change or delete it first; then this version can be erased."),
            code="is_current",
        )
    if not then:
        said = _("This version is from before texts were sealed, and cannot be erased alone.")
        raise Refusal(said, code="not_sealed")
    return sealing.version_of(then)


def _cell_of(owner: str, kind: str, target: str, revision: str | None) -> bytes | None:
    """Return the cell of a target's row: None without a row, empty of one that is not sealed."""
    table, name = reads.TABLES[TargetKind(kind)]
    rows = reads.rows_of(dolt(owner), table, revision, {"owner": owner, name: target})
    for row in rows:
        if "erased" in row:
            raise row["erased"]
        return row["sealed"] or b""
    return None


def _proposals(erasure: TextErasure) -> ProposalQuerySet:
    """Return the proposals that say what is to be erased: of a version, its own and those made from it; of a note, the
    imports that had it too, whole."""
    owner, target = erasure.owner, erasure.target
    if not erasure.kind:
        return Proposal.objects.of_owner(owner)
    about = Proposal.objects.on_target(owner, erasure.kind, target)
    if erasure.kind == TargetKind.NOTE:
        as_text = Revision.objects.annotate(text=Cast("note_changes", TextField()))
        having = as_text.filter(proposal=OuterRef("pk"), text__contains=json.dumps(target))
        about |= Proposal.objects.of_owner(owner).filter(Exists(having), target_kind=TargetKind.IMPORT)
    if not erasure.version or erasure.kind == TargetKind.NOTE:
        return about
    with suppress(RevisionNotFound):  # it was done before a crash; or a backup is from before the version
        if block := reads.find_block(owner, target, erasure.commit):
            quoting = Revision.objects.filter(Q(base_text=block.body) | Q(result_text=block.body))
            return about.filter(Q(merge_commit=erasure.commit) | Exists(quoting.filter(proposal=OuterRef("pk"))))
    return about.filter(merge_commit=erasure.commit)


def _end_waiting(proposals: ProposalQuerySet, by: User | None) -> None:
    """Reject what waits, as too private. Raises EngineUnavailable where a change stays under way."""
    end = time.monotonic() + _PATIENCE
    while waiting := list(proposals.pending().select_related("agent")):
        for proposal in waiting:
            if proposal.status in DECIDABLE:
                with suppress(DecisionRefused):  # decided meanwhile
                    why = {"decision_reason": RejectReason.TOO_PRIVATE}
                    close.close(proposal, Status.REJECTED, actor=by, fields=why)
        if time.monotonic() > end:
            raise EngineUnavailable(f"a change of the memory of {waiting[0].owner} is under way")
        time.sleep(0.1)


def _delete_from_main(erasure: TextErasure, roots: Set[int], by: User | None) -> None:
    owner = erasure.owner
    for _attempt in range(3):  # somebody may write meanwhile
        writes = tuple(_writes(erasure, roots))
        if not writes:
            return
        targets = tuple(
            (TargetKind.BLOCK, write.label) if isinstance(write, BlockWrite) else (TargetKind.NOTE, write.id)
            for write in writes
        )
        action, operation = Change.Action.DELETED, uuid.uuid4().hex
        entry = LedgerEntry(action, owner, targets, operation, actor=erasure.by)
        with suppress(TargetMoved, NothingToCommit):
            write_main(writes, entry=entry, by=by, subject=f"Erase what was said of {owner}")
            after_change(owner, targets)
    raise EngineUnavailable(f"the memory of {owner} is written all the time")


def _writes(erasure: TextErasure, roots: Set[int]) -> Iterator[Write]:
    """Yield what deletes the rows on main whose texts grow from these roots, or are from before all of them."""
    where, asked = {"owner": erasure.owner}, erasure.at
    for kind, (table, name) in reads.TABLES.items():
        if erasure.kind in ("", kind):
            named = {name: erasure.target} if erasure.kind else {}
            # Not by `reads`: a text that nobody can open any more is deleted too.
            for row in dolt(erasure.owner).rows(table, None, where | named):
                cell = row["sealed"]
                if sealing.root_of(sealing.version_of(cell)) in roots if cell else aware(row["updated_at"]) <= asked:
                    made = BlockWrite if kind == TargetKind.BLOCK else NoteWrite
                    yield made(erasure.owner, row[name], None, row["sha256"])


def _blank_copies(erasure: TextErasure, proposals: ProposalQuerySet, until: datetime) -> None:
    owner, kind, target = erasure.owner, erasure.kind, erasure.target
    changes = _changes(erasure).filter(at__lte=until)
    if erasure.version:
        changes = changes.filter(commit=erasure.commit)
    said = changes.exclude(comment="").order_by().values_list("comment", flat=True).distinct()
    for some in batched(list(said)):
        DirectWrite.objects.filter(owner=owner, comment__in=some).update(comment="")
    changes.update(comment="")
    batches = proposals.exclude(decision_batch="").order_by().values_list("decision_batch", flat=True).distinct()
    for some in batched(list(batches)):
        Batch.objects.filter(pk__in=some).update(comment="")
    RejectedFingerprint.objects.filter(proposal__in=proposals.order_by().values("pk")).delete()
    if kind != TargetKind.BLOCK and not erasure.version:
        NoteAccess.objects.filter(owner=owner, **({"note_id": target} if kind else {})).delete()
    if not kind:
        conversations.delete_all(owner, until)
    if kind != TargetKind.NOTE:
        blocks = _changes(erasure).filter(target_kind=TargetKind.BLOCK).order_by()
        blame.forget(owner, blocks.values_list("target", flat=True).distinct())
    for remove_copies in copies:
        remove_copies(owner, kind, target)


#: Statements after which PostgreSQL has no statistics of tables without rows: `ANALYZE` leaves those as they were, and
#: setting the type of a column, if to the same, drops them.
_DROP_STATISTICS = """
    SELECT format('ALTER TABLE %I.%I ALTER %I TYPE %s', schemaname, tablename, attname,
        format_type(atttypid, atttypmod)
        || CASE WHEN attcollation > 0 THEN ' COLLATE ' || attcollation::regcollation ELSE '' END)
    FROM pg_stats JOIN pg_attribute USING (attname)
    WHERE attrelid = format('%I.%I', schemaname, tablename)::regclass AND schemaname = current_schema()
        AND (SELECT reltuples = 0 AND pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = attrelid)
"""


def vacuum() -> None:
    """Have PostgreSQL write its tables anew, which takes their locks: deleted rows would stay in their files."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # its statistics quote values
            cursor.execute(_DROP_STATISTICS)
            for (statement,) in cursor.fetchall():
                with suppress(NotSupportedError):  # of a column that a trigger or another column needs: none has a text
                    cursor.execute(statement)
            cursor.execute("VACUUM FULL")
            with suppress(ProgrammingError):  # a right of its own: then PostgreSQL does it itself, within minutes
                cursor.execute("CHECKPOINT")
