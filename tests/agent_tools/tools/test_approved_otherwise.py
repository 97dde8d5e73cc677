"""What an agent learns of an approval that is not as it proposed."""

from datetime import date
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, User
from approvals.review.targets import current_state
from approvals.services import Rest, imports, notes
from assent_client.text import memories_md
from memory_app import reads
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Replace, Rewrite
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call
from tests.support.acts import edit
from tests.support.fixtures import MakeBlock, Propose


@pytest.fixture
def two(goals: Block, tim: User, scribe: Agent) -> Proposal:
    edits = [Replace("math", "maths"), Replace("one book", "two books")]
    return services.propose(
        agent=scribe, owner="alice", label="goals", edits=edits, kind=Kind.EDIT, reasoning="She said so."
    ).proposal


def seen(proposal: Proposal) -> dict[str, Any]:
    sha256 = current_state(proposal, proposal.current_revision).sha256
    return {"proposal_id": proposal.pk, "revision": proposal.current_revision_number, "seen_sha256": sha256}


def first_change() -> str:
    now = reads.block("alice", "goals").body
    wanted = now.replace("math", "maths").replace("one book", "two books")
    return worddiff.hunks(now, wanted)[0].id


def test_an_approval_as_proposed_says_so(call: Call, tim: User, two: Proposal) -> None:
    services.approve(actor=tim, **seen(two))
    answer = answered(call("get_proposal", proposal_id=two.pk))
    data = answer["data"]
    assert (data["approval"], data["final_text"], data["difference"]) == ("as_proposed", None, [])
    assert (data["not_accepted"], data["merge_commit"], data["decision"]["by"]) == ([], reads.head(), "tim")
    assert answer["text"] == f"Proposal {two.pk} for block 'goals' is approved, by tim."


def test_a_move_that_was_not_accepted_says_from_where_to_where(
    call: Call, alice: User, tim: User, scribe: Agent, make_block: MakeBlock
) -> None:
    make_block(alice, "plan", "Reads a book every week.\nSwims on Tuesday with Ben.\nThe exam is in June.\n")
    body = "Swims on Tuesday with Ben.\nThe exam is in July.\nReads a book every week.\n"
    proposal = services.propose(
        agent=scribe, owner="alice", label="plan", edits=[Rewrite(body)], kind=Kind.REWRITE, reasoning="Sorted."
    ).proposal
    move, other = worddiff.hunks(reads.block("alice", "plan").body, body)
    services.approve_some(actor=tim, **seen(proposal), accepted=[other.id], rest=Rest.REJECT, reason="wrong")
    assert answered(call("get_proposal", proposal_id=proposal.pk))["data"]["not_accepted"] == [
        {"before": move.before, "after": move.after, "moved_from_line": 1, "moved_to_line": 3}
    ]


def test_what_was_not_accepted_is_told_with_the_reason(
    call: Call, alice: User, tim: User, goals: Block, two: Proposal
) -> None:
    edit(alice, "goals", "in June", "in July")
    services.approve_some(
        actor=tim, **seen(two), accepted=[first_change()], rest=Rest.REJECT, reason="wrong", comment="Only one."
    )
    answer = answered(call("get_proposal", proposal_id=two.pk))
    data = answer["data"]
    assert data["approval"] == "part"
    assert data["not_accepted"] == [
        {"before": "She reads one book a month.\n", "after": "She reads two books a month.\n"}
    ]
    assert data["final_text"] == reads.block("alice", "goals").body
    assert [made["new_string"] for made in data["edits"]] == ["maths", "two books"]
    assert (data["decision"]["reason"], data["decision"]["comment"]) == ("wrong", "Only one.")
    assert data["propose_again"] is False
    assert answer["text"] == (
        f"Proposal {two.pk} for block 'goals' is approved in part, by tim (wrong): Only one.\n"
        "1 of 2 changes were not accepted (not_accepted). Do not propose them again as they were."
    )
    assert f"- {two.pk}: block 'goals', approved in part (wrong): Only one." in answered(call("list_proposals"))["text"]


