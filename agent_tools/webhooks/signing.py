"""Secrets and signatures of Standard Webhooks 1.0. Pure but for the randomness of a new secret."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime

PREFIX = "whsec_"
_BYTES = 32


def make_secret() -> str:
    """Return a new secret: `whsec_` and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def sign(secret: str, *, message_id: str, timestamp: int, body: str) -> str:
    """Return one signature, as `v1,<base64>`."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(secret_list: Iterable[str], *, message_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the three headers of a message, with a signature for each secret that is good now."""
    timestamp = int(at.timestamp())
    signatures = [sign(secret, message_id=message_id, timestamp=timestamp, body=body) for secret in secret_list]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
