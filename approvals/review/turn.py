"""Whose turn it is, as a reviewer reads it: what the agent is asked for, and what changed when it has answered.

Not here: asking and amending (`approvals.services.hand_back`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Count, Max, OuterRef, Q, Subquery
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from approvals.models import Approval, Event, Proposal, ProposalQuerySet, RejectReason, ReviewReason, Revision, User
from approvals.review.diff_mode import Redline, laid_out, redline
from approvals.review.note_changes import FieldChange, NoteChange, field_changes, field_changes_of_note
from approvals.review.presentation import compared
from approvals.review.targets import agents_revision, is_deletion, is_of_whole_block, new_block_of
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text import alike, edits
from memory_app.text.alike import Said
from memory_app.text.worddiff import Paragraph

# -- What agents were asked to change, from the events of their proposals.

#: Values of `ChangeRequest.automatic`.
CONFLICT = "conflict"
#: The block it is about was deleted; the block it would make was made otherwise.
BLOCK_DELETED, BLOCK_EXISTS = "block_deleted", "block_exists"

_SAID = {
    CONFLICT: _("The text has changed and this change no longer fits. It has to be proposed again on today’s text."),
    BLOCK_DELETED: _("The block was deleted, so there is nothing left to change."),
    BLOCK_EXISTS: _("There is a block with this label now. What is missing there has to be proposed as an edit of it."),
}


@dataclass(frozen=True)
class ChangeRequest:
    """The last request for changes of a proposal.

    Args:
        by: username of the person; empty where Assent handed it back.
        by_name: what they are called.
        reason: a `RejectReason` value, or empty.
        comment: the person's words.
        automatic: why Assent handed it back; empty for a person's request.
        revision: the revision it is about.
    """

    by: str
    by_name: str
    reason: str
    comment: str
    automatic: str
    revision: int
    at: datetime

    @property
    def reason_label(self) -> str:
        return str(RejectReason(self.reason).label) if self.reason else ""

    @property
    def said(self) -> str:
        """Return what was asked for, in words for people."""
        return str(_SAID.get(self.automatic, self.comment))


def why_handed_back(revision: Revision, block: Block | None) -> str:
    """Return why a revision that does not fit goes back to its agent: a value of `ChangeRequest.automatic`."""
    if new_block_of(revision):
        return BLOCK_EXISTS
    return BLOCK_DELETED if block is None and revision.proposal.target_kind == TargetKind.BLOCK else CONFLICT


def change_request(proposal: Proposal) -> ChangeRequest | None:
    """Return what the agent of a proposal is asked for now; None when it is not its turn."""
    return change_requests([proposal]).get(proposal.pk)


def change_requests(proposals: Iterable[Proposal]) -> dict[int, ChangeRequest]:
    """Return what the agents are asked for, by proposal, for those whose agent's turn it is. Two queries, or none."""
    return _last_requests([proposal.pk for proposal in proposals if proposal.is_with_agent])


def _last_requests(ids: list[int]) -> dict[int, ChangeRequest]:
    if not ids:
        return {}
    asked = list(Event.objects.filter(proposal__in=ids, what=Event.What.CHANGES_REQUESTED).order_by("at", "id"))
    by_people = {event.actor for event in asked if event.actor_kind == Event.ActorKind.PERSON}
    people = User.objects.filter(username__in=by_people) if by_people else ()
    names = {person.username: person.display_name for person in people}
    return {
        event.proposal_id: ChangeRequest(
            by=event.actor if event.actor_kind == Event.ActorKind.PERSON else "",
            by_name=names.get(event.actor, "Assent"),
            reason=str(event.data.get("reason", "")),
            comment=event.text,
            automatic=str(event.data.get("automatic", "")),
            revision=event.revision,
            at=event.at,
        )
        for event in asked
    }


# -- What is said about a proposal: its thread.

_BY_AGENT = Q(actor_kind=Event.ActorKind.AGENT)


def with_threads(proposals: ProposalQuerySet) -> ProposalQuerySet:
    """Have the rows read with what `thread_summary` says of them, in the same query."""
    comments = Event.objects.filter(proposal=OuterRef("pk"), what=Event.What.COMMENTED).order_by().values("proposal")
    return proposals.annotate(
        comments=Subquery(comments.annotate(found=Count("pk")).values("found")),
        said_by_person=Subquery(comments.annotate(found=Max("pk", filter=~_BY_AGENT)).values("found")),
        said_by_agent=Subquery(comments.annotate(found=Max("pk", filter=_BY_AGENT)).values("found")),
    )


