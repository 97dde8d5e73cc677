"""What an agent is told of a proposal whose texts were removed: that, by whom and why, and none of its own words."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from agent_tools.calls import idempotency
from agent_tools.models import AgentToken, IdempotencyKey
from approvals import services
from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.traces import tables_with

SECRET = "zebrafinch"
EDIT = {
    "block_label": "goals",
    "old_string": "likes math",
    "new_string": f"likes math and her {SECRET}",
    "reasoning": f"She told me of her {SECRET}.",
}
FILE = f"### mem-1-aaaa\n> {SECRET}\n"


def too_private(actor: User) -> None:
    number = Proposal.objects.latest("pk").pk
    why = {"reason": "too_private", "comment": "Not about her birds."}
    services.reject(actor=actor, proposal_id=number, revision=1, **why)


def test_the_proposal_says_that_it_is_redacted_and_why_and_nothing_has_a_word_of_it(
    call: Call, api: Machine, goals: Block, tim: User
) -> None:
    number = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    assert answered(call("get_proposal", proposal_id=number))["data"]["redacted"] is False
    too_private(tim)
    told = answered(call("get_proposal", proposal_id=number))
    data = told["data"]
    assert told["text"].splitlines() == [
        f"Proposal {number} for block 'goals' is rejected, by tim (too_private): Not about her birds.",
        "Its texts were removed: what you proposed, and why, is kept no more. Do not propose it again.",
    ]
    assert (data["redacted"], data["status"]) == (True, "rejected")
    assert (data["decision"]["reason"], data["decision"]["comment"]) == ("too_private", "Not about her birds.")
    assert (data["title"], data["reasoning"], data["session_id"]) == ("goals", "", "")
    assert (data["edits"], data["notes"], data["note_count"], data["result"]) == ([], [], 0, "")
    assert api.get(f"/api/v1/proposals/{number}/").json()["data"] == data
    for response in (
        call("list_proposals"),
        call("read_memory_block", block_label="goals"),
        call("memory_search", query=SECRET),
        api.get("/api/v1/users/alice/blocks/goals/history/"),
        api.get("/api/v1/users/alice/context/"),
    ):
        assert response.status_code == 200, response.content
        assert SECRET not in response.content.decode().replace(f'"query": "{SECRET}"', "")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("propose_memory_edit", EDIT),
        ("memory_save", {"content": f"Has a {SECRET}.", "tags": [SECRET], "category": SECRET}),
        ("remember", {"content": f"Has a {SECRET}.", "tags": [SECRET], "rationale": SECRET}),
        ("an import", {}),
    ],
)
def test_the_same_call_again_is_told_what_became_of_it(
    api: Machine, goals: Block, alice: User, ask_first: None, tool: str, arguments: dict[str, Any]
) -> None:
    def send() -> Any:
        if tool != "an import":
            return api.call(tool, **arguments, idempotency_key="k")
        path, key = "/api/v1/users/alice/memories.md", {"Idempotency-Key": "k"}
        return api.http.post(path, FILE, content_type="text/markdown", headers=key)

    answered(send())
    too_private(alice)
    for _ in range(2):
        error = refused(send(), 409, "already_decided")
        assert "is rejected, by alice (too_private)" in error["text"]
        assert error["details"]["proposal"]["redacted"] is True
    assert Proposal.objects.count() == 1
    assert tables_with(SECRET) == []


def test_taking_it_back_too_late_says_nothing_of_it(call: Call, goals: Block, alice: User) -> None:
    number = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    services.reject(actor=alice, proposal_id=number, revision=1, reason="wrong")
    first = call("withdraw_proposal", proposal_id=number, idempotency_key="w")
    assert SECRET in refused(first, 409, "already_decided")["details"]["proposal"]["reasoning"]
    services.redact(actor=alice, proposal_id=number)
    again = call("withdraw_proposal", proposal_id=number, idempotency_key="w")
    assert refused(again, 409, "already_decided")["details"]["proposal"]["redacted"] is True
    assert SECRET not in again.content.decode()
    assert tables_with(SECRET) == []


def test_a_refused_attempt_that_was_answered_with_its_words_is_forgotten(call: Call, goals: Block, alice: User) -> None:
    wrong = call("propose_memory_edit", **EDIT | {"old_string": "likes  math"}, idempotency_key="1")
    assert SECRET in str(refused(wrong, 422, "old_string_not_found"))
    answered(call("propose_memory_edit", **EDIT, idempotency_key="2"))
    too_private(alice)
    assert tables_with(SECRET) == []


def test_keys_of_other_calls_keep_their_answers(call: Call, goals: Block, alice: User, issue: Issue) -> None:
    other = EDIT | {"old_string": "June", "new_string": "July", "reasoning": "Moved."}
    first = call("propose_memory_edit", **other, idempotency_key="o")
    answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    too_private(alice)
    again = Machine(issue(alice)).call("list_proposals")
    assert answered(again)["data"]["items"][0]["redacted"] is True
    assert call("propose_memory_edit", **other, idempotency_key="o").content == first.content


@pytest.mark.pure
def test_an_answer_is_kept_with_every_proposal_it_names() -> None:
    decisions = {"items": [{"proposal_id": 7}, {"proposal_id": 9, "title": '"proposal_id": 11'}], "left_out": 3}
    payload = {"ok": True, "data": {"proposal_id": 5, "decisions": decisions, "replaces": {"proposal_id": None}}}
    assert idempotency.named_proposals(payload) == {5, 7, 9}


def test_what_older_answers_name_is_found_in_the_migration(call: Call, goals: Block) -> None:
    answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    named = IdempotencyKey.proposals.through.objects
    before = list(named.values_list("idempotencykey__key", "proposal"))
    assert before == [("k", Proposal.objects.get().pk)]
    named.all().delete()
    IdempotencyKey.objects.create(
        token=AgentToken.objects.get(), key="gone", operation="0" * 32, status=200, lease_expires_at=timezone.now(),
        response='{"ok": true, "data": {"proposal_id": 999}}',
    )  # fmt: skip
    migration = import_module("agent_tools.migrations.0009_proposals_of_kept_answers")
    with connection.schema_editor() as editor:
        migration.name_proposals(apps, editor)
    assert list(named.values_list("idempotencykey__key", "proposal")) == before
