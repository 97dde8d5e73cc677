"""What is done by the clock: by Celery's beat, and where there is none, some of it by `runtime.periodic`."""

from __future__ import annotations

from typing import Any

#: Name → task and seconds between two runs.
BEAT: dict[str, dict[str, Any]] = {
    "recover": {"task": "approvals.recover", "schedule": 30.0},
    "expire": {"task": "approvals.expire", "schedule": 3600.0},
    "remind": {"task": "approvals.remind", "schedule": 600.0},
    # A run that comes late finds nothing that the next one does not.
    "send digests": {"task": "approvals.send_digests", "schedule": 20.0, "options": {"expires": 20}},
    # What a decision leads to is found there; a run takes milliseconds, since threads do the sending.
    "send webhooks": {"task": "agent_tools.send_webhooks", "schedule": 5.0, "options": {"expires": 5}},
    "reindex what was left behind": {"task": "memory_app.reindex_all", "schedule": 60.0},
    "collect garbage": {"task": "memory_app.gc", "schedule": 86400.0},
    "purge conversations": {"task": "memory_app.purge_conversations", "schedule": 86400.0},
    "purge idempotency keys": {"task": "agent_tools.purge", "schedule": 3600.0},
    "purge webhook deliveries": {"task": "agent_tools.purge_webhook_deliveries", "schedule": 86400.0},
    "purge tool calls": {"task": "agent_tools.purge_tool_calls", "schedule": 86400.0},
}

#: What of it upkeep does where there is no beat. The rest is done there when somebody reads or writes.
WITHOUT_BEAT = ("expire", "remind", "send webhooks", "purge webhook deliveries", "send digests")
