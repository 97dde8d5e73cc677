"""What came of asking for a change, told to its agent as text and data, whatever it was of and whichever tool asked.

Each family of tools has its `Words`; which of them are said, and what follows, is decided here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from agent_tools.answers import fields, representations
from agent_tools.calls.arguments import ReasonedArguments
from agent_tools.calls.registry import Answer, for_list
from approvals.models import Kind, Proposal, ProposalQuerySet, Revision, Status
from approvals.review.collisions import MOST_COMPARED, Collision, collisions_of, others_on_target
from approvals.review.targets import WHOLE_KINDS
from approvals.review.turn import change_request
from approvals.services import Proposed
from approvals.services.notes import NoteChangeOutcome
from memory_app.databases.prepared import Prepared
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text.lines import first_words


@dataclass(frozen=True)
class Words:
    """What a family of tools says of an outcome, each one or more lines.

    Args:
        waits: it is a new proposal.
        amended: it is the next revision of a proposal.
        equal: an equal proposal is there already.
        applied: it is in the memory.
    """

    waits: str
    amended: str
    equal: str
    applied: str


def told(outcome: Proposed, words: Words) -> str:
    """Return the text for the model."""
    proposal = outcome.proposal
    if (outcome.created and proposal.status == Status.APPLIED) or (outcome.note_changes and proposal.merge_commit):
        return words.applied
    if outcome.amended:
        return words.amended
    if proposal.is_with_agent:
        return f"{words.equal}\n{representations.told(proposal, change_request(proposal))}"
    if not outcome.created:
        return f"{words.equal}\nThe user will be asked to approve it."
    return words.waits + representations.why_it_waits(proposal)


#: Of an edit that is not made exactly as it was given.
_REPAIRED = (
    "The old_string{} differs from the text only in white space, line ends or quotation marks: your change was made "
    "in the passage as it stands, and nothing else."
)


def of_repaired(repaired: Sequence[Mapping[str, Any]], *, of_several: bool = False) -> list[str]:
    """Return a line for each replacement that was made otherwise than it was given; see `repairs.differing`."""
    return [_REPAIRED.format(f" of edit {each['edit'] + 1}" if of_several else "") for each in repaired]


def answer(
    outcome: Proposed,
    words: Words,
    *,
    placed: Sequence[str] = (),
    warnings: Sequence[str] = (),
    beside: Mapping[str, Any] | None = None,
) -> Answer:
    """Return the answer to a call that asked for a change of a block.

    Args:
        placed: where the change is, in sentences.
        warnings: what to look out for, beside what the outcome says.
        beside: data of the tool itself.
    """
    warnings = [*outcome.warnings, *warnings]
    repaired = of_repaired(outcome.repaired, of_several=len(outcome.asked) > 1)
    text = "\n".join([told(outcome, words), *repaired, *placed, *warnings])
    return Answer(text, {**(beside or {})} | data_of(outcome) | {"warnings": warnings})


def data_of(outcome: Proposed) -> dict[str, Any]:
    """Return the data of the answer: `fields.WRITTEN` for notes, `fields.PROPOSED` for a block."""
    proposal, revision = outcome.proposal, outcome.revision
    data = {
        "proposal_id": proposal.pk,
        "status": proposal.status,
        "waits_because": None if proposal.is_decided else proposal.review_reason or None,
        "commit": proposal.merge_commit or None,
        "branch": representations.branch(proposal, revision),
        "base_commit": revision.base_commit,
        "head_commit": revision.head_commit or proposal.merge_commit,
        "revision": revision.number,
        "content_sha256": outcome.content_sha256,
        "review_url": representations.review_url(proposal),
        "created": outcome.created,
        "amended": outcome.amended,
    }
    if revision.note_changes:
        change = outcome.note_changes[0]
        now = change.after if proposal.merge_commit else change.before
        return data | {"content_sha256": now.sha256 if now else None}
    return data | {
        "occurrences_replaced": outcome.occurrences,
        "repaired": outcome.repaired,
        "length": outcome.used,
        "limit": outcome.limit,
        "warnings": list(outcome.warnings),
    }


#: What a new proposal is called, by its kind, and what is said of one that a rule let through.
_WHOLE = {
    Kind.CREATE_BLOCK: ("Block proposal", "Block '{}' created"),
    Kind.DELETE_BLOCK: ("Deletion proposal", ""),
}
_EDIT = ("Edit proposal", "Edit applied to block '{}'")


def of_block(
    outcome: Proposed, arguments: ReasonedArguments, *, placed: Sequence[str] = (), warnings: Sequence[str] = ()
) -> Answer:
    """Return what the tools for blocks answer.

    Args:
        placed, warnings: see `answer`.
    """
    proposal = outcome.proposal
    number, what, revision = proposal.pk, representations.target(proposal), outcome.revision.number
    made, applied = _WHOLE.get(Kind(proposal.kind), _EDIT)
    reason = f"Reasoning provided: {arguments.reasoning}"
    asks = f"The user will be asked to approve this change. {reason}"
    amended = f"Your proposal {number} for {what} is amended: this is its revision {revision}."
    if proposal.kind in WHOLE_KINDS:
        amended = f"Your proposal {number} is amended: its revision {revision} is {what}."
    twice = own_collisions(proposal, lambda: outcome.block) if outcome.created and not proposal.is_decided else ()
    others, back = [each.other.pk for each in twice if each.is_conflict], for_list(_BACK)
    warnings = [*warnings, *(_TWICE.format(other, back.format(other)) for other in others[-_MOST_TWICE:])]
    words = Words(
        waits=f"{made} created for block '{proposal.target}'. {asks}\n{_follow(number)}",
        amended="\n".join(filter(None, [f"{amended} {asks}", representations.how_to_follow()])),
        equal=f"Your proposal {number} for {what} asks for exactly this already; nothing new was made.",
        applied=f"{applied.format(proposal.target)} at once: a rule of the user lets it through. {reason}\n"
        f"The user sees it as automatic, with proposal {number}, and can revert it.",
    )
    return answer(outcome, words, placed=placed, warnings=warnings)


#: Of another undecided proposal of the same agent's; the newest ones are named.
_MOST_TWICE = 3
_TWICE = (
    "Warning: your proposal {0} changes the same lines. Amend it with proposal_id={0}{1}: one of the two will not fit."
)
_BACK = " and take this one back with withdraw_proposal, or take {0} back"


#: Both tables have forty columns, which took twice as long to make instances of as all that is compared.
_COMPARED = (
    *("number", "base_sha256", "base_text", "edits", "result_text", "note_changes"),
    *("proposal__owner", "proposal__target_kind", "proposal__target", "proposal__mergeability"),
    *("proposal__result_sha256", "proposal__created_at", "proposal__current_revision_number"),
)


def _current(proposals: ProposalQuerySet) -> QuerySet[Revision]:
    current = Revision.objects.filter(proposal__in=proposals, number=F("proposal__current_revision_number"))
    return current.select_related("proposal").only(*_COMPARED).order_by("proposal_id")[:MOST_COMPARED]


def _others_on_block(owner: str, target: str, agent: int, pk: int) -> QuerySet[Revision]:
    on_block = Proposal.objects.decidable().on_target(owner, TargetKind.BLOCK, target)
    return _current(on_block.filter(agent=agent).exclude(pk=pk))


#: Asked by each call that proposes: compiling it took 1.5 ms.
_OF_BLOCK = Prepared(_others_on_block, owner=str, target=str, agent=int, pk=int)


def own_collisions(proposal: Proposal, read: Callable[[], Block | None]) -> tuple[Collision, ...]:
    """Return the other undecided proposals of the same agent that change the same, the oldest first.

    Args:
        read: reads the block as it is now, where there are others.
    """
    found: Iterable[Revision]
    if proposal.target_kind == TargetKind.BLOCK:
        found = _OF_BLOCK.all(owner=proposal.owner, target=proposal.target, agent=proposal.agent_id, pk=proposal.pk)
    else:
        found = _current(others_on_target(proposal).filter(agent=proposal.agent))
    others = []
    for revision in found:
        revision.proposal.hold_current_revision(revision)
        others.append(revision.proposal)
    return collisions_of(proposal.current_revision, others, read()) if others else ()


def of_note(
    outcome: NoteChangeOutcome, *, applied: str, beside: Mapping[str, Any], more: str = "", message: bool = False
) -> Answer:
    """Return what the tools for notes answer.

    Args:
        applied: what is said of a note whose change is in the memory.
        beside: data of the tool itself.
        more: lines that follow, if any.
        message: the first line of the text is in the data too.
    """
    note_id = outcome.note_id
    if outcome.known:
        text = f"Known already: {note_id} says “{first_words(outcome.known.content, 200)}”. Nothing was made."
        data = dict.fromkeys(fields.WRITTEN) | {"status": "known", "content_sha256": outcome.known.sha256}
        data |= {"created": False, "amended": False}
    else:
        proposed = of_notes(outcome)
        number = proposed.proposal.pk
        words = Words(
            waits=f"Proposal created for note {note_id}. The user will be asked to approve this change."
            f"\n{_follow(number)}",
            amended=f"Your proposal {number} for note {note_id}, which waits, asks for this now."
            "\nThe user will be asked to approve it.",
            equal=f"Your proposal {number} for note {note_id} asks for exactly this already; nothing new was made.",
            applied=applied,
        )
        text, data = told(proposed, words), data_of(proposed)
    first = {"message": text.partition("\n")[0]} if message else {}
    return Answer("\n".join(filter(None, [text, more])), {**beside, **first, **data})


def _follow(number: int) -> str:
    follow = representations.how_to_follow()
    return f"It is proposal {number}; {follow}" if follow else f"It is proposal {number}."


def of_notes(outcome: NoteChangeOutcome) -> Proposed:
    """Return what came of a change of notes that an agent asked for."""
    if outcome.proposed is None:
        raise TypeError("a person's own change is no answer to an agent")
    return outcome.proposed
