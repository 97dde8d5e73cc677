"""What `manage.py check --deploy` says of an installation that people reach over https, and keys that are refused."""

import secrets
import subprocess

import pytest
from django.test import Client, override_settings

from tests.support.places import manage

pytestmark = pytest.mark.slow

KEY = secrets.token_urlsafe(48)


def check(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    given = {"ASSENT_DEBUG": "0", "ASSENT_SECRET_KEY": KEY, "ASSENT_PUBLIC_URL": "https://assent.example.org"}
    return manage("check", *arguments, **given | settings)


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
def test_a_random_key_is_taken_and_any_while_developing() -> None:
    assert check(ASSENT_SECRET_KEY=secrets.token_hex(16)).returncode == 0
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


@pytest.mark.pure
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://assent.example.org", "__Host-assent_session __Host-assent_csrf 31536000 True / None"),
        ("http://127.0.0.1:8000", "assent_session assent_csrf 0 False / None"),
    ],
)
def test_cookies_are_of_this_host_alone_over_https_and_http_is_refused_for_a_year(address: str, said: str) -> None:
    names = "SESSION_COOKIE_NAME CSRF_COOKIE_NAME SECURE_HSTS_SECONDS SESSION_COOKIE_SECURE".split()
    names += ["SESSION_COOKIE_PATH", "SESSION_COOKIE_DOMAIN"]
    script = f"from django.conf import settings; print(*(getattr(settings, name) for name in {names}))"
    given = {"ASSENT_DEBUG": "1", "ASSENT_PUBLIC_URL": address}
    assert manage("shell", "-v", "0", "-c", script, **given).stdout.strip() == said


@override_settings(SESSION_COOKIE_NAME="__Host-assent_session", CSRF_COOKIE_NAME="__Host-assent_csrf")
def test_forms_work_with_cookies_of_this_host_alone() -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.get("/sign-in/")
    assert 'data-csrf-cookie="__Host-assent_csrf"' in page.content.decode()
    token = page.cookies["__Host-assent_csrf"].value
    sent = {"username": "alice", "password": "not it"}
    assert client.post("/sign-in/", sent, headers={"X-CSRFToken": token}).status_code == 422
    assert client.post("/sign-in/", sent).status_code == 403
