"""What `manage.py check --deploy` says of an installation that people reach over https, and keys that are refused."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client, override_settings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KEY = secrets.token_urlsafe(48)


def check(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    given = {
        "ASSENT_DEBUG": "0",
        "ASSENT_SECRET_KEY": KEY,
        "ASSENT_PUBLIC_URL": "https://assent.example.org",
    } | settings
    return subprocess.run(
        [sys.executable, "manage.py", "check", *arguments],
        cwd=ROOT,
        env=os.environ | given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.pure
def test_an_installation_with_https_has_nothing_to_warn_of() -> None:
    done = check("--deploy", "--fail-level", "WARNING", ASSENT_ALLOWED_HOSTS="assent.example.org")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.pure
@pytest.mark.parametrize("key", ["abc", "only-for-development", "x" * 64, "abc" * 20, "change-me"])
def test_a_key_that_can_be_guessed_is_refused_in_one_sentence(key: str) -> None:
    done = check(ASSENT_SECRET_KEY=key)
    assert done.returncode == 1
    assert done.stderr.strip().startswith("ASSENT_SECRET_KEY can be guessed")
    assert "Traceback" not in done.stderr


@pytest.mark.pure
def test_a_random_key_is_taken() -> None:
    assert check(ASSENT_SECRET_KEY=secrets.token_hex(16)).returncode == 0


@pytest.mark.pure
def test_while_developing_any_key_will_do() -> None:
    assert check(ASSENT_SECRET_KEY="abc", ASSENT_DEBUG="1").returncode == 0


@override_settings(
    SECURE_SSL_REDIRECT=True,
    SECURE_SSL_HOST="assent.example.org",
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
)
def test_people_are_sent_to_https_and_machines_are_not() -> None:
    client = Client()
    sent = client.get("/sign-in/?next=/")
    assert (sent.status_code, sent["Location"]) == (301, "https://assent.example.org/sign-in/?next=/")
    assert client.get("/sign-in/", headers={"X-Forwarded-Proto": "https"}).status_code == 200
    assert client.get("/healthz").status_code == 200
    assert client.get("/api/v1/tools/").status_code == 401
