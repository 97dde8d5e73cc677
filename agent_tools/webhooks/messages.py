"""What a message says: ids and states, never text of the memory.

The label of a block counts as text, since a person or an agent chose its words; so do titles, reasons and comments. A
receiver that may read them asks for the proposal at `api_url` with its token.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from agent_tools.models import EventType
from approvals.models import Event, Status
from memory_app.models import TargetKind

_What = Event.What

#: Events of a proposal's history that are told, as what. What the agent did itself is told to nobody, and neither is
#: an automatic change: the agent's own call was answered with that.
TOLD: dict[str, EventType] = {
    _What.APPROVED: EventType.APPROVED,
    _What.REJECTED: EventType.REJECTED,
    _What.CHANGES_REQUESTED: EventType.CHANGES_REQUESTED,
    _What.EXPIRED: EventType.EXPIRED,
    _What.REOPENED: EventType.REOPENED,
    _What.REVERTED: EventType.REVERTED,
    _What.COMMENTED: EventType.COMMENTED,
}

#: The state a proposal has with such an event; of others, the one it has when the message is made.
_STATUS = {
    EventType.APPROVED: Status.APPROVED,
    EventType.REJECTED: Status.REJECTED,
    EventType.CHANGES_REQUESTED: Status.CHANGES_REQUESTED,
    EventType.EXPIRED: Status.EXPIRED,
    EventType.REOPENED: Status.OPEN,
}

#: The columns of an event and its proposal that `of_event` reads.
READ = (
    "id",
    "what",
    "owner",
    "at",
    "actor_kind",
    "revision",
    "proposal_id",
    "proposal__agent_id",
    "proposal__agent__name",
    "proposal__status",
    "proposal__approval",
    "proposal__decision_reason",
    "proposal__target_kind",
    "proposal__target",
)


def new_id() -> str:
    return f"msg_{uuid.uuid4().hex}"


def of_event(row: dict[str, Any]) -> str:
    """Return the body about one event.

    Args:
        row: the `READ` columns.
    """
    told = TOLD[row["what"]]
    proposal = row["proposal_id"]
    is_note = row["proposal__target_kind"] == TargetKind.NOTE
    return _body(
        told,
        row["at"],
        {
            "proposal_id": proposal,
            "user_id": row["owner"],
            "agent": row["proposal__agent__name"],
            "status": _STATUS.get(told, row["proposal__status"]),
            "approval": (row["proposal__approval"] or None) if told == EventType.APPROVED else None,
            "reason": (row["proposal__decision_reason"] or None) if told == EventType.REJECTED else None,
            "revision": row["revision"],
            "target_kind": row["proposal__target_kind"],
            "note_id": row["proposal__target"] if is_note else None,
            "decided_by": row["actor_kind"],
            "decided_at": _time(row["at"]),
            "review_url": settings.PUBLIC_URL + reverse("proposal", args=[proposal]),
            "api_url": settings.PUBLIC_URL + reverse("api_proposal", args=[proposal]),
        },
    )


def of_test(agent: str, at: datetime) -> str:
    return _body(EventType.TEST, at, {"agent": agent})


def _body(told: EventType, at: datetime, data: dict[str, Any]) -> str:
    return json.dumps({"type": told.value, "timestamp": _time(at), "data": data}, separators=(",", ":"))


def _time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
