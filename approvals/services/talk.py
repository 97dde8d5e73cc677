"""What people do beside deciding: talk about a proposal, say whose it is, look at it, keep filters of their list.

None of this changes a proposal's status. Called through `approvals.services`.
"""

import hashlib
import re
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.language import grouped
from approvals.models import Agent, Attention, Event, Proposal, SavedFilter, User
from approvals.permissions import is_open_for_talk, may_comment, may_decide
from approvals.services import events
from approvals.services.checks import locked_proposal, visible_proposal
from approvals.services.errors import AlreadyDecided, DecisionRefused, ProposalNotFound, Refusal, not_allowed
from approvals.services.preparing import require_texts
from memory_app.text import edits

log = structlog.get_logger(__name__)


def assign(*, actor: User, proposal_id: int, to: str) -> Proposal:
    """Assign an undecided proposal, or take it back from whom it was assigned to. Idempotent.

    Others may still decide it: it says who takes care of it.

    Args:
        to: username; empty for nobody.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        `not_allowed`: this person may see it, but not decide.
        DecisionRefused: that person may not decide about this memory, or does not exist.
        AlreadyDecided: nobody has to take care of it any more.
    """
    proposal = visible_proposal(actor, proposal_id)
    if not may_decide(actor, proposal.owner):
        raise not_allowed(proposal)
    person = None
    if to:
        person = User.objects.filter(username=to, is_active=True).first()
        if person is None or not may_decide(person, proposal.owner):
            raise DecisionRefused(
                proposal, _("%(who)s may not decide about this memory, so it cannot be assigned to them.") % {"who": to}
            )
    with transaction.atomic(durable=True):
        proposal = locked_proposal(proposal_id) or proposal
        if proposal.is_decided:
            raise AlreadyDecided(proposal, _("This proposal is decided."))
        if proposal.assigned_to_id != (person.pk if person else None):
            proposal.assigned_to = person
            Proposal.objects.filter(pk=proposal.pk).update(assigned_to=person, updated_at=timezone.now())
            events.record(proposal, Event.What.ASSIGNED, actor=actor, to=to)
    log.info("proposal_assigned", proposal=proposal.pk, user_id=proposal.owner, to=to, actor=actor.username)
    return proposal


def mark_seen(*, actor: User, proposal: Proposal) -> int:
    """Write that a person looks at the current revision. Return the newest one they had seen before, 0 for none.

    Idempotent: one query when they have seen it already. The caller has checked that they may.
    """
    number = proposal.current_revision_number
    before = Attention.objects.filter(person=actor, proposal=proposal).values_list("seen_revision", flat=True).first()
    if before is not None and before >= number:
        return before
    seen = {"seen_revision": number, "seen_at": timezone.now()}
    Attention.objects.update_or_create(person=actor, proposal=proposal, defaults=seen)
    return before or 0


#: Characters of one comment.
MOST_CHARACTERS = 2_000
#: Comments on one proposal, and how many of them its agent may write: an agent cannot fill a thread up.
MOST_COMMENTS = 200
MOST_OF_AGENT = 50

#: The id of a change (a hunk) that a comment is about.
CHANGE = re.compile(r"[0-9A-Za-z_.:-]{1,64}")


def comment(
    *, actor: User | Agent, proposal_id: int, text: str, change: str = "", operation: str | None = None
) -> Event:
    """Comment on a proposal: the owner, their tutors and staff, and the agent that proposed it.

    Args:
        text: at most 2,000 characters.
        change: the id of the change it is about; empty for the whole proposal.
        operation: 32 hexadecimal digits; the same comment sent again with the same one is made once.

    Raises:
        ProposalNotFound: there is none, or this actor may not see it.
        `comment_invalid`, ForbiddenCharacter: the text.
        AlreadyDecided: the texts of the proposal were removed.
        `talk_closed`: it was decided long ago, or its thread is full.
    """
    text = text.strip()
    with transaction.atomic(durable=True):
        # Locked: its texts may be removed at the same time, and this one would stay.
        proposal = locked_proposal(proposal_id)
        if proposal is None or not _may_comment(actor, proposal):
            raise ProposalNotFound
        data: dict[str, Any] = {"change": change} if change else {}
        if operation:
            # Of this comment alone: whoever goes back to a page may send its form with other words.
            said = repr((operation, type(actor).__name__, actor.pk, text, change))
            data["operation"] = hashlib.sha256(said.encode()).hexdigest()[:32]
            thread = proposal.events.filter(what=Event.What.COMMENTED)
            if done := thread.filter(data__operation=data["operation"]).first():
                return done
        _require_valid(text, change)
        _require_open(proposal, actor)
        made = events.record(proposal, Event.What.COMMENTED, actor=actor, text=text, **data)
    log.info("proposal_commented", proposal=proposal.pk, user_id=proposal.owner, by=made.actor, kind=made.actor_kind)
    return made