def test_what_came_back_is_to_be_changed_and_proposed_again(call: Call, tim: User, two: Proposal) -> None:
    services.approve_some(actor=tim, **seen(two), accepted=[first_change()], rest=Rest.AGENT, comment="Ask her.")
    answer = answered(call("get_proposal", proposal_id=two.pk))
    data = answer["data"]
    assert (data["status"], data["propose_again"], len(data["not_accepted"])) == ("approved", True, 1)
    assert "Ask her.\n1 of 2 changes came back to you (not_accepted): change them as the reviewer" in answer["text"]
    assert f"and propose them again, with proposal_id={two.pk}." in answer["text"]
    change = {"old_string": "one book", "new_string": "three books", "reasoning": "She said three."}
    again = {"block_label": "goals", "proposal_id": two.pk, "idempotency_key": "again", **change}
    made = answered(call("propose_memory_edit", **again))["data"]
    assert made["proposal_id"] != two.pk
    assert (made["status"], made["waits_because"]) == ("open", None)
    assert answered(call("propose_memory_edit", **again))["data"]["proposal_id"] == made["proposal_id"]
    assert answered(call("get_proposal", proposal_id=made["proposal_id"]))["data"]["answers"] == two.pk
    assert Proposal.objects.count() == 2


def test_the_reviewers_wording_comes_with_the_difference(
    call: Call, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "in June", "in July")
    text = reads.block("alice", "goals").body.replace("likes math", "enjoys algebra")
    services.approve_edited(actor=tim, **seen(proposal), text=text, comment="Her word.")
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    data = answer["data"]
    assert (data["approval"], data["final_text"]) == ("edited", text)
    # What alice changed herself in between is no difference between the two.
    assert data["difference"] == [
        {"proposed": "Alice loves mathematics.\n", "approved": "Alice enjoys algebra.\n"},
    ]
    assert "loves mathematics" in data["result"]
    assert answer["text"].startswith(
        f"Proposal {proposal.pk} for block 'goals' is approved with changes, by tim: Her word.\nThe memory has"
    )


def test_a_resolved_conflict_is_told(call: Call, alice: User, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "is done with math")
    text = reads.block("alice", "goals").body.replace("is done with math", "is done with maths")
    services.approve_edited(actor=tim, **seen(proposal), text=text, resolves=True)
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    assert (answer["data"]["approval"], answer["data"]["final_text"]) == ("resolved", text)
    assert "is approved after a conflict was resolved, by tim." in answer["text"]


def test_a_reworded_note_is_told(call: Call, tim: User, goals: Block) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    saved = answered(call("memory_save", content="She rows."))["data"]
    proposal = Proposal.objects.get(pk=saved["proposal_id"])
    services.approve_edited(actor=tim, **seen(proposal), text="She rows on Mondays.")
    data = answered(call("get_proposal", proposal_id=proposal.pk))["data"]
    assert data["notes"][0]["after"]["content"] == "She rows."
    assert (data["final_text"], data["difference"]) == (
        "She rows on Mondays.",
        [{"proposed": "She rows.", "approved": "She rows on Mondays."}],
    )


def test_notes_of_an_import_that_were_left_out_are_named(call: Call, tim: User, scribe: Agent) -> None:
    texts = {"mem-1-aaaa": "She sails.", "mem-2-aaaa": "She rows."}
    day = date(2025, 1, 1)
    data = memories_md.write(memories_md.Memory(id_, "note", text, (), day) for id_, text in texts.items()).encode()
    imports.import_file(by=notes.ChangeContext(actor=scribe, reasoning="Her file."), owner="alice", data=data)
    proposal = Proposal.objects.get()
    services.approve_some(actor=tim, **seen(proposal), accepted=["mem-1-aaaa"], rest=Rest.REJECT, reason="outdated")
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    assert [change["id"] for change in answer["data"]["not_accepted"]] == ["mem-2-aaaa"]
    assert answer["data"]["note_count"] == 2
    assert "1 of 2 notes were not accepted" in answer["text"]
