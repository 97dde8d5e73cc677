"""Proposals and their revisions, in the `default` database.

A proposal's status is written by compare-and-swap in `approvals.services` only. Texts are in `Revision`, so that
decided proposals can be shown in full after their branch is dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models.people import Agent, User
from memory_app.databases import clock
from memory_app.databases.prepared import Prepared, batched
from memory_app.models import TargetKind

# -- The states and kinds of a proposal, and the reasons for review and rejection.


class Status(models.TextChoices):
    """The states of a proposal; the API returns them in lower case, as they are stored."""

    PREPARING = "preparing", _("being prepared")
    OPEN = "open", _("open")
    CHANGES_REQUESTED = "changes_requested", _("changes requested")
    MERGING = "merging", _("being merged")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    WITHDRAWN = "withdrawn", _("withdrawn")
    EXPIRED = "expired", _("expired")
    APPLIED = "applied", _("automatic")


#: Decided, and not in the memory: their texts can be removed.
NOT_TAKEN = (Status.REJECTED, Status.WITHDRAWN, Status.EXPIRED)


#: Decided, and in the memory.
TAKEN = (Status.APPROVED, Status.APPLIED)


#: Not decided yet.
PENDING = (Status.PREPARING, Status.OPEN, Status.CHANGES_REQUESTED, Status.MERGING)


#: Not decided yet, and nothing is under way: a person may decide, and its agent may amend or withdraw it.
DECIDABLE = (Status.OPEN, Status.CHANGES_REQUESTED)


#: Final states.
DECIDED = (*TAKEN, *NOT_TAKEN)


class Approval(models.TextChoices):
    """How a proposal was approved; empty on undecided proposals, and on approvals older than the column."""

    AS_PROPOSED = "as_proposed", _("as proposed")
    PART = "part", _("in part")
    EDITED = "edited", _("with changes")
    RESOLVED = "resolved", _("after resolving conflicts")


class Mergeability(models.TextChoices):
    """Whether an open proposal fits its current target; recomputed after each change of the target."""

    CLEAN = "clean", _("applies")
    REBASABLE = "rebasable", _("the block changed, the edit still fits")
    CONFLICT = "conflict", _("no longer fits")
    ALREADY_APPLIED = "already_applied", _("already in the memory")
    UNKNOWN = "unknown", _("could not be checked")


class Kind(models.TextChoices):
    """The kind of change, for filters and chips."""

    EDIT = "edit", _("edit")
    REWRITE = "rewrite", _("rewrite")
    CREATE_BLOCK = "create_block", _("new block")
    DELETE_BLOCK = "delete_block", _("deletes block")
    SAVE = "save", _("new note")
    UPDATE = "update", _("edits note")
    DELETE = "delete", _("deletes note")
    FORGET = "forget", _("retires note")
    IMPORT = "import", _("import of notes")


class Confidence(models.TextChoices):
    LOW = "low", _("low")
    MEDIUM = "medium", _("medium")
    HIGH = "high", _("high")


class ReviewReason(models.TextChoices):
    """Why a change of notes waited for a person when it was proposed."""

    POLICY = "policy", _("the owner’s policy: agents ask before they write notes")
    SCOPE = "scope", _("the agent’s token: it may propose notes, not write them")
    SECRETS = "secrets", _("what it says: a key, token, password or card number, which a person sees first")
    FLAGGED = "flagged", _("what it says: unseen characters or text, or orders to a model, which a person sees first")
    RULE = "rule", _("a rule: this agent asks first")
    LARGE = "large", _("a rule: larger changes wait for a person")
    REPEATED = "repeated", _("what it says: a person rejected or undid the same before")


class RejectReason(models.TextChoices):
    """Presets of the reject form; the agent gets the key."""

    WRONG = "wrong", _("Wrong")
    OUTDATED = "outdated", _("Outdated")
    TOO_PRIVATE = "too_private", _("Too private")
    DUPLICATE = "duplicate", _("Duplicate")
    BADLY_WORDED = "badly_worded", _("Badly worded")
    OTHER = "other", _("Other")


#: Ids in one statement that names them twice: SQLite takes 32,766 parameters, an import up to 100,000 notes.
MOST_IDS = 10_000


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def open(self) -> ProposalQuerySet:
        return self.filter(status=Status.OPEN)

    def decidable(self) -> ProposalQuerySet:
        """Filter open proposals, and those whose agent is asked for changes."""
        return self.filter(status__in=DECIDABLE)

    def pending(self) -> ProposalQuerySet:
        """Filter undecided proposals in any state: they count against caps and limits."""
        return self.filter(status__in=PENDING)

    def pending_of(self, agent: Agent, owner: str) -> ProposalQuerySet:
        """Filter an agent's undecided proposals for an owner."""
        return self.filter(agent=agent, owner=owner, status__in=PENDING)

    def of_owner(self, owner: str) -> ProposalQuerySet:
        return self.filter(owner=owner)

    def on_target(self, owner: str, kind: str, target: str) -> ProposalQuerySet:
        return self.filter(owner=owner, target_kind=kind, target=target)

    def about_notes(self, ids: Collection[str]) -> ProposalQuerySet:
        """Filter proposals that create, change or delete one of these notes, alone or in an import.

        With more ids than `MOST_IDS`, which only an import has, the query runs at once, not lazily.
        """
        if len(ids) <= MOST_IDS:
            named = ProposedNote.objects.filter(proposal=OuterRef("pk"), note_id__in=ids)
            return self.filter(
                Q(target_kind=TargetKind.NOTE, target__in=ids) | Q(target_kind=TargetKind.IMPORT) & Exists(named)
            )
        every, found = list(ids), set[int]()
        for some in batched(every, MOST_IDS):
            found.update(self.about_notes(some).order_by().values_list("pk", flat=True))
        return self.filter(pk__in=found)

    def visible_to(self, owners: Iterable[str] | None) -> ProposalQuerySet:
        """Filter by owners, as `permissions.readable_owners` returns them; None means all."""
        return self.all() if owners is None else self.filter(owner__in=owners)

    def lease_ran_out(self) -> ProposalQuerySet:
        """Filter proposals whose lease expired or was released: another call or `recover` may finish them."""
        return self.without_lease().filter(status__in=[Status.PREPARING, Status.MERGING])

    def without_lease(self) -> ProposalQuerySet:
        """Filter those that no call holds at the moment, in whatever state."""
        return self.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lt=clock.now()))