def _may_comment(actor: User | Agent, proposal: Proposal) -> bool:
    return proposal.agent_id == actor.pk if isinstance(actor, Agent) else may_comment(actor, proposal.owner)


def _require_valid(text: str, change: str) -> None:
    edits.check_text(text, field="comment")
    if not text:
        raise Refusal(_("Please write something."), code="comment_invalid")
    if len(text) > MOST_CHARACTERS:
        raise Refusal(
            _("The comment has %(used)s characters; at most %(limit)s fit.")
            % {"used": grouped(len(text)), "limit": grouped(MOST_CHARACTERS)},
            code="comment_invalid",
        )
    if change and not CHANGE.fullmatch(change):
        raise Refusal(_("This is not the id of a change."), code="comment_invalid")


def _require_open(proposal: Proposal, actor: User | Agent) -> None:
    require_texts(proposal)
    if not is_open_for_talk(proposal):
        raise DecisionRefused(proposal, _("This was decided too long ago to be commented on."), code="talk_closed")
    thread = proposal.events.filter(what=Event.What.COMMENTED)
    if isinstance(actor, Agent):
        is_full = thread.filter(actor_kind=Event.ActorKind.AGENT).count() >= MOST_OF_AGENT
    else:
        is_full = thread.count() >= MOST_COMMENTS + MOST_OF_AGENT
    if is_full:
        raise DecisionRefused(proposal, _("This proposal has as many comments as it can have."), code="talk_closed")


#: Filters one person can keep; more would not be found again in a line.
MOST_FILTERS = 20

_LONGEST_NAME = SavedFilter._meta.get_field("name").max_length or 0
_LONGEST_QUERY = SavedFilter._meta.get_field("query").max_length or 0


def save_filter(*, actor: User, name: str, query: str) -> SavedFilter:
    """Keep a filter; one with the same name is replaced.

    Args:
        query: the query string of the list, as `Listing.query` gives it.

    Raises:
        Refusal: there is no name, too much of something, or nothing to keep.
    """
    name = " ".join(name.replace("\0", "").split())
    if not name:
        raise Refusal(_("Give the filter a name."))
    if len(name) > _LONGEST_NAME:
        raise Refusal(_("A name has at most %(most)d characters.") % {"most": _LONGEST_NAME})
    if not query:
        raise Refusal(_("There is no filter to save: choose one first."))
    if len(query) > _LONGEST_QUERY:
        raise Refusal(_("This filter is too long to be saved. Shorten what it searches for."))
    with transaction.atomic():
        User.objects.select_for_update().get(pk=actor.pk)  # two windows at once would pass the limit
        others = SavedFilter.objects.filter(person=actor).exclude(name=name)
        if others.count() >= MOST_FILTERS:
            raise Refusal(_("You have %(most)d saved filters. Delete one first.") % {"most": MOST_FILTERS})
        saved, _made = SavedFilter.objects.update_or_create(person=actor, name=name, defaults={"query": query})
    return saved


def delete_filter(*, actor: User, pk: int) -> str:
    """Delete one of this person's filters. Return its name; empty when there is none, or it is gone already."""
    found = SavedFilter.objects.filter(person=actor, pk=pk)
    name = found.values_list("name", flat=True).first() or ""
    found.delete()
    return name


def dismiss_welcome(*, actor: User) -> None:
    """Stop telling this person what newcomers are told."""
    User.objects.filter(pk=actor.pk).update(is_welcomed=True)
