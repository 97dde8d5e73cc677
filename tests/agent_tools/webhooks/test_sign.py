"""Messages are signed as Standard Webhooks 1.0 says."""

import base64
import os
import runpy
import subprocess
from datetime import UTC, datetime
from http.server import HTTPServer
from pathlib import Path

import httpx2
import pytest

from agent_tools.webhooks import signing
from tests.docs.documents import ROOT, documents
from tests.support.receiver import at_work

pytestmark = pytest.mark.pure


def test_a_signature_is_that_of_the_specification() -> None:
    """Its example, whose signature every library of the specification's own tests."""
    signature = signing.sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body='{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_are_random_and_as_long_as_the_specification_asks() -> None:
    made = {signing.make_secret() for _ in range(50)}
    assert len(made) == 50
    for secret in made:
        assert secret.startswith("whsec_")
        assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) <= 64


def test_each_secret_that_is_good_signs_the_newest_first() -> None:
    old, new = signing.make_secret(), signing.make_secret()
    at = datetime(2026, 3, 1, tzinfo=UTC)
    found = signing.headers([new, old], message_id="msg_1", at=at, body="{}")
    stamp = int(at.timestamp())
    assert found == {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(stamp),
        "webhook-signature": " ".join(
            signing.sign(each, message_id="msg_1", timestamp=stamp, body="{}") for each in (new, old)
        ),
    }


def test_the_shell_commands_of_the_documents_sign_as_we_do(tmp_path: Path) -> None:
    (document,) = (each for each in documents() if each.name == "docs/webhooks.md")
    command = next(fence for fence in document.fences("sh") if "openssl" in fence)
    secret, body = signing.make_secret(), '{"type":"proposal.approved","data":{"agent":"scribe"}}'
    ours = signing.sign(secret, message_id="msg_1", timestamp=1_795_463_773, body=body)
    variables = {"SECRET": secret, "ID": "msg_1", "TIMESTAMP": "1795463773", "BODY": body}
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | variables, check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert f"v1,{done.stdout.strip()}" == ours


def test_the_receiver_of_the_documents_takes_each_message_once_and_refuses_a_forged_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defined = runpy.run_path(str(ROOT / "examples" / "webhook_receiver.py"))
    secret, body = (
        signing.make_secret(),
        ('{"type":"webhook.test","timestamp":"2026-11-23T19:56:11.021Z","data":{"agent":"scribe"}}'),
    )
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    good = signing.headers([secret], message_id="msg_1", at=datetime.now(UTC), body=body)
    forged = signing.headers([signing.make_secret()], message_id="msg_2", at=datetime.now(UTC), body=body)
    with HTTPServer(("127.0.0.1", 0), defined["Receiver"]) as server, at_work(server):
        url = f"http://127.0.0.1:{server.server_port}/"
        answers = [httpx2.post(url, content=body, headers=headers).status_code for headers in (good, good, forged)]
    assert answers == [204, 204, 400]
    assert capsys.readouterr().out == "webhook.test {'agent': 'scribe'}\n"
