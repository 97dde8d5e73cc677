"""Monitoring events of an installation: Django signals after an agent remembered, recalled or forgot something.

Receivers are the installation's own; no module of Assent connects to them. A receiver that fails is logged and changes
nothing. Each is sent with `owner` and `agent` (names), `session_id` (or empty), `type` (of the note; for
recall the filter), `duration` (milliseconds) and:

- `remembered`, `forgotten`: `note_id`, `status` (`applied`, or `open` while it waits for a person)
- `recalled`: `count`, how many notes were given; what was asked for, without the text: `has_query`, `min_confidence`,
  `limit`, `match`, `scope`, `include_superseded`
"""

from __future__ import annotations

import time
from typing import Any

import structlog
from django.dispatch import Signal

from agent_tools.calls.api_operation import Call

log = structlog.get_logger(__name__)

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
