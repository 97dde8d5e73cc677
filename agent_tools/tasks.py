"""Celery tasks of the agent API. Each may come twice without harm."""

from celery import shared_task

from agent_tools.calls import audit, idempotency


@shared_task(name="agent_tools.purge")
def purge() -> int:
    """Forget idempotency keys, and the answers kept with them, after `settings.IDEMPOTENCY_HOURS`."""
    return idempotency.purge()


@shared_task(name="agent_tools.purge_tool_calls")
def purge_tool_calls() -> int:
    """Delete the rows about tool calls after `settings.TOOL_CALL_DAYS`."""
    return audit.purge()
