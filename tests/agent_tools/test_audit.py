"""A row and a log line for each call: names, sizes, outcomes, and no texts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from agent_tools.models import IdempotencyKey, ToolCall
from agent_tools.tasks import purge_tool_calls
from memory_app.management.commands.serve import forget_what_is_old
from memory_app.models import Message
from tests.agent_tools.checks import answered, refused

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


def test_a_call_leaves_a_row(api: Any, goals: Any) -> None:
    response = api.post("/api/v1/tools/propose_memory_edit/", EDIT | {"session_id": "s-1"}, **{"X-Request-ID": "run-1"})
    answered(response)
    row = ToolCall.objects.get()
    assert (row.tool, row.outcome, row.status) == ("propose_memory_edit", "ok", 200)
    assert (row.agent.name, row.owner, row.target, row.session_id) == ("scribe", "alice", "goals", "s-1")
    assert (row.request_id, row.response_bytes) == ("run-1", len(response.content))
    assert row.request_bytes > 100
    assert row.duration_ms > 0


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome"),
    [
        ("propose_memory_edit", EDIT | {"old_string": "hates"}, "old_string_not_found"),
        ("propose_memory_edit", EDIT | {"nonsense": 1}, "invalid_arguments"),
        ("read_memory_block", {"block_label": "nothing"}, "block_not_found"),
        ("list_memory_blocks", {"user_id": "ben"}, "owner_not_granted"),
    ],
)
def test_a_refused_call_leaves_one_too(call: Any, goals: Any, tool: str, arguments: Any, outcome: str) -> None:
    status = call(tool, **arguments).status_code
    row = ToolCall.objects.get()
    assert (row.tool, row.outcome, row.status) == (tool, outcome, status)


def test_an_unknown_tool_is_counted_without_its_name(call: Any) -> None:
    refused(call("x" * 500), 404, "unknown_tool")
    assert ToolCall.objects.get().tool == "unknown"


def test_addresses_are_audited_like_tools(api: Any, goals: Any) -> None:
    api.get("/api/v1/users/alice/blocks/goals/")
    api.get("/api/v1/users/alice/blocks/goals/history/")
    api.post("/api/v1/users/alice/blocks/goals/propose/", "{")
    rows = [(row.tool, row.outcome) for row in ToolCall.objects.order_by("id")]
    assert rows == [("read_memory_block", "ok"), ("block_history", "ok"), ("block_propose", "invalid_json")]


def test_the_owner_of_a_proposal_is_noted_without_a_user_id(call: Any, goals: Any, propose: Any) -> None:
    call("get_proposal", proposal_id=propose(goals, "likes", "loves").pk)
    assert ToolCall.objects.get().owner == "alice"


def test_rows_and_logs_hold_no_texts(call: Any, goals: Any) -> None:
    with structlog.testing.capture_logs() as logged:
        call("propose_memory_edit", **EDIT)
        call("propose_memory_edit", **(EDIT | {"old_string": "hates math"}))
        call("read_memory_block", block_label="goals")
    kept = str(list(ToolCall.objects.values())) + str(logged)
    for text in ("likes math", "loves math", "hates math", "She said so", "B2 exam"):
        assert text not in kept


def test_rows_are_deleted_after_their_time(call: Any, alice: Any) -> None:
    call("list_memory_blocks")
    call("recall")
    old = timezone.now() - timedelta(days=settings.TOOL_CALL_DAYS, minutes=1)
    ToolCall.objects.filter(tool="recall").update(at=old)
    with override_settings(TOOL_CALL_DAYS=0):
        assert purge_tool_calls() == 0
    assert purge_tool_calls() == 1
    assert ToolCall.objects.get().tool == "list_memory_blocks"
    assert "agent_tools.purge_tool_calls" in {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}


def test_where_no_beat_runs_a_start_deletes_them(api: Any, call: Any, alice: Any) -> None:
    call("memory_save", content="She sails.", idempotency_key="k")
    message = {"messages": [{"role": "user", "content": "Hello."}]}
    answered(api.post("/api/v1/users/alice/conversations/s/messages/", message))
    forget_what_is_old()
    assert ToolCall.objects.count() == 2
    long_ago = timezone.now() - timedelta(days=400)
    ToolCall.objects.update(at=long_ago)
    IdempotencyKey.objects.update(created_at=long_ago)
    Message.objects.update(received_at=long_ago)
    forget_what_is_old()
    for kept in (ToolCall, IdempotencyKey, Message):
        assert not kept.objects.exists()


def test_a_proposal_is_logged_by_the_plans_name(call: Any, goals: Any) -> None:
    with structlog.testing.capture_logs() as logged:
        data = answered(call("propose_memory_edit", **EDIT))["data"]
    event = next(entry for entry in logged if entry["event"] == "memory_edit_proposed")
    assert event["user_id"] == "alice"
    assert event["block_label"] == "goals"
    assert event["branch_name"] == data["branch"]
    assert event["occurrences_replaced"] == 1
