"""What reads like a secret waits for a person, whatever policy says, and the agent is told why."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Proposal, RejectReason, Status, User
from approvals.services import imports
from assent_client.text import memories_md
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call, Machine
from tests.support.pages import words

SAYS = "Alice's wifi password is hunter2-blue."
WHY = "It reads like a key, token, password or card number, so a person has to see it first."

pytestmark = pytest.mark.usefixtures("alice")


@pytest.fixture
def tea(call: Call) -> str:
    return str(answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"])


@pytest.mark.parametrize("tool", ["memory_save", "remember"])
def test_a_note_with_a_password_waits_although_policy_applies(call: Call, tool: str) -> None:
    answer = answered(call(tool, content=SAYS))
    assert (answer["data"]["status"], answer["data"]["waits_because"]) == ("open", "secrets")
    assert answer["data"]["commit"] is None
    assert WHY in answer["text"]
    assert "hunter2" not in answer["text"]
    assert reads.notes("alice") == ()
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied, proposal.risks) == (Status.OPEN, False, ["secrets"])


def test_an_ordinary_note_is_applied_as_before(call: Call) -> None:
    answer = answered(call("memory_save", content="Alice keeps her passwords in a manager."))
    assert (answer["data"]["status"], answer["data"]["waits_because"]) == ("applied", None)


def test_an_update_and_a_rationale_with_one_wait_too(call: Call, tea: str) -> None:
    updated = answered(call("memory_update", note_id=tea, content=SAYS))
    assert updated["data"]["waits_because"] == "secrets"
    assert reads.note("alice", tea).content == "Alice likes tea."
    told = answered(call("remember", content="Alice has wifi.", rationale="PIN: 0815"))
    assert told["data"]["waits_because"] == "secrets"
    forgotten = answered(call("forget", memory_id=tea, reason="the password is hunter2-blue now"))
    assert forgotten["data"]["waits_because"] == "secrets"


QUOTED = [{"role": "user", "content": "write down that I like tea"}, {"role": "user", "content": SAYS}]


@pytest.mark.slow
@pytest.mark.parametrize("said", [{"reasoning": f"She said: {SAYS}"}, {"evidence": QUOTED}])
def test_a_reason_or_a_quoted_message_with_one_makes_a_note_wait(
    call: Call, alice: User, client_of: Callable[[Any], Any], said: dict[str, Any]
) -> None:
    answer = answered(call("memory_save", content="Alice likes tea.", **said))
    assert (answer["data"]["status"], answer["data"]["waits_because"]) == ("open", "secrets")
    assert WHY in answer["text"]
    assert "hunter2" not in answer["text"]
    assert reads.notes("alice") == ()
    proposal = Proposal.objects.get()
    assert (proposal.auto_applied, proposal.risks) == (False, ["secrets"])
    page = words(client_of(alice).get(f"/proposals/{proposal.pk}/"))
    assert "1 key, token, password or card number is in the agent’s reason or in a message it quotes." in page
    assert "is added" not in page
    services.reject(proposal_id=proposal.pk, actor=alice, reason=RejectReason.TOO_PRIVATE, revision=1)
    assert "hunter2" not in client_of(alice).get(f"/proposals/{proposal.pk}/").content.decode()


def test_what_an_agent_says_with_a_block_is_flagged(call: Call, goals: Block) -> None:
    edit = {"block_label": "goals", "old_string": "Alice likes math.", "new_string": "Alice likes maths."}
    answered(call("propose_memory_edit", **edit, reasoning="Spelling.", evidence=QUOTED))
    edit["new_string"] = "Alice likes math. PIN: 0815"
    answered(call("propose_memory_edit", **edit, reasoning="She said so."))
    assert [proposal.risks for proposal in Proposal.objects.all()] == [["secrets"], ["secrets"]]


def test_an_amendment_is_flagged_by_the_reason_it_keeps(call: Call, alice: User) -> None:
    note_id = answered(call("memory_save", content="Tea.", reasoning=SAYS))["data"]["note_id"]
    answered(call("memory_update", note_id=note_id, content="Green tea."))
    assert Proposal.objects.get().risks == ["secrets"]
    answered(call("memory_update", note_id=note_id, content="Black tea.", reasoning="She said so."))
    assert Proposal.objects.get().risks == []
    answered(call("memory_update", note_id=note_id, content="White tea.", evidence=QUOTED))
    assert Proposal.objects.get().risks == ["secrets"]


def test_an_import_whose_reason_has_one_is_shown_with_it(
    scribe: Agent, alice: User, client_of: Callable[[Any], Any]
) -> None:
    parsed = memories_md.parse("# Memories\n\n## Facts\n\n### mem-1-abcd\n> Tea.\n\n### mem-2-abcd\n> Bees.\n")
    by = services.notes.ChangeContext(actor=scribe, may_apply=True, reasoning=SAYS)
    done = imports.import_memories(by=by, owner="alice", parsed=parsed)
    assert done.outcome
    assert done.outcome.proposal
    assert done.outcome.proposal.review_reason == "secrets"
    page = words(client_of(alice).get(f"/proposals/{done.outcome.proposal.pk}/"))
    assert "is in the agent’s reason" in page


def test_a_note_that_had_one_is_deleted_and_changed_without_asking(call: Call, alice: User) -> None:
    services.notes.save(by=services.notes.ChangeContext(actor=alice), owner="alice", content=SAYS)
    (note,) = reads.notes("alice")
    changed = answered(call("memory_update", note_id=note.id, content=f"{SAYS} Ask her."))
    assert changed["data"]["status"] == "applied"
    deleted = answered(call("memory_delete", note_id=note.id, reasoning=f"No more of this: {SAYS}"))
    assert deleted["data"]["status"] == "applied"


def test_an_import_with_one_waits_as_a_whole(api: Machine) -> None:
    file = f"# Memories\n\n## Facts\n\n### mem-1-abcd\n> Tea.\n\n### mem-2-abcd\n> {SAYS}\n"
    response = api.http.post("/api/v1/users/alice/memories.md", file, content_type="text/markdown")
    answer = answered(response)
    assert (answer["data"]["status"], answer["data"]["waits_because"]) == ("open", "secrets")
    assert WHY in answer["text"]
    assert reads.notes("alice") == ()


def test_the_reviewer_sees_it_masked_in_the_checks_and_can_filter(
    call: Call, alice: User, admin: User, client_of: Callable[[Any], Any]
) -> None:
    number = answered(call("memory_save", content=SAYS))["data"]["proposal_id"]
    for person in (alice, admin):
        shown = client_of(person).get(f"/proposals/{number}/").content.decode()
        assert "reads like a key, token, password or card number, so a person sees it first" in shown
    client = client_of(alice)
    page = client.get(f"/proposals/{number}/").content.decode()
    assert "Reads like a secret" in page
    assert "password hunt…" in page
    assert f"/proposals/{number}/" in client.get("/?risk=secrets").content.decode()
    assert f"/proposals/{number}/" not in client.get("/?risk=links_added").content.decode()


def test_rejected_as_too_private_it_leaves_nothing(call: Call, alice: User, client_of: Callable[[Any], Any]) -> None:
    number = answered(call("memory_save", content=SAYS))["data"]["proposal_id"]
    proposal = Proposal.objects.get(pk=number)
    services.reject(proposal_id=number, actor=alice, reason=RejectReason.TOO_PRIVATE, revision=1)
    proposal.refresh_from_db()
    assert proposal.is_redacted
    assert "hunt" not in client_of(alice).get(f"/proposals/{number}/").content.decode()
