"""Amending over HTTP: `proposal_id` on every tool that proposes, and what the agent is told it is asked for."""

import pytest

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry
from agent_tools.calls.arguments import NoteWriteArguments, ReasonedArguments
from approvals import services
from approvals.models import Agent, Policy, Proposal, User
from memory_app import reads
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import approve
from tests.support.fixtures import MakeBlock, Propose

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "enjoys maths", "reasoning": "As you asked."}


@pytest.fixture
def asked(proposal: Proposal, tim: User) -> Proposal:
    return services.request_changes(
        actor=tim, proposal_id=proposal.pk, revision=1, comment="Not love.\nLike.", reason="badly_worded"
    )


def test_every_proposing_tool_takes_a_proposal_to_amend() -> None:
    taking = {name for name, tool in registry.TOOLS.items() if "proposal_id" in tool.arguments.model_fields}
    proposing = {
        name
        for name, tool in registry.TOOLS.items()
        if issubclass(tool.arguments, ReasonedArguments | NoteWriteArguments)
    }
    assert proposing
    assert taking == proposing | {"get_proposal", "withdraw_proposal", "comment_on_proposal"}


def test_the_agent_is_told_what_it_is_asked_for(call: Call, asked: Proposal) -> None:
    answer = answered(call("get_proposal", proposal_id=asked.pk))
    data = answer["data"]
    assert (data["status"], data["decision"]) == ("changes_requested", None)
    request = {name: value for name, value in data["changes_requested"].items() if name != "at"}
    assert request == {"by": "tim", "reason": "badly_worded", "comment": "Not love.\nLike.", "revision": 1}
    assert data["expires_at"]
    assert answer["text"] == (
        f"Proposal {asked.pk} for block 'goals': changes are requested by tim (badly_worded): Not love.\nLike.\n"
        f"To amend it, read the block and propose again with proposal_id={asked.pk}; or take it back with "
        "withdraw_proposal."
    )
    listed = answered(call("list_proposals", status="changes_requested"))
    assert listed["data"]["items"][0]["changes_requested"]["comment"] == "Not love.\nLike."
    line = f"- {asked.pk}: block 'goals', changes_requested (badly_worded): Not love. Like."
    assert listed["text"].split("\n")[-1] == line


def test_an_amendment_is_the_next_revision(call: Call, api: Machine, asked: Proposal) -> None:
    answer = answered(call("propose_memory_edit", **EDIT, proposal_id=asked.pk))
    assert answer["text"].split("\n")[0] == (
        f"Your proposal {asked.pk} for block 'goals' is amended: this is its revision 2. The user will be asked to "
        "approve this change. Reasoning provided: As you asked."
    )
    data = answer["data"]
    assert (data["proposal_id"], data["revision"], data["amended"], data["status"]) == (asked.pk, 2, True, "open")
    seen = answered(call("get_proposal", proposal_id=asked.pk))["data"]
    assert (seen["revision"], seen["changes_requested"], seen["reasoning"]) == (2, None, "As you asked.")
    assert "enjoys maths" in seen["result"]
    body = {"body": "All new.", "reasoning": "As you asked.", "proposal_id": asked.pk}
    whole = answered(api.post("/api/v1/users/alice/blocks/goals/propose/", body))["data"]
    assert (whole["revision"], whole["proposal_id"]) == (3, asked.pk)
    assert Proposal.objects.get().kind == "rewrite"


def test_proposing_the_same_again_says_what_is_asked_for(call: Call, asked: Proposal) -> None:
    same = EDIT | {"new_string": "loves math"}
    anew = answered(call("propose_memory_edit", **same))
    assert (anew["data"]["created"], anew["data"]["status"]) == (False, "changes_requested")
    assert "changes are requested by tim" in anew["text"]
    error = refused(call("propose_memory_edit", **same, proposal_id=asked.pk), 422, "no_change")
    assert error["message"] == f"Proposal {asked.pk} asks for exactly this already; it is not changed."