class ThreadSummary(NamedTuple):
    """What a list says of a thread.

    Args:
        asks_agent: a person wrote since the agent last did.
        is_answered: the agent wrote last, after a person.
    """

    comments: int
    asks_agent: bool
    is_answered: bool


def thread_summary(proposal: Proposal) -> ThreadSummary:
    """Return the thread of a proposal; in a query of its own, unless it was read `with_threads`."""
    names, read = ("comments", "said_by_person", "said_by_agent"), vars(proposal)
    if "said_by_agent" not in read:
        read = with_threads(Proposal.objects.filter(pk=proposal.pk)).values(*names).get()
    comments, by_person, by_agent = (read[name] or 0 for name in names)
    return ThreadSummary(comments, by_person > by_agent, bool(by_person) and by_agent > by_person)


def thread_of(proposal: Proposal) -> tuple[Event, ...]:
    """Return the comments on a proposal, oldest first; those whose texts were removed are left out."""
    comments = proposal.events.filter(what=Event.What.COMMENTED).exclude(text="")
    return tuple(comments.order_by("at", "id"))


# -- What a proposal says, as far as it would be the same if it was proposed again; and the secret of its
# fingerprints.

#: After these, what is proposed is remembered. What was a duplicate is not: it may be missing later.
COUNTING = tuple(reason for reason in RejectReason if reason != RejectReason.DUPLICATE)


@dataclass(frozen=True)
class Repeated:
    """A change that a person rejected or undid before.

    Args:
        earlier: the newest of its proposals, with its agent and who decided.
        is_refused: a person rejected it. What was only undone waits for a person again, without a refusal.
        passages: what of the new change was rejected.
        is_forced: the agent insists.
        has_reasoning, is_new: it gives a reasoning, and none that people read when they rejected it.
    """

    earlier: Proposal
    is_refused: bool
    passages: tuple[str, ...]
    is_forced: bool
    has_reasoning: bool
    is_new: bool


def secrets(agent: int, owner: str) -> tuple[bytes, ...]:
    """Return the secrets of one agent's fingerprints for one owner: the one to write with, and former ones.

    Fingerprints of different owners or agents have nothing in common, even of equal texts.
    """
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    of = f"{agent} {owner}"
    return tuple(
        salted_hmac("approvals.fingerprints", of, secret=key, algorithm="sha256").digest() for key in keys if key
    )


def reasoning_key(reasoning: str, secret: bytes) -> int:
    """Return the key of an agent's reasoning, whatever its case and punctuation."""
    return alike.fingerprint(f"reasoning\x1f{alike.words_of(reasoning)}", secret)


def said_of_revision(target_kind: str, target: str, revision: Revision) -> tuple[Said, ...]:
    """Return what a revision says: of an import, what each of its notes does."""
    if target_kind != TargetKind.BLOCK:
        return tuple(map(said_of_note, revision.note_changes))
    if is_deletion(revision):  # to delete a block again is the same whatever stands in it
        return (Said(f"{target}\x1fdeletes"),)
    before = "" if is_of_whole_block(revision) else revision.base_text
    return (alike.said(target, before, revision.result_text),)


def said_of_note(change: dict[str, Any]) -> Said:
    """Return what the change of a note says.

    Args:
        change: as a revision stores it.
    """
    before, after, id_ = change["before"], change["after"], change["id"]
    if before is None:
        return alike.said("", "", after["content"])
    if after is None or (after.get("superseded_at") and not before.get("superseded_at")):
        by = (after or {}).get("superseded_by") or ""
        return Said("\x1f".join((id_, "deletes", by, *before["content"].split())))
    if before["content"] != after["content"]:
        return alike.said(id_, before["content"], after["content"])
    times = {"updated_at", "sha256"}
    set_to = {name: value for name, value in after.items() if value != before.get(name) and name not in times}
    return Said("\x1f".join((id_, "sets", json.dumps(set_to, sort_keys=True))))


# -- What lies between two revisions of one proposal, and between a rejected one and the one that answers it.

#: Characters of the two texts together up to which they are compared: an import may have millions.
LONGEST = 400_000
#: Proposals that take a rejected one up again, as its page names them.
_MOST_ANSWERS = 5


