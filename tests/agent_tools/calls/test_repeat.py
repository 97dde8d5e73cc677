"""The same call twice: one effect, one answer."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.calls import idempotency
from agent_tools.models import AgentToken, IdempotencyKey
from agent_tools.tasks import purge
from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.conftest import at_once
from tests.support.fixtures import Propose

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


def test_the_same_key_gives_the_first_answer_again(call: Call, goals: Block) -> None:
    first = call("propose_memory_edit", **EDIT, idempotency_key="k")
    again = call("propose_memory_edit", **EDIT, idempotency_key="k")
    assert again.content == first.content
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Proposal.objects.count() == 1
    answered(call("withdraw_proposal", proposal_id=first.json()["data"]["proposal_id"]))
    assert call("propose_memory_edit", **EDIT, idempotency_key="k").content == first.content


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("propose_memory_edit", EDIT | {"old_string": "hates math"}, 422, "old_string_not_found"),
        ("withdraw_proposal", {"proposal_id": 2**62}, 404, "proposal_not_found"),
    ],
)
def test_a_refusal_is_an_answer_too(
    call: Call, goals: Block, tool: str, arguments: dict[str, Any], status: int, code: str
) -> None:
    first = call(tool, **arguments, idempotency_key="k")
    refused(first, status, code)
    assert IdempotencyKey.objects.get().status == status
    again = call(tool, **arguments, idempotency_key="k")
    assert (again.status_code, again.content) == (status, first.content)


def test_header_and_argument_aliases_and_defaults_are_the_same_call(api: Machine, goals: Block) -> None:
    path = "/api/v1/tools/propose_memory_edit/"
    first = api.post(path, EDIT, **{"Idempotency-Key": "k"})
    spelled = {"label": "goals", "old_str": "likes math", "new_str": "loves math", "reason": "She said so."}
    spelled |= {"confidence": "medium", "user_id": "alice", "idempotency_key": "k"}
    assert api.post(path, spelled).content == first.content
    refused(api.post(path, EDIT | {"idempotency_key": "k"}, **{"Idempotency-Key": "other"}), 400, "invalid_arguments")


def test_other_arguments_under_the_same_key_of_the_same_token_are_refused(
    issue: Issue, alice: User, call: Call, goals: Block
) -> None:
    call("propose_memory_edit", **EDIT, idempotency_key="k")
    other = EDIT | {"reasoning": "x", "idempotency_key": "k"}
    refused(call("propose_memory_edit", **other), 409, "idempotency_key_reused")
    refused(call("withdraw_proposal", proposal_id=1, idempotency_key="k"), 409, "idempotency_key_reused")
    answered(Machine(issue(alice)).call("propose_memory_edit", **other))


@pytest.mark.parametrize("is_decided", [False, True])
def test_no_answer_is_given_again_about_an_owner_the_token_serves_no_more(
    issue: Issue, alice: User, ben: User, goals: Block, propose: Propose, is_decided: bool
) -> None:
    """Taking a proposal back needs no user_id, so that the owner is known only from the answer."""
    proposal = propose(goals, "likes", "loves")
    agent = Machine(issue(alice, ben))
    if is_decided:
        answered(agent.call("withdraw_proposal", proposal_id=proposal.pk))
    withdraw = {"proposal_id": proposal.pk, "idempotency_key": "k"}
    first = agent.call("withdraw_proposal", **withdraw)
    assert agent.call("withdraw_proposal", **withdraw).content == first.content
    auth.stop_serving(AgentToken.objects.get(owners=ben), alice)
    refused(agent.call("withdraw_proposal", **withdraw), 403, "owner_not_granted")
    alice.is_active = False
    alice.save()
    refused(agent.call("withdraw_proposal", **withdraw), 403, "owner_not_granted")


def test_arguments_that_are_refused_do_not_use_the_key_up(call: Call, goals: Block) -> None:
    refused(call("propose_memory_edit", **EDIT, confidence="sure", idempotency_key="k"), 400, "invalid_arguments")
    answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))


@override_settings(PENDING_CAP=1)
def test_what_says_try_again_is_not_kept(call: Call, goals: Block) -> None:
    waiting = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    other = EDIT | {"new_string": "hates math"}
    refused(call("propose_memory_edit", **other, idempotency_key="k"), 429, "too_many_pending")
    answered(call("withdraw_proposal", proposal_id=waiting))
    answered(call("propose_memory_edit", **other, idempotency_key="k"))


def test_a_second_caller_meanwhile_is_told_to_wait(call: Call, goals: Block) -> None:
    call("propose_memory_edit", **EDIT, idempotency_key="k")
    Proposal.objects.all().delete()  # as before the first call has made it
    IdempotencyKey.objects.update(status=None, response="")
    response = call("propose_memory_edit", **EDIT, idempotency_key="k")
    refused(response, 409, "idempotency_in_progress")
    assert response["Retry-After"] == "2"


def test_a_crashed_call_is_resumed_and_not_repeated(call: Call, goals: Block) -> None:
    first = answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    # As after a crash between the proposal and the note of its answer: no answer, and the lease ran out.
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now() - timedelta(seconds=1))
    again = answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    assert again["data"]["proposal_id"] == first["data"]["proposal_id"]
    assert Proposal.objects.count() == 1


def test_a_call_cut_off_after_its_work_is_answered_at_once(call: Call, goals: Block) -> None:
    first = call("propose_memory_edit", **EDIT, idempotency_key="k")
    # As after a crash a moment ago: the lease still runs.
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now() + timedelta(minutes=10))
    again = call("propose_memory_edit", **EDIT, idempotency_key="k")
    assert answered(again) == answered(first)
    assert call("propose_memory_edit", **EDIT, idempotency_key="k")["Idempotency-Replayed"] == "true"


def test_many_at_once_make_one_proposal(token: str, goals: Block) -> None:
    answers = at_once(lambda: Machine(token).call("propose_memory_edit", **EDIT, idempotency_key="k"), 8)
    assert {200} <= {answer.status_code for answer in answers} <= {200, 409}
    assert Proposal.objects.count() == 1


def test_keys_are_forgotten_after_their_time(call: Call, goals: Block) -> None:
    call("propose_memory_edit", **EDIT, idempotency_key="k")
    assert purge() == 0
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    # Too old already, before any purge: the call is a new one (and finds its equal waiting).
    assert answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))["data"]["created"] is False
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert idempotency.purge() == 1


@pytest.mark.parametrize("key", ["", "x" * 201, 5])
def test_a_key_that_is_none_is_named(call: Call, key: Any) -> None:
    error = refused(call("propose_memory_edit", **EDIT, idempotency_key=key), 400, "invalid_arguments")
    assert "idempotency_key" in error["details"]["fields"]


def test_reading_takes_no_key(api: Machine, call: Call, goals: Block) -> None:
    refused(call("read_memory_block", block_label="goals", idempotency_key="k"), 400, "invalid_arguments")
    answered(api.post("/api/v1/tools/list_memory_blocks/", {}, **{"Idempotency-Key": "k"}))
    assert not IdempotencyKey.objects.exists()
