"""What reads like a secret waits for a person, whatever policy says, and the agent is told why."""

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
from tests.support.acts import save
from tests.support.fixtures import ClientOf
from tests.support.pages import words

SAYS = "Alice's wifi password is hunter2-blue."
WHY = "It reads like a key, token, password or card number, so a person has to see it first."
FILE = "# Memories\n\n## Facts\n\n### mem-1-abcd\n> Tea.\n\n### mem-2-abcd\n> {}\n"
QUOTED = [{"role": "user", "content": "write down that I like tea"}, {"role": "user", "content": SAYS}]

pytestmark = pytest.mark.usefixtures("alice")


def assert_waits(answer: Any) -> None:
    """Assert that nothing was saved, and that the agent is told why."""
    assert (answer["data"]["status"], answer["data"]["waits_because"]) == ("open", "secrets")
    assert answer["data"]["commit"] is None
    assert WHY in answer["text"]
    assert "hunter2" not in answer["text"]
    assert reads.notes("alice") == ()
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied, proposal.risks) == (Status.OPEN, False, ["secrets"])


@pytest.mark.parametrize("tool", ["memory_save", "remember"])
def test_a_note_with_a_password_waits_although_policy_applies(call: Call, tool: str) -> None:
    assert_waits(answered(call(tool, content=SAYS)))
    applied = answered(call(tool, content="Alice keeps her passwords in a manager."))["data"]
    assert (applied["status"], applied["waits_because"]) == ("applied", None)


def test_an_import_with_one_waits_as_a_whole(api: Machine) -> None:
    file = FILE.format(SAYS)
    assert_waits(answered(api.http.post("/api/v1/users/alice/memories.md", file, content_type="text/markdown")))


def test_an_update_and_a_rationale_with_one_wait_too(call: Call, alice: User) -> None:
    tea = save(alice, "Alice likes tea.")
    for answer in (
        call("memory_update", note_id=tea, content=SAYS),
        call("remember", content="Alice has wifi.", rationale="PIN: 0815"),
        call("forget", memory_id=tea, reason="the password is hunter2-blue now"),
    ):
        assert answered(answer)["data"]["waits_because"] == "secrets"
    assert reads.note("alice", tea).content == "Alice likes tea."


@pytest.mark.slow
@pytest.mark.parametrize("said", [{"reasoning": f"She said: {SAYS}"}, {"evidence": QUOTED}])
def test_a_reason_or_a_quoted_message_with_one_makes_a_note_wait(
    call: Call, alice: User, client_of: ClientOf, said: dict[str, Any]
) -> None:
    assert_waits(answered(call("memory_save", content="Alice likes tea.", **said)))
    proposal = Proposal.objects.get()
    page = words(client_of(alice).get(f"/proposals/{proposal.pk}/"))
    assert "1 key, token, password or card number is in the agent’s reason or in a message it quotes." in page
    assert "is added" not in page
    services.reject(proposal_id=proposal.pk, actor=alice, reason=RejectReason.TOO_PRIVATE, revision=1)
    assert "hunter2" not in client_of(alice).get(f"/proposals/{proposal.pk}/").content.decode()


def test_what_an_agent_says_with_a_block_is_flagged(call: Call, goals: Block) -> None:
    edit = {"block_label": "goals", "old_string": "Alice likes math."}
    answered(call("propose_memory_edit", **edit, new_string="Spelling.", reasoning="Spelling.", evidence=QUOTED))
    answered(call("propose_memory_edit", **edit, new_string="Alice likes math. PIN: 0815", reasoning="She said so."))
    assert [proposal.risks for proposal in Proposal.objects.all()] == [["secrets"], ["secrets"]]


def test_an_amendment_is_flagged_by_the_reason_it_keeps(call: Call) -> None:
    note_id = answered(call("memory_save", content="Tea.", reasoning=SAYS))["data"]["note_id"]
    for content, said, risks in (
        ("Green tea.", {}, ["secrets"]),
        ("Black tea.", {"reasoning": "She said so."}, []),
        ("White tea.", {"evidence": QUOTED}, ["secrets"]),
    ):
        answered(call("memory_update", note_id=note_id, content=content, **said))
        assert Proposal.objects.get().risks == risks


def test_an_import_whose_reason_has_one_is_shown_with_it(scribe: Agent, alice: User, client_of: ClientOf) -> None:
    by = services.notes.ChangeContext(actor=scribe, may_apply=True, reasoning=SAYS)
    imports.import_memories(by=by, owner="alice", parsed=memories_md.parse(FILE.format("Bees.")))
    proposal = Proposal.objects.get()
    assert proposal.review_reason == "secrets"
    assert "is in the agent’s reason" in words(client_of(alice).get(f"/proposals/{proposal.pk}/"))


def test_a_note_that_had_one_is_deleted_and_changed_without_asking(call: Call, alice: User) -> None:
    note_id = save(alice, SAYS)
    changed = answered(call("memory_update", note_id=note_id, content=f"{SAYS} Ask her."))
    deleted = answered(call("memory_delete", note_id=note_id, reasoning=f"No more of this: {SAYS}"))
    assert (changed["data"]["status"], deleted["data"]["status"]) == ("applied", "applied")


def test_the_reviewer_sees_it_masked_in_the_checks_can_filter_and_removes_it(
    call: Call, alice: User, admin: User, client_of: ClientOf
) -> None:
    number = answered(call("memory_save", content=SAYS))["data"]["proposal_id"]
    address, client = f"/proposals/{number}/", client_of(alice)
    for person in (client, client_of(admin)):
        shown = person.get(address).content.decode()
        assert "reads like a key, token, password or card number, so a person sees it first" in shown
    page = client.get(address).content.decode()
    assert "Reads like a secret" in page
    assert "password hunt…" in page
    assert address in client.get("/?risk=secrets").content.decode()
    assert address not in client.get("/?risk=links_added").content.decode()
    services.reject(proposal_id=number, actor=alice, reason=RejectReason.TOO_PRIVATE, revision=1)
    assert Proposal.objects.get().is_redacted
    assert "hunt" not in client.get(address).content.decode()