_ProposalManager = models.Manager.from_queryset(ProposalQuerySet)


class ProposalManager(_ProposalManager["Proposal"]):
    """Defer `search_words`, which only the database reads: those of a large import are a megabyte."""

    def get_queryset(self) -> ProposalQuerySet:
        return ProposalQuerySet(self.model, using=self._db).defer("search_words")


class Proposal(models.Model):
    """A change of one target that an agent proposes, with the decision about it."""

    owner = models.CharField(_("owner"), max_length=64)
    target_kind = models.CharField(_("target kind"), max_length=16, choices=TargetKind, default=TargetKind.BLOCK)
    target = models.CharField(_("target"), max_length=64)
    target_title = models.CharField(_("title"), max_length=200)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="proposals", verbose_name=_("agent"))
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.PREPARING)
    mergeability = models.CharField(_("mergeability"), max_length=20, choices=Mergeability, default=Mergeability.CLEAN)
    current_revision_number = models.PositiveIntegerField(_("revision"), default=1)
    reasoning = models.TextField(_("reason"), blank=True)
    confidence = models.CharField(_("confidence"), max_length=8, choices=Confidence, default=Confidence.MEDIUM)
    session_id = models.CharField(_("session"), max_length=128, blank=True)
    # [{"role": …, "content": …, "at": …?}]: the conversation turns the agent attached as evidence.
    evidence = models.JSONField(_("evidence"), default=list, blank=True)
    # The excerpt that the inbox shows without reading texts or branches:
    # [["same" | "removed" | "added" | "gap", text]…], at most a few dozen words.
    excerpt = models.JSONField(_("excerpt"), default=list, blank=True)
    words_added = models.PositiveIntegerField(_("words added"), default=0)
    words_removed = models.PositiveIntegerField(_("words removed"), default=0)
    # Keys of `approvals.risks.flags`, worst first.
    risks = models.JSONField(_("risks"), default=list, blank=True)
    result_sha256 = models.CharField(max_length=64)
    # One per attempt to propose: an idempotent retry finds its row by it.
    operation = models.CharField(max_length=32, unique=True)
    created_at = models.DateTimeField(_("proposed"), default=timezone.now)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)
    expires_at = models.DateTimeField(_("expires"))
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    # The owner's policy applies it without a decision; it has no branch, and can be reverted.
    auto_applied = models.BooleanField(_("automatic"), default=False)
    # For notes only: blocks always wait. Empty on proposals that are older than the column.
    review_reason = models.CharField(_("why a person is asked"), max_length=8, choices=ReviewReason, blank=True)
    # Of an automatic change and of an approval: the commit that took it back.
    reverted_by_commit = models.CharField(max_length=64, blank=True)
    # The decided proposal that this one takes up again: a reworded rejection, or what an approval in part sent back.
    answers = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="answered_by", verbose_name=_("answers")
    )
    assigned_to = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="assigned", verbose_name=_("assigned to")
    )
    # Since when its agent is asked for changes: to the proposal, or to what was left out of an approval in part.
    handed_back_at = models.DateTimeField(_("handed back"), null=True, blank=True)
    # When its reviewers, and then its owner, were told that it has waited for long.
    reminded_at = models.DateTimeField(null=True, blank=True, editable=False)
    owner_reminded_at = models.DateTimeField(null=True, blank=True, editable=False)

    # The decision. From MERGING on, these fields contain what the merge needs, so that `recover` can finish it. When an
    # agent withdrew the proposal, `merge_operation` is the operation of that call.
    decided_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="decisions", verbose_name=_("decided by")
    )
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    approval = models.CharField(_("approved how"), max_length=12, choices=Approval, blank=True, default="")
    # Of a decision about several proposals: one for all, by which they are undone together.
    decision_batch = models.CharField(max_length=32, blank=True, default="", editable=False)
    decision_reason = models.CharField(_("reject reason"), max_length=16, choices=RejectReason, blank=True)
    decision_comment = models.TextField(_("comment"), blank=True)
    seen_sha256 = models.CharField(max_length=64, blank=True)
    merge_operation = models.CharField(max_length=32, blank=True)
    main_before = models.CharField(max_length=64, blank=True)
    merge_commit = models.CharField(max_length=64, blank=True)

    # When its texts were removed (`services.texts`): pages then show an empty text as removed.
    redacted_at = models.DateTimeField(_("texts removed"), null=True, blank=True)
    # The files of the memory may still hold the texts of a dropped branch, until garbage is collected.
    is_garbage_left = models.BooleanField(default=False)

    # `ChangeSummary.search_words` of its reason, target and change; lists search this column.
    search_words = models.TextField(blank=True, editable=False)

    objects = ProposalManager()

    class Meta:
        verbose_name = _("proposal")
        verbose_name_plural = _("proposals")
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["owner", "status", "created_at", "id"], name="proposal_owner_status"),
            models.Index(fields=["agent", "owner", "status"], name="proposal_agent_owner"),
            # An agent's own, the newest first: about one owner, and in one state.
            models.Index(fields=["agent", "owner", "id"], name="proposal_agent_newest"),
            models.Index(fields=["agent", "status", "id"], name="proposal_agent_status"),
            models.Index(fields=["status", "expires_at"], name="proposal_expires"),
            models.Index(fields=["owner", "target", "status"], name="proposal_owner_target"),
            # The inbox of staff, and the counts on its tabs, cover all owners.
            models.Index(fields=["status", "created_at", "id"], name="proposal_status_created"),
            # Decided proposals, the newest decision first: of some owners, and of all.
            models.Index(fields=["owner", "status", "decided_at", "id"], name="proposal_owner_decided"),
            models.Index(fields=["status", "decided_at", "id"], name="proposal_status_decided"),
            # What people rejected last of an agent's, for the agent's page.
            models.Index(fields=["agent", "status", "decided_at", "owner"], name="proposal_agent_decided"),
            models.Index(fields=["decided_at", "id"], condition=Q(decided_at__isnull=False), name="proposal_decided"),
            # The blocks that the filter offers, and what waits for one: SQLite takes this index for that, with or
            # without the status. With 2,000 decided proposals of a block that was half a millisecond of each read.
            models.Index(fields=["target_kind", "owner", "target", "status"], name="proposal_kind_owner"),
            # The admin's list, which filters by neither status nor owner.
            models.Index(fields=["-created_at", "-id"], name="proposal_created"),
            models.Index(fields=["decision_batch"], condition=~Q(decision_batch=""), name="proposal_batch"),
            # Every run of `recover` asks for these among all proposals.
            models.Index(fields=["redacted_at"], condition=Q(is_garbage_left=True), name="proposal_garbage_left"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.owner}/{self.target}"

    def get_absolute_url(self) -> str:
        return reverse("proposal", args=[self.pk])

    @property
    def is_decided(self) -> bool:
        return self.status in DECIDED

    @property
    def holds(self) -> bool:
        """Whether its change was made in the memory, and not undone since."""
        return self.status in TAKEN and not self.reverted_by_commit

    @property
    def is_with_agent(self) -> bool:
        """Whether its agent is asked for changes."""
        return self.status == Status.CHANGES_REQUESTED

    @property
    def is_approved_in_part(self) -> bool:
        return self.status == Status.APPROVED and self.approval == Approval.PART

    @property
    def rest_went_back(self) -> bool:
        """Whether its agent is asked to propose what an approval in part left out again, changed."""
        return self.approval == Approval.PART and self.handed_back_at is not None and not self.is_redacted

    @property
    def is_being_amended(self) -> bool:
        """Whether its agent is changing it now: it was open before, and reopens with the next revision."""
        return self.status == Status.PREPARING and self.current_revision_number > 1

    @property
    def was_already_applied(self) -> bool:
        """Whether it was closed because its change was already in the memory."""
        return (
            self.status == Status.REJECTED
            and self.decision_reason == RejectReason.DUPLICATE
            and self.mergeability == Mergeability.ALREADY_APPLIED
        )

    @property
    def is_redacted(self) -> bool:
        """Whether its texts were removed; what was approved in part stays in its revision, as it does in the memory."""
        return self.redacted_at is not None

    @property
    def may_lose_texts(self) -> bool:
        """Whether it was decided and something of it was not taken, so that its texts can be removed."""
        return self.status in NOT_TAKEN or self.is_approved_in_part

    @property
    def current_revision(self) -> Revision:
        """Return the revision a decision is about; cached until the number or the row changes."""
        known: Revision | None = self.__dict__.get("_current")
        if known is None or known.number != self.current_revision_number:
            known = _REVISION.first(proposal=self.pk, number=self.current_revision_number)
            if known is None:
                raise Revision.DoesNotExist(f"proposal {self.pk} has no revision {self.current_revision_number}")
            known.proposal = self
            self.hold_current_revision(known)
        return known

    @property
    def next_revision_number(self) -> int:
        """Return the number of the next revision: those of an approval that was undone are above the current one."""
        return self.revisions.order_by("-number").values_list("number", flat=True)[0] + 1

    def set_written(self, values: Mapping[str, Any]) -> None:
        """Set the fields that were just written to the row, instead of reading it again."""
        for name, value in values.items():
            setattr(self, name, value)

    @property
    def is_revision_held(self) -> bool:
        return "_current" in self.__dict__

    def hold_current_revision(self, revision: Revision) -> None:
        """Cache the current revision as it was just written, instead of reading it again."""
        self.__dict__["_current"] = revision

    def refresh_from_db(self, *args: Any, **kwargs: Any) -> None:
        super().refresh_from_db(*args, **kwargs)
        known: Revision | None = self.__dict__.get("_current")
        # Texts never change, and those of an import take long to read: only check that the row is the same.
        if known and not self.revisions.filter(pk=known.pk, head_commit=known.head_commit).exists():
            del self.__dict__["_current"]


