"""A row and a log line for each tool call: who, what about whom, how it ended, how long it took.

Names, sizes and outcomes only; no texts.
"""

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from agent_tools.calls.registry import Call
from agent_tools.models import AgentToken, ToolCall
from memory_app.configuration.logs import current_request_id
from memory_app.databases.prepared import insert_all
from memory_app.runtime import deadlines
from memory_app.runtime.background import Gatherer

log = structlog.get_logger(__name__)

#: Seconds a row may wait for a busy database.
_SECONDS = 20.0


@dataclass
class Audit:
    """Filled while a call is answered, written when it is."""

    tool: str = ""
    owner: str = ""
    target: str = ""
    session_id: str = ""
    request_bytes: int = 0
    began: float = field(default_factory=time.perf_counter)

    def write(self, token: AgentToken, *, outcome: str, status: int, response_bytes: int) -> None:
        """Write the row and the log line.

        A call over the rate limit is logged only: a row for each would let a loop that ignores 429 fill the database.
        The row is written a moment after the answer, together with those of other calls; a process that is killed
        before that leaves only the log line. A row that cannot be written is logged.
        """
        duration_ms = round((time.perf_counter() - self.began) * 1000, 2)
        log.info(
            "tool_call",
            agent=token.agent.name,
            token=token.prefix,
            user_id=self.owner,
            tool=self.tool,
            target=self.target,
            outcome=outcome,
            status=status,
            duration_ms=duration_ms,
        )
        if outcome == "rate_limited":
            return
        _rows.add(
            ToolCall(
                token_id=token.pk,
                agent_id=token.agent_id,
                owner=self.owner,
                tool=self.tool[:64],
                target=self.target[:64],
                session_id=self.session_id,
                outcome=outcome,
                status=status,
                duration_ms=duration_ms,
                request_bytes=self.request_bytes,
                response_bytes=response_bytes,
                request_id=current_request_id(),
            )
        )


def settle() -> None:
    """Wait until the rows of the calls that this process has answered are written."""
    _rows.settle()


def _insert(rows: list[ToolCall]) -> None:
    try:
        with deadlines.within(_SECONDS), transaction.atomic():
            insert_all(rows)
    except DatabaseError as error:
        log.error("tool_calls_not_recorded", count=len(rows), error=type(error).__name__)


_rows = Gatherer("tool calls", _insert)


def purge() -> int:
    """Delete rows older than `settings.TOOL_CALL_DAYS` (0 keeps all); return how many there were."""
    if not settings.TOOL_CALL_DAYS:
        return 0
    old = timezone.now() - timedelta(days=settings.TOOL_CALL_DAYS)
    return ToolCall.objects.filter(at__lt=old).delete()[0]


# Monitoring events of an installation: sent after an agent remembered, recalled or forgot something.
remembered = Signal()
recalled = Signal()
forgotten = Signal()

_NAMES = {id(remembered): "memory_remembered", id(recalled): "memory_recalled", id(forgotten): "memory_forgotten"}


def tell(signal: Signal, call: Call, *, began: float, session_id: str, type: str, **more: Any) -> None:
    """Log and send what happened.

    Args:
        began: `time.perf_counter()` when the call came.
    """
    about = {
        "owner": call.owner,
        "agent": call.caller.agent.name,
        "session_id": session_id,
        "type": type,
        "duration": round((time.perf_counter() - began) * 1000, 2),
        **more,
    }
    log.info(_NAMES[id(signal)], **{"user_id" if name == "owner" else name: value for name, value in about.items()})
    for receiver, outcome in signal.send_robust(sender=tell, **about):
        if isinstance(outcome, Exception):
            log.error("signal_receiver_failed", receiver=repr(receiver), exc_info=outcome)
