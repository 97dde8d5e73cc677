"""What an agent asks for, with which words and rights, and what comes of it: the values of proposing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from django.conf import settings

from approvals.models import Agent, Kind, Proposal, Revision, User
from approvals.review.note_changes import NoteChange
from approvals.review.summary import ChangeSummary, summarise
from approvals.review.whole_blocks import WHOLE_KINDS, is_of_whole_block, new_block_of
from approvals.risks import flags
from approvals.services.errors import ProposalNotFound
from memory_app import reads
from memory_app.models import TargetKind

#: Share of a block's limit from which the agent gets a warning.
NEARLY_FULL = 0.9


class SaidWith(TypedDict, total=False):
    """What an agent says with a change of a block, and what its token may do: see `ChangeContext`."""

    reasoning: Required[str]
    confidence: str
    session_id: str
    evidence: Sequence[dict[str, Any]]
    operation: str | None
    proposal_id: int | None
    may_apply: bool
    force: bool


@dataclass(frozen=True)
class ChangeContext:
    """Who changes something, why, and with which rights.

    Args:
        actor: an agent or, for notes, a person, whose change is applied at once.
        may_apply: whether the agent's token has the scope (`notes:write`) with which policy and rules may apply its
            change at once.
        reasoning: why, for the person who decides. Only tools that show the memory as files let it be empty.
        evidence: conversation turns `{role, content, at?}`.
        operation: for agents, 32 hexadecimal digits; a call with the same one has the same outcome.
        proposal_id: for agents, their undecided proposal that gets this change as its next revision. What is empty
            here stays as it is there. Of one approved in part, what went back is proposed anew.
        answers: the one approved in part that this takes up again; set by `proposing.anew`.
        force: for agents, ask a person again about what was rejected; it takes another reasoning than then.
    """

    actor: User | Agent
    may_apply: bool = False
    reasoning: str = ""
    confidence: str = "medium"
    session_id: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    operation: str | None = None
    proposal_id: int | None = None
    answers: Proposal | None = None
    force: bool = False

    @property
    def agent(self) -> Agent:
        """Return the agent that asks. Only agents propose: a person has none to amend."""
        if isinstance(self.actor, Agent):
            return self.actor
        raise ProposalNotFound

    @property
    def said(self) -> dict[str, Any]:
        """Return what the agent says with the change, as fields of a proposal."""
        said = {"reasoning": self.reasoning, "confidence": self.confidence, "session_id": self.session_id}
        return {**said, "evidence": list(self.evidence)}


@dataclass(frozen=True)
class ProposedChange:
    """A change of one target: a block's text, a whole block, a note, or the notes of an import.

    Args:
        target: label of the block or id of the note; empty for an import, which gets a name with its proposal.
        title: what lists call it.
        before, after: its texts, as the two sides of the difference.
        result_sha256: two proposals with the same one ask for the same.
        base_commit: the commit of main at which the target was read.
        block: as it is there; None for a new one, and for notes.
        edits: of a block, as a revision keeps them.
        notes: the change of each note, as a revision keeps it.
        beside: what is said beside the texts, before and after, where it changes.
    """

    kind: Kind
    owner: str
    target_kind: TargetKind
    target: str
    title: str
    before: str
    after: str
    result_sha256: str
    base_commit: str
    block: reads.Block | None = None
    edits: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    beside: tuple[str, str] = ("", "")

    @property
    def base_sha256(self) -> str:
        return self.block.sha256 if self.block else ""

    @property
    def equal(self) -> dict[str, str]:
        """Return the columns, with their values, in which a proposal that asks for the same is equal."""
        if self.target_kind != TargetKind.BLOCK:  # a new note has an id of its own
            return {"kind": self.kind, "result_sha256": self.result_sha256}
        return {"target_kind": TargetKind.BLOCK, "target": self.target, "result_sha256": self.result_sha256}

    def summary(self, reasoning: str, evidence: Sequence[dict[str, Any]]) -> ChangeSummary:
        is_deletion = self.kind in (Kind.DELETE, Kind.DELETE_BLOCK)
        said = flags.said_with(reasoning, evidence)
        return summarise(self.before, self.after, is_deletion=is_deletion, beside=self.beside, said=said)

    def fields(self, summary: ChangeSummary, reasoning: str, target: str) -> dict[str, Any]:
        """Return the fields of a proposal that follow from the change."""
        return {
            "kind": self.kind,
            "target_title": self.title,
            "search_words": summary.search_words(reasoning, target, self.title),
            "result_sha256": self.result_sha256,
            **summary.fields,
        }

    def texts(self, summary: ChangeSummary) -> dict[str, Any]:
        """Return the fields of a revision."""
        return {
            "base_commit": self.base_commit,
            "base_sha256": self.base_sha256,
            "base_text": self.before,
            "edits": self.edits,
            "result_text": self.after,
            "note_changes": self.notes,
            "risk_report": summary.risk_report.as_json() if self.kind == Kind.IMPORT else None,
        }

    def is_asked_by(self, proposal: Proposal) -> bool:
        """Whether the proposal asks for this already, of its target as it is now."""
        former = proposal.current_revision
        if self.notes:
            same = proposal.result_sha256 == self.result_sha256 and proposal.kind == self.kind
            return same and _shas_before(former.note_changes) == _shas_before(self.notes)
        is_whole = self.kind in WHOLE_KINDS or is_of_whole_block(former)
        if is_whole and former.edits != self.edits:
            return False
        return (former.base_sha256, former.result_text) == (self.base_sha256, self.after)


@dataclass(frozen=True)
class Proposed:
    """What came of asking for a change.

    Args:
        created: False when an equal undecided proposal of this agent is returned instead.
        amended: it is the next revision of a proposal that was there.
        block: the target as it is now; None where it is not there, and for notes.
    """

    proposal: Proposal
    created: bool = True
    amended: bool = False
    block: reads.Block | None = None

    @property
    def revision(self) -> Revision:
        return self.proposal.current_revision

    @property
    def note_changes(self) -> tuple[NoteChange, ...]:
        return tuple(map(NoteChange.from_json, self.revision.note_changes))

    @property
    def occurrences(self) -> int:
        """Return how many places the edits replace."""
        return sum(edit["occurrences"] or 1 for edit in self.revision.edits if edit["op"] == "replace")

    @property
    def used(self) -> int:
        """Return the length of the resulting text in characters."""
        return len(self.revision.result_text)

    @property
    def limit(self) -> int:
        """Return the block's limit in characters."""
        new = new_block_of(self.revision)
        return self.block.limit if self.block else new.limit if new else settings.BLOCK_LIMIT

    @property
    def content_sha256(self) -> str:
        """Return the sha256 of the block's current text; empty where there is none."""
        return self.block.body_sha256 if self.block else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return sentences for the agent."""
        if self.used < NEARLY_FULL * self.limit:
            return ()
        return (
            f"Warning: block '{self.proposal.target}' would be {self.used * 100 // self.limit} % full "
            f"({self.used:,} of {self.limit:,} characters).",
        )


def _shas_before(notes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["id"], each["before"]["sha256"] if each["before"] else "") for each in notes]