class Revision(models.Model):
    """One version of a proposal: its branch, and its texts, which are kept after the branch is dropped."""

    class Origin(models.TextChoices):
        AGENT = "agent", _("by the agent")
        REAPPLIED = "reapplied", _("edits applied again to the changed block")
        REVIEWER = "reviewer", _("by the reviewer")

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField(_("number"))
    origin = models.CharField(_("origin"), max_length=16, choices=Origin, default=Origin.AGENT)
    # The reviewer whose wording it is.
    made_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="revisions", verbose_name=_("made by")
    )
    branch = models.CharField(_("branch"), max_length=64)
    base_commit = models.CharField(_("base commit"), max_length=64)
    head_commit = models.CharField(_("head commit"), max_length=64, blank=True)
    # sha256 of the whole row the edits were made on (title and limit included).
    base_sha256 = models.CharField(max_length=64)
    base_text = models.TextField(_("text before"), blank=True)
    # [{"op": "replace", "old_string": …, "new_string": …, "replace_all": …, "occurrences": n} |
    #  {"op": "rewrite", "content": …} | append, prepend, insert, section…]: see memory_app.text.edits.
    # Or, alone, one of a whole block: {"op": "create_block", "title": …, "description": …, "limit": n} |
    # {"op": "delete_block"}: see approvals.review.targets.
    edits = models.JSONField(_("edits"))
    result_text = models.TextField(_("text proposed"), blank=True)
    # For notes, each change: [{"id": …, "before": note | null, "after": note | null}…], notes
    # as `reads.Note.as_json` returns them. An import has many. `edits` is empty then.
    note_changes = models.JSONField(_("notes changed"), default=list, blank=True)
    # The `RiskReport` of an import as JSON: computing it takes 1 to 4 s for 10,000 notes. Null on imports older than
    # the column, and on all other proposals, whose report is computed when it is read.
    risk_report = models.JSONField(_("risks found"), null=True, blank=True)
    created_at = models.DateTimeField(_("made"), default=timezone.now)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["proposal", "number"]
        constraints = [models.UniqueConstraint(fields=["proposal", "number"], name="revision_once")]
        indexes = [
            # `recover` asks which of the existing branches belong to decided proposals.
            models.Index(fields=["branch"], name="revision_branch"),
            # What was merged is known by its head: the ledger is compared with that.
            models.Index(fields=["head_commit"], name="revision_head"),
        ]

    def __str__(self) -> str:
        return f"{self.proposal} revision {self.number}"

    @property
    def is_of_older(self) -> bool:
        """Whether it replaces a whole text of which its agent read an older version."""
        return any(edit.get("is_of_older") for edit in self.edits)