def compare_revisions(proposal: Proposal, earlier: int, shown: Revision) -> dict[str, Any]:
    """Return what changed from revision `earlier` to the one that is shown, its `later`.

    `redline` leads from the text one proposes to that of the other; None when it `is_same`, or `is_too_long`. `fields`
    are those of a single note, or a new block, beside its text. `reason_before` is the agent's reason at the earlier
    one, where it is another now; `request` what the agent was asked for in between.

    Raises:
        Revision.DoesNotExist: the proposal has no such revision.
    """
    before = proposal.revisions.get(number=earlier)
    texts = before.result_text, shown.result_text
    fields, request = _changed_fields(before, shown), _last_requests([proposal.pk]).get(proposal.pk)
    return {
        "earlier": earlier,
        "later": shown.number,
        "redline": _redline(proposal, *texts),
        "is_too_long": _is_too_long(*texts),
        "is_same": texts[0] == texts[1] and not fields,
        "fields": fields,
        "reason_before": _reason_before(proposal, earlier, shown.number),
        "request": request if request and earlier <= request.revision < shown.number else None,
    }


def answering(proposal: Proposal, shown: Revision) -> dict[str, Any]:
    """Return how a proposal is tied to those before and after it.

    It `answers` one that was rejected, approved in part or `undone`, which says how; `redline` leads from what that one
    proposed to what this one does; with `is_repeated` it says the same, and its agent asks a person again.
    `answered_by` are the proposals that take this one up again, the newest first.
    """
    answers = proposal.answers if proposal.answers_id else None
    # What was approved as it was proposed, and stands, leaves nothing to take up again.
    stands = proposal.approval == Approval.AS_PROPOSED and not proposal.reverted_by_commit
    answered_by = proposal.answered_by.none() if stands else proposal.answered_by.select_related("agent", "decided_by")
    line = undone = None
    if answers and answers.reverted_by_commit:
        undone = answers.events.filter(what=Event.What.REVERTED).last()
    if answers and not answers.is_redacted and not proposal.is_redacted:
        line = _redline(proposal, _on_same_text(agents_revision(answers), shown), shown.result_text)
    return {
        "answers": answers,
        "redline": line,
        "answered_by": answered_by.order_by("-id")[:_MOST_ANSWERS],
        "undone": undone,
        "is_repeated": bool(answers) and proposal.review_reason == ReviewReason.REPEATED,
    }


def _on_same_text(rejected: Revision, shown: Revision) -> str:
    """Return what the rejected revision would make of the text that the shown one is made on, or what it made then."""
    if rejected.base_text == shown.base_text or not rejected.edits or is_of_whole_block(rejected):
        return rejected.result_text
    try:
        return edits.reapply(shown.base_text, edits.from_json(rejected.edits), base_text=rejected.base_text)
    except edits.EditError:
        return rejected.result_text


def _redline(proposal: Proposal, before: str, after: str) -> Redline | None:
    """Return what changed, without what is folded: the whole change stands below. Blocks are laid out as Markdown."""
    if before == after or _is_too_long(before, after):
        return None
    is_block = proposal.target_kind == TargetKind.BLOCK
    whole = laid_out(before, after) if is_block else redline(compared(before, after))
    changed = (each for each in whole.passages if isinstance(each.item, Paragraph) and each.item.changed)
    rendered = tuple(each for each in whole.rendered if not each.folded) if whole.rendered else None
    return Redline(tuple(changed), whole.changes, rendered)


def _is_too_long(before: str, after: str) -> bool:
    return before != after and len(before) + len(after) > LONGEST


def _changed_fields(before: Revision, after: Revision) -> tuple[FieldChange, ...]:
    old_block, block = new_block_of(before), new_block_of(after)
    if old_block or block:
        return field_changes(old_block, block, names=("title", "description"))
    if before.proposal.target_kind != TargetKind.NOTE:
        return ()
    one, other = (NoteChange.from_json(revision.note_changes[0]).after for revision in (before, after))
    return tuple(change for change in field_changes_of_note(one, other) if change.name not in ("created_at", "source"))


def _reason_before(proposal: Proposal, earlier: int, later: int) -> str:
    told = proposal.events.filter(what__in=[Event.What.PROPOSED, Event.What.AMENDED]).order_by("at", "id")
    said = dict(told.values_list("revision", "text"))
    before, after = (
        next((said[number] for number in range(last, 0, -1) if number in said), "") for last in (earlier, later)
    )
    return before if before != after else ""
