"""A row and a log line for each call: names, sizes, outcomes, and no texts."""

import os
import subprocess
import sys
import textwrap
from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from agent_tools.calls import execution
from agent_tools.models import IdempotencyKey, ToolCall
from approvals.models import User
from memory_app.celery import app, load_tasks
from memory_app.models import Message
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.end_to_end.test_away import gone
from tests.support.fixtures import Propose

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


def only_row() -> ToolCall:
    """The row of the only call so far; rows are written a moment after the answer."""
    execution.settle()
    return ToolCall.objects.get()


def test_a_call_leaves_a_row(api: Machine, goals: Block) -> None:
    response = api.post("/api/v1/tools/propose_memory_edit/", EDIT | {"session_id": "s-1"}, **{"X-Request-ID": "run-1"})
    answered(response)
    row = only_row()
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
        ("x" * 500, {}, "unknown_tool"),
    ],
)
def test_a_refused_call_leaves_one_too(call: Call, goals: Block, tool: str, arguments: Any, outcome: str) -> None:
    status = call(tool, **arguments).status_code
    row = only_row()
    counted = "unknown" if outcome == "unknown_tool" else tool
    assert (row.tool, row.outcome, row.status) == (counted, outcome, status)


def test_addresses_are_audited_like_tools(api: Machine, goals: Block) -> None:
    api.get("/api/v1/users/alice/blocks/goals/")
    api.get("/api/v1/users/alice/blocks/goals/history/")
    api.post("/api/v1/users/alice/blocks/goals/propose/", "{")
    execution.settle()
    rows = [(row.tool, row.outcome) for row in ToolCall.objects.order_by("id")]
    assert rows == [("read_memory_block", "ok"), ("block_history", "ok"), ("block_propose", "invalid_json")]


def test_the_owner_of_a_proposal_is_noted_without_a_user_id(call: Call, goals: Block, propose: Propose) -> None:
    call("get_proposal", proposal_id=propose(goals, "likes", "loves").pk)
    assert only_row().owner == "alice"


def test_rows_and_logs_hold_no_texts(call: Call, goals: Block) -> None:
    with structlog.testing.capture_logs() as logged:
        call("propose_memory_edit", **EDIT)
        call("propose_memory_edit", **(EDIT | {"old_string": "hates math"}))
        call("read_memory_block", block_label="goals")
    execution.settle()
    kept = str(list(ToolCall.objects.values())) + str(logged)
    for text in ("likes math", "loves math", "hates math", "She said so", "B2 exam"):
        assert text not in kept


def purge_expired() -> None:
    load_tasks()
    for name in settings.WITHOUT_BEAT:
        if name.startswith("purge"):
            app.tasks[settings.CELERY_BEAT_SCHEDULE[name]["task"]]()


def test_rows_are_deleted_after_their_time_where_no_beat_runs_by_a_process(api: Machine, alice: User) -> None:
    assert "agent_tools.purge_tool_calls" in {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
    api.call("memory_save", content="She sails.", idempotency_key="k")
    message = {"messages": [{"role": "user", "content": "Hello."}]}
    answered(api.post("/api/v1/users/alice/conversations/s/messages/", message))
    execution.settle()
    old = timezone.now() - timedelta(days=settings.TOOL_CALL_DAYS, minutes=1)
    ToolCall.objects.filter(tool="memory_save").update(at=old)
    with override_settings(TOOL_CALL_DAYS=0):
        purge_expired()
    assert ToolCall.objects.count() == 2
    purge_expired()
    assert only_row().tool == "message_keep"
    long_ago = timezone.now() - timedelta(days=400)
    ToolCall.objects.update(at=long_ago)
    IdempotencyKey.objects.update(created_at=long_ago)
    Message.objects.update(received_at=long_ago)
    purge_expired()
    for kept in (ToolCall, IdempotencyKey, Message):
        assert not kept.objects.exists()


def test_a_proposal_is_logged_by_the_plans_name(call: Call, goals: Block) -> None:
    with structlog.testing.capture_logs() as logged:
        data = answered(call("propose_memory_edit", **EDIT))["data"]
    event = next(entry for entry in logged if entry["event"] == "memory_edit_proposed")
    assert event["user_id"] == "alice"
    assert event["block_label"] == "goals"
    assert event["branch_name"] == data["branch"]
    assert event["occurrences_replaced"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_memory_blocks", {}),
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_edit", EDIT),
    ],
)
def test_a_failure_of_ours_is_logged_under_the_tools_name_without_a_text(
    call: Call, goals: Block, caplog: pytest.LogCaptureFixture, tool: str, arguments: dict[str, str]
) -> None:
    refused(call("read_memory_block", block_label="nothing"), 404, "block_not_found")  # no failure of ours
    with gone("memory"):
        refused(call(tool, **arguments), 503, "engine_unavailable")
    (said,) = [each.msg for each in caplog.records if f"{tool}_error" in str(each.msg)]
    assert {name: said[name] for name in ("event", "user_id", "block_label")} == {
        "event": f"{tool}_error",
        "user_id": "alice",
        "block_label": arguments.get("block_label", ""),
    }
    assert said["error"].isidentifier()
    assert "loves math" not in str(said)


@pytest.mark.slow
def test_rows_that_wait_are_written_when_the_process_ends(token: str, alice: User) -> None:
    """As a server that is stopped in order does; in a process of its own, which ends at once after the answer."""
    connections.close_all()
    program = f"""
    import django
    django.setup()
    from django.test import Client
    answer = Client(SERVER_NAME="127.0.0.1").post(
        "/api/v1/tools/list_memory_blocks/",
        {{"user_id": "alice"}},
        content_type="application/json",
        headers={{"Authorization": "Bearer {token}"}},
    )
    assert answer.status_code == 200, answer.content
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"},
        check=True,
    )
    assert ToolCall.objects.get().tool == "list_memory_blocks"