_REVISION = Prepared(
    lambda proposal, number: Revision.objects.filter(proposal=proposal, number=number).order_by(),
    proposal=int,
    number=int,
)


class ProposedNote(models.Model):
    """A note that a waiting import changes; deleted once the import is decided.

    The revision contains the changes as one JSON of up to ten thousand notes, which is too slow to read for the page of
    a single note.
    """

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="proposed_notes", verbose_name=_("proposal"))
    note_id = models.CharField(_("note"), max_length=64)

    class Meta:
        verbose_name = _("note of an import")
        verbose_name_plural = _("notes of imports")
        ordering = ["proposal", "note_id"]
        constraints = [models.UniqueConstraint(fields=["proposal", "note_id"], name="proposed_note_once")]

    def __str__(self) -> str:
        return f"{self.proposal_id} {self.note_id}"


# -- Rules by which agents are trusted with more, or with less, than the site's default.


class TrustRule(models.Model):
    """What some changes of an owner's memory need: nothing, a person if they are large, or always a person.

    An empty field matches everything. Of several rules that match, the one with the most fields holds; deletions and
    changes of read-only blocks need a person whatever a rule says.
    """

    class Needs(models.TextChoices):
        NOTHING = "apply", _("apply immediately")
        REVIEW_IF_LARGE = "small", _("apply immediately if small")
        REVIEW = "ask", _("always ask")

    owner = models.CharField(_("owner"), max_length=64)
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="trust_rules", verbose_name=_("agent")
    )
    # The label of a block.
    block = models.CharField(_("block"), max_length=64, blank=True, default="")
    kind = models.CharField(_("kind of change"), max_length=16, choices=Kind, blank=True, default="")
    needs = models.CharField(_("needs"), max_length=8, choices=Needs)
    made_by = models.ForeignKey(User, models.PROTECT, related_name="trust_rules", verbose_name=_("made by"))
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("trust rule")
        verbose_name_plural = _("trust rules")
        ordering = ["owner", "agent__name", "block", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "agent", "block", "kind"], name="trust_rule_once"),
            # NULL equals no other NULL: without this one, "every agent" could be named twice.
            models.UniqueConstraint(
                fields=["owner", "block", "kind"], condition=Q(agent=None), name="trust_rule_of_every_agent_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner}: {self.agent or '*'} {self.block or '*'} {self.kind or '*'} {self.needs}"


# -- Fingerprints of what people rejected, by which it is recognised when its agent proposes it again.


class RejectedFingerprint(models.Model):
    """The key of what a person rejected or undid, for an import of each note; see `memory_app.text.alike`.

    Kept when the texts are removed, since nothing can be read from a key without the installation's secret. Deleted
    when the decision is undone, when the same is approved after all, and after `settings.REJECTION_COUNTS`.
    """

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="fingerprints", verbose_name=_("proposal"))
    # Those of the proposal, here for the index: only its agent's own rejections for an owner are compared.
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", verbose_name=_("agent"))
    owner = models.CharField(_("owner"), max_length=64)
    key = models.BigIntegerField()
    reasoning_key = models.BigIntegerField()
    decided_at = models.DateTimeField(_("decided"))

    class Meta:
        verbose_name = _("fingerprint of a rejection")
        verbose_name_plural = _("fingerprints of rejections")
        ordering = ["id"]
        indexes = [
            models.Index(fields=["agent", "owner", "key"], name="fingerprint_key"),
            models.Index(fields=["decided_at"], name="fingerprint_decided"),
        ]

    def __str__(self) -> str:
        return str(self.proposal_id)
