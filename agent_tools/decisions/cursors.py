"""The place in the order of decisions up to which a caller has read: opaque, and good for ever.

It is the id of an event. Ids are never used twice, and after a backup is restored they go on far above the last one
that was known (`approvals.recovery.heal`), so that a place from before stays one.
"""

from __future__ import annotations

import base64
import binascii
import json

#: Given in place of a cursor: from now on, where the empty text means from the start.
NOW = "now"

_NAME = "decisions"


class NoCursor(ValueError):
    """The text is no cursor of decisions."""


def after(event_id: int) -> str:
    """Return the cursor after this event."""
    packed = json.dumps([_NAME, event_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode()


def read(cursor: str) -> int:
    """Return the id of the event it stands after; 0 for the empty text.

    Raises:
        NoCursor: it is none.
    """
    if not cursor:
        return 0
    try:
        name, event_id = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise NoCursor from None
    if name != _NAME or type(event_id) is not int or not 0 <= event_id < 2**63:
        raise NoCursor
    return event_id
