"""Messages the server sends about decisions, verified: `unwrap`.

They follow Standard Webhooks 1.0. Its Python package is not used: verifying is twenty lines of the standard library, it
takes one secret where ours may be changing, and every user of the client would install it. A test compares both.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from assent_client.answers import STRICT, Record
from assent_client.errors import WebhookVerificationError

#: Seconds a message may be old, or from the future: two clocks differ, but a copy kept for later is refused.
TOLERANCE = 300

__all__ = ["TOLERANCE", "WebhookEvent", "unwrap"]


class WebhookEvent(Record):
    """What happened.

    Attributes:
        id: the same each time the message is sent again: what you saw already is passed over by it.
        type: such as `proposal.approved`.
        timestamp: when it happened.
        data: ids and states, never the memory's text: ask `client.proposals.get` for it.
    """

    id: str
    type: str
    timestamp: datetime
    data: dict[str, Any]


def unwrap(
    body: str | bytes, headers: Mapping[str, str], secret: str | Iterable[str], *, now: float | None = None
) -> WebhookEvent:
    """Return the event of a message that was signed with the secret.

    Args:
        body: as it was received; JSON read and written again has other bytes.
        headers: in any case.
        secret: `whsec_…`, or several while they are being changed.
        now: unix seconds; the clock otherwise.

    Raises:
        WebhookVerificationError: whatever is wrong with it. Answer 400.
    """
    raw = body.encode() if isinstance(body, str) else body
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise WebhookVerificationError(f"The header {error.args[0]} is missing.") from error
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
        raise WebhookVerificationError("webhook-timestamp is no unix time.")
    if abs((time.time() if now is None else now) - int(sent)) > TOLERANCE:
        raise WebhookVerificationError(f"The message is more than {TOLERANCE // 60} minutes old, or from the future.")
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [_sign(_key(each), id, sent, raw) for each in secrets]
    # Each is compared whole: how long a comparison takes must not tell how far it got.
    matching = [hmac.compare_digest(one.encode(), came.encode()) for one in expected for came in signatures.split(" ")]
    if not any(matching):
        raise WebhookVerificationError("No signature of the message is made with this secret.")
    try:
        event: WebhookEvent = WebhookEvent.model_validate({**json.loads(raw), "id": id}, context=STRICT)
    except (ValueError, TypeError, ValidationError) as error:
        raise WebhookVerificationError("The message is signed, but it is no event of Assent's.") from error
    return event


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise WebhookVerificationError("The secret has to be whsec_ and base64.") from error


def _sign(key: bytes, id: str, sent: str, body: bytes) -> str:
    digest = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
