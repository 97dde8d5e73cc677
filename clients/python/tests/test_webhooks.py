"""Messages about decisions are taken only when they are signed, and new."""

import base64
import hashlib
import hmac

import pytest

from assent_client import WebhookVerificationError
from assent_client.webhooks import TOLERANCE, unwrap

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"another secret of 24 b.!").decode()
NOW = 1_767_605_400
BODY = b'{"type": "proposal.approved", "timestamp": "2026-01-05T09:30:00+00:00", "data": {"proposal_id": 7}}'


def signature(secret: str, id: str = "msg_1", sent: int = NOW, body: bytes = BODY) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()).decode()


def headers(**changed: str) -> dict[str, str]:
    given = {"webhook-id": "msg_1", "webhook-timestamp": str(NOW), "webhook-signature": signature(SECRET)}
    return given | {f"webhook-{name}": value for name, value in changed.items()}


def test_the_standards_own_example_is_accepted_up_to_its_body() -> None:
    """The vector of Standard Webhooks 1.0; its body is no event, so the signature alone is what it proves."""
    given = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(WebhookVerificationError, match="no event"):
        unwrap('{"test": 2432232314}', given, SECRET, now=1614265330)
    with pytest.raises(WebhookVerificationError, match="No signature"):
        unwrap('{"test": 2432232315}', given, SECRET, now=1614265330)


@pytest.mark.parametrize("body", [BODY, BODY.decode()])
def test_a_signed_message_is_an_event(body: str | bytes) -> None:
    event = unwrap(body, headers(), SECRET, now=NOW)
    assert (event.id, event.type, event.data) == ("msg_1", "proposal.approved", {"proposal_id": 7})
    assert event.timestamp.isoformat() == "2026-01-05T09:30:00+00:00"
    in_any_case = {name.title(): value for name, value in headers().items()}
    assert unwrap(body, in_any_case, SECRET, now=NOW) == event


def test_while_a_secret_is_changed_one_of_several_signatures_or_secrets_is_enough() -> None:
    several = f"v1,bm9wZQ== {signature(OTHER)} v2,later"
    assert unwrap(BODY, headers(signature=several), OTHER, now=NOW).id == "msg_1"
    assert unwrap(BODY, headers(), [OTHER, SECRET], now=NOW).id == "msg_1"


@pytest.mark.parametrize("age", [-TOLERANCE, 0, TOLERANCE])
def test_clocks_may_differ_by_five_minutes(age: int) -> None:
    assert unwrap(BODY, headers(), SECRET, now=NOW + age).id == "msg_1"


@pytest.mark.parametrize(
    ("changed", "now", "says"),
    [
        ({"signature": signature(OTHER)}, NOW, "No signature"),
        ({"signature": signature(SECRET).removeprefix("v1,")}, NOW, "No signature"),
        ({"signature": ""}, NOW, "No signature"),
        ({"signature": "v1,ü"}, NOW, "No signature"),
        ({"id": "msg_2"}, NOW, "No signature"),
        ({"timestamp": str(NOW + 1)}, NOW, "No signature"),
        ({}, NOW + TOLERANCE + 1, "minutes old"),
        ({}, NOW - TOLERANCE - 1, "minutes old"),
        ({"timestamp": "yesterday"}, NOW, "unix time"),
        ({"timestamp": "9" * 500}, NOW, "unix time"),
    ],
)
def test_anything_else_is_refused(changed: dict[str, str], now: int, says: str) -> None:
    with pytest.raises(WebhookVerificationError, match=says):
        unwrap(BODY, headers(**changed), SECRET, now=now)


@pytest.mark.parametrize("name", ["id", "timestamp", "signature"])
def test_a_missing_header_is_named(name: str) -> None:
    given = headers()
    del given[f"webhook-{name}"]
    with pytest.raises(WebhookVerificationError, match=f"webhook-{name} is missing"):
        unwrap(BODY, given, SECRET, now=NOW)


@pytest.mark.parametrize("body", [b"[]", b"{", b"null", b'{"type": 3}', b"\xff", b'{"type": "a", "data": {}}'])
def test_a_signed_message_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(WebhookVerificationError, match="no event"):
        unwrap(body, headers(signature=signature(SECRET, body=body)), SECRET, now=NOW)


@pytest.mark.parametrize("secret", ["whsec_not base64!", "whsec_é"])
def test_a_secret_that_is_none_is_said(secret: str) -> None:
    with pytest.raises(WebhookVerificationError, match="secret has to be"):
        unwrap(BODY, headers(), secret, now=NOW)
