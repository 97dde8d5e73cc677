"""New blocks and deletions in every state a page can show, for `every_state`."""

from collections.abc import Iterator
from typing import Any

from approvals import services
from approvals.models import Agent, Proposal, User
from tests.support.acts import approve, as_seen, change, edit

NEW = "# Monday\n\nShe read Noether, and liked the *proofs*.\n\n- Tea at four\n- Choir at six\n"
LATER = ("Tea at four", "Tea at five")


def whole_blocks(alice: User, tim: User, scribe: Agent) -> Iterator[tuple[str, Proposal]]:
    """Yield proposals that make or delete blocks of alice's, each with the name of its state."""
    mentor = Agent.objects.create(name="mentor", description="Plans her week.")
    yield "new block", _new(scribe, "journal", title="Journal", description="What she did, day by day.")
    yield "new block, same label", _new(mentor, "journal", body="Other words.")
    amended = _new(scribe, "reading_list", title="Books")
    services.request_changes(actor=tim, proposal_id=amended.pk, revision=1, comment="Call it a list.")
    _new(scribe, "reading_list", title="Reading list", description="One a month.", proposal_id=amended.pk)
    yield "new block, revision 2", amended
    reworded = _new(scribe, "choir", title="Choir")
    wording = {"title": "Choir and rehearsals", "text": f"{NEW}- Home at ten\n"}
    yield "new block reworded", services.approve_edited(actor=tim, **wording, **as_seen(reworded))
    taken = _new(scribe, "week")
    fields = services.BlockFields("Week", "", "Her own plan of the week.", 20_000)
    services.create_block(actor=alice, owner="alice", label="week", fields=fields)
    yield "new block, label taken", taken
    yield "new block, empty", _new(scribe, "wishes", body="")

    for label in ("old_plan", "old_list", "old_diary", "old_goals"):
        fields = services.BlockFields(label.replace("_", " ").title(), "From last year.", NEW, 20_000)
        services.create_block(actor=alice, owner="alice", label=label, fields=fields)
    yield "deletion", _deletion(scribe, "old_plan")
    yield "edit beside a deletion", change(scribe, LATER, label="old_plan")
    stale = _deletion(scribe, "old_list")
    edit(alice, "old_list", "Tea", "Coffee")
    yield "deletion, block changed", stale
    beside = change(scribe, LATER, label="old_diary")
    yield "deleted", approve(tim, _deletion(scribe, "old_diary"), comment="It is all in the new one.")
    yield "handed back, block deleted", beside
    undone = approve(tim, _deletion(scribe, "old_goals"))
    services.undo(actor=tim, proposal_id=undone.pk)
    yield "deletion undone", undone
    services.recheck("alice", [("block", label) for label in ("journal", "week", "old_list", "old_diary")])


def _new(agent: Agent, label: str, *, title: str = "", body: str = NEW, **more: Any) -> Proposal:
    given = {"agent": agent, "owner": "alice", "reasoning": "She keeps telling me about it."} | more
    return services.propose_block(label=label, title=title, body=body, **given).proposal


def _deletion(agent: Agent, label: str) -> Proposal:
    reasoning = "All of it is from last year."
    return services.propose_deletion(agent=agent, owner="alice", label=label, reasoning=reasoning).proposal
