"""Celery tasks of the agent API. Each may come twice without harm."""

from typing import Any

from celery import shared_task, signals

from agent_tools.calls import execution, idempotency
from agent_tools.console import connections
from agent_tools.tools import block_reads
from agent_tools.webhooks import deliveries, sending


@shared_task(name="agent_tools.purge_tool_calls")
def purge_tool_calls() -> int:
    """Delete the rows about tool calls after `settings.TOOL_CALL_DAYS`, and those about reads that count no more."""
    return execution.purge() + block_reads.purge()


@shared_task(name="agent_tools.purge")
def purge() -> int:
    return idempotency.purge() + connections.purge()


purge_webhook_deliveries = shared_task(name="agent_tools.purge_webhook_deliveries")(deliveries.purge)
send_webhooks = shared_task(name=sending.TASK)(sending.run)


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def _end_sending(**kwargs: Any) -> None:
    # The tasks of a worker have ended then, not the threads they began.
    sending.stop()