def test_another_block_and_proposals_of_others_are_not_amended(
    call: Call, alice: User, ben: User, make_block: MakeBlock, propose: Propose, asked: Proposal
) -> None:
    make_block(alice, "profile", "Alice likes math.")
    elsewhere = EDIT | {"block_label": "profile", "proposal_id": asked.pk}
    error = refused(call("propose_memory_edit", **elsewhere), 409, "other_target")
    assert error["message"] == f"Proposal {asked.pk} is about block 'goals', not about what this call changes."
    assert error["details"]["block_label"] == "goals"
    # Of another owner it is not there, and of another agent neither.
    foreign = propose(make_block(ben, "goals", "Ben likes math."), "likes math", "loves math")
    error = refused(call("propose_memory_edit", **EDIT, proposal_id=foreign.pk), 404, "proposal_not_found")
    assert error["message"] == f"Proposal {foreign.pk} not found."
    Proposal.objects.filter(pk=foreign.pk).update(owner="alice", agent=Agent.objects.create(name="other"))
    refused(call("propose_memory_edit", **EDIT, proposal_id=foreign.pk), 404, "proposal_not_found")


def test_what_is_decided_is_proposed_anew(call: Call, tim: User, asked: Proposal) -> None:
    services.reject(actor=tim, proposal_id=asked.pk, revision=1, reason="wrong", comment="No.", is_with_agent=True)
    error = refused(call("propose_memory_edit", **EDIT, proposal_id=asked.pk), 409, "already_decided")
    assert error["message"] == f"Proposal {asked.pk} for block 'goals' is rejected, by tim (wrong): No."
    assert "Propose the change anew, without proposal_id" in error["text"]
    assert error["details"]["proposal"]["status"] == "rejected"
    anew = answered(call("propose_memory_edit", **EDIT))["data"]
    assert answered(call("get_proposal", proposal_id=anew["proposal_id"]))["data"]["answers"] == asked.pk


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def note(call: Call) -> str:
    """A note of alice's that agents have to ask about."""
    saved = answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"]
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    return str(saved)


def test_a_change_of_a_note_is_amended_and_waits_whatever_the_policy_says(call: Call, note: str, tim: User) -> None:
    made = answered(call("memory_update", note_id=note, content="Alice loves tea."))["data"]
    number = made["proposal_id"]
    services.request_changes(actor=tim, proposal_id=number, revision=1, comment="Green tea.")
    Policy.objects.update(notes=Policy.Notes.APPLY)
    given = {"note_id": note, "content": "Alice likes green tea.", "proposal_id": number}
    data = answered(call("memory_update", **given))["data"]
    assert (data["proposal_id"], data["revision"], data["status"], data["amended"]) == (number, 2, "open", True)
    assert reads.note("alice", note).content == "Alice likes tea."
    refused(call("memory_update", **given), 422, "no_change")
    # The same note, another kind of change.
    gone = answered(call("forget", memory_id=note, reason="She stopped.", proposal_id=number))["data"]
    assert (gone["revision"], Proposal.objects.get(pk=number).kind) == (3, "forget")
    approve(tim, Proposal.objects.get(pk=number))
    assert reads.note("alice", note).is_superseded


def test_a_new_note_keeps_its_id_when_it_is_saved_again(call: Call, note: str, tim: User) -> None:
    made = answered(call("memory_save", content="Alice likes coffee.", tags=["drinks"]))["data"]
    services.request_changes(actor=tim, proposal_id=made["proposal_id"], revision=1, comment="Decaf.")
    for tool, named in (("memory_save", "note_id"), ("remember", "memory_id")):
        data = answered(call(tool, content=f"Decaf by {tool}.", proposal_id=made["proposal_id"]))["data"]
        assert (data[named], data["status"], data["amended"]) == (made["note_id"], "open", True)
    assert Proposal.objects.get(pk=made["proposal_id"]).current_revision_number == 3


def test_another_note_or_an_import_is_another_target(call: Call, note: str) -> None:
    made = answered(call("memory_update", note_id=note, content="Alice loves tea."))["data"]["proposal_id"]
    new = answered(call("memory_save", content="Alice likes coffee."))["data"]
    refused(call("memory_save", content="Alice likes decaf.", proposal_id=made), 409, "other_target")
    refused(call("memory_update", note_id=note, content="x", proposal_id=new["proposal_id"]), 409, "other_target")
    refused(call("memory_update", note_id=new["note_id"], content="x", proposal_id=made), 409, "other_target")
    refused(call("memory_delete", note_id=note, proposal_id=999), 404, "proposal_not_found")
    assert set(Proposal.objects.filter(status="open").values_list("current_revision_number", flat=True)) == {1}
