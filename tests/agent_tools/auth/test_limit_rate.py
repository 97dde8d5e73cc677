"""Calls per minute and token."""

from django.test import override_settings

from agent_tools.calls import execution
from agent_tools.models import ToolCall
from approvals.models import User
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Issue, Machine, MachineOf


@override_settings(RATE_LIMIT=3)
def test_the_call_after_the_last_says_when_to_try_again(
    machine: MachineOf, issue: Issue, alice: User, token: str
) -> None:
    api = machine(token)
    for _ in range(3):
        answered(api.call("list_memory_blocks"))
    response = api.call("list_memory_blocks")
    error = refused(response, 429, "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert error["details"]["retry_after"] == int(response["Retry-After"])
    answered(machine(issue(alice)).call("list_memory_blocks"))  # another token has its own count


@override_settings(RATE_LIMIT=1)
def test_calls_over_the_limit_leave_no_rows(api: Machine) -> None:
    statuses = [api.call("list_memory_blocks").status_code for _ in range(4)]
    execution.settle()
    assert statuses.count(429) >= 2  # the minute may end on the way, and another call is then answered
    assert ToolCall.objects.count() == statuses.count(200)
