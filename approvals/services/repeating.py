"""Recognise what its agent proposes again after a person rejected or undid it.

A rejection is remembered as a fingerprint (`memory_app.text.alike`), in the transaction that decides, and forgotten
when it is undone or the same is approved after all. `find_answered` links
another wording to the rejection it answers.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import islice

from django.conf import settings
from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, RejectedFingerprint, RejectReason, Revision, Status
from approvals.review import turn
from approvals.review.targets import agents_revision
from approvals.services.errors import Refusal
from memory_app.databases.prepared import BATCH, batched
from memory_app.models import TargetKind
from memory_app.text import alike, worddiff

#: A rejection is taken up again within this time, or what follows is a new matter.
RECENTLY = timedelta(days=30)

#: Rejections that are compared, newest first: comparing two texts of 10,000 words takes up to 0.1 s.
_MOST_BLOCKS, _MOST_NOTES = 3, 20


def find_answered(proposal: Proposal, segments: Sequence[worddiff.Segment], result_text: str) -> int | None:
    """Return the id of the rejected proposal that a new one takes up again; None when it is a new matter.

    Args:
        proposal: not saved yet.
        segments: the difference it makes; used for blocks.
        result_text: what a new note would say.
    """
    if proposal.kind == Kind.IMPORT:
        return None
    rejected = Proposal.objects.filter(
        agent=proposal.agent, owner=proposal.owner, status=Status.REJECTED, decided_at__gte=timezone.now() - RECENTLY
    )
    counting = rejected.filter(redacted_at=None).exclude(decision_reason=RejectReason.DUPLICATE)
    found = counting.order_by("-decided_at", "-id").values_list("pk", "kind", "target_kind", "target")
    if proposal.kind == Kind.SAVE:
        # A new note gets a new id: what it says has to tell.
        for pk, text in _texts((pk for pk, kind, *_target in found if kind == Kind.SAVE), _MOST_NOTES):
            if alike.have_much_in_common(text.result_text, result_text):
                return pk
        return None
    same = [pk for pk, _kind, *target in found if target == [proposal.target_kind, proposal.target]]
    if proposal.target_kind != TargetKind.BLOCK:
        return same[0] if same else None
    for pk, text in _texts(same, _MOST_BLOCKS):
        if alike.are_alike(worddiff.diff(text.base_text, text.result_text), segments):
            return pk
    return None


def _texts(ids: Iterable[int], most: int) -> Iterable[tuple[int, Revision]]:
    """Return the last revision of each proposal, in the order given."""
    some = list(islice(ids, most))
    last = Revision.objects.filter(proposal__in=some, number=F("proposal__current_revision_number"))
    found = {each.proposal_id: each for each in last.only("proposal", "base_text", "result_text").order_by()}
    return [(pk, found[pk]) for pk in some if pk in found]


#: Passages of a call that are quoted in its refusal.
_MOST_PASSAGES = 10


def require_new_reasoning(repeated: turn.Repeated) -> None:
    """Raise Refusal for what was rejected, unless its agent insists with reasoning that people have not read."""
    if repeated.is_refused and not (repeated.is_forced and repeated.has_reasoning and repeated.is_new):
        raise Refusal(f"Rejected as proposal {repeated.earlier.pk}.", code="rejected_before", repeated=repeated)


def find_repeated(
    agent: Agent, owner: str, said: Sequence[alike.Said], reasoning: str, *, force: bool
) -> turn.Repeated | None:
    """Return what of the agent's own rejected or undone proposals says the same; None when it is new.

    Args:
        said: of the change; of an import, of each of its notes.
        reasoning: the agent's, for it.
        force: the agent insists.
    """
    if not settings.REJECTION_COUNTS:
        return None
    secrets = turn.secrets(agent.pk, owner)
    passages = {alike.fingerprint(each.words, secret): each.passages for secret in secrets for each in said}
    own = RejectedFingerprint.objects.filter(agent=agent, owner=owner).order_by()
    found: dict[int, int] = {}  # the agent's proposals for this owner that left one of the keys, each with that key
    for keys in batched(list(passages)):
        found |= own.filter(key__in=keys).values_list("proposal_id", "key")
    if not found:
        return None
    since = timezone.now() - settings.REJECTION_COUNTS
    young = RejectedFingerprint.objects.filter(proposal=OuterRef("pk"), decided_at__gte=since)
    decided = Proposal.objects.filter(Exists(young), pk__in=found).select_related("agent", "decided_by")
    counting = sorted(decided, key=lambda each: (not each.reverted_by_commit, each.decided_at, each.pk))
    if not counting:
        return None
    earlier = counting[-1]
    # Asked where something was found only: agents give the same reasoning for very many proposals.
    told = [turn.reasoning_key(reasoning, secret) for secret in secrets]
    return turn.Repeated(
        earlier,
        is_refused=not earlier.reverted_by_commit,
        passages=passages[found[earlier.pk]][:_MOST_PASSAGES],
        is_forced=force,
        has_reasoning=bool(reasoning.strip()),
        is_new=not RejectedFingerprint.objects.filter(proposal__in=counting, reasoning_key__in=told).exists(),
    )


def remember(proposal: Proposal) -> None:
    """Keep the fingerprints of what a person has just rejected, or of the automatic change they undid, in the
    transaction that decides.

    A rejection counts for some reasons only. Of an approval in part, what was left out is rejected.
    """
    is_undone = proposal.status == Status.APPLIED
    if not settings.REJECTION_COUNTS or not (is_undone or proposal.decision_reason in turn.COUNTING):
        return
    asked = agents_revision(proposal)
    before, changes = asked.base_text, asked.note_changes
    if proposal.is_approved_in_part:
        taken = {change["id"] for change in proposal.current_revision.note_changes}
        changes = [change for change in changes if change["id"] not in taken]
        # Against the approved text, what was asked for adds and removes exactly what was left.
        before = proposal.current_revision.result_text
    if asked.result_text == before and proposal.target_kind == TargetKind.BLOCK:
        return
    # Against another text, it is an edit, whatever was asked for.
    done = asked.edits if before == asked.base_text else []
    left = Revision(base_text=before, result_text=asked.result_text, edits=done, note_changes=changes)
    said = turn.said_of_revision(proposal.target_kind, proposal.target, left)
    secret = turn.secrets(proposal.agent_id, proposal.owner)[0]
    of = {
        "proposal": proposal,
        "agent_id": proposal.agent_id,
        "owner": proposal.owner,
        "decided_at": timezone.now(),
        "reasoning_key": turn.reasoning_key(proposal.reasoning, secret),
    }
    keys = dict.fromkeys(alike.fingerprint(each.words, secret) for each in said)
    RejectedFingerprint.objects.bulk_create((RejectedFingerprint(**of, key=key) for key in keys), batch_size=BATCH)


def forget(proposal_id: int) -> None:
    """Delete the fingerprints of a decision that is undone, or that people think otherwise about now."""
    RejectedFingerprint.objects.filter(proposal=proposal_id).delete()


def purge() -> int:
    """Delete the fingerprints of rejections that count no longer; return how many there were."""
    old = timezone.now() - settings.REJECTION_COUNTS
    return RejectedFingerprint.objects.filter(decided_at__lt=old).delete()[0]
