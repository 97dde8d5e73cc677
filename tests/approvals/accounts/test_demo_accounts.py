"""The sign-in page names the demo's accounts while there are any, and never on a site that serves others."""

import stat
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from approvals.accounts import sign_in
from approvals.models import User
from tests.support.pages import words

HERE = {"host": "127.0.0.1:8000"}
NAMED = "Each has the password demo."


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> Any:
    """The settings of a site with alice and tim as its demo's people."""
    settings.DEBUG = True
    settings.DATA_DIR = tmp_path
    password = sign_in.write("demo", {"alice": "student, owns her memory", "tim": "tutor of alice"})
    for username in ("alice", "tim"):
        User.objects.create(username=username, password=password)
    return settings


def shown(client: Client, **headers: str) -> str:
    return words(client.get("/sign-in/", headers=HERE | headers))


@pytest.mark.slow
def test_the_sign_in_page_names_them_with_password_and_purpose(client: Client, site: Any) -> None:
    refused = client.post("/sign-in/", {"username": "tim", "password": "no"}, headers=HERE)
    assert refused.status_code == 422
    for page in (shown(client), words(refused)):
        assert NAMED in page
        assert "alice student, owns her memory" in page
        assert "tim tutor of alice" in page
    assert client.login(username="tim", password="demo")


@pytest.mark.slow
def test_they_are_named_at_addresses_of_this_machine_and_of_no_site_that_others_reach(
    client: Client, site: Any
) -> None:
    for host in ("localhost:8000", "[::1]:8000"):
        assert NAMED in shown(client, host=host)
    site.ALLOWED_HOSTS = ["assent.example"]
    assert "demo" not in shown(client, host="assent.example").lower()
    site.ALLOWED_HOSTS = ["*"]
    site.DEBUG = False
    assert "demo" not in shown(client).lower()


@pytest.mark.slow
def test_who_changed_their_password_or_is_gone_is_not_named(client: Client, site: Any) -> None:
    alice = User.objects.get(username="alice")
    alice.set_password("one of her own")
    alice.save()
    page = shown(client)
    assert "alice student" not in page
    assert "tim tutor of alice" in page

    User.objects.filter(username="tim").update(is_active=False)
    assert NAMED not in shown(client)


def test_a_site_without_the_demo_names_nobody(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.DEBUG = True
    settings.DATA_DIR = tmp_path
    assert "demo" not in shown(client).lower()


@pytest.mark.slow
def test_a_second_run_of_the_demo_keeps_the_hash_and_the_file_is_for_its_user_only(site: Any, tmp_path: Path) -> None:
    password = User.objects.get(username="tim").password
    assert sign_in.write("demo", {"tim": "tutor of alice"}) == password
    (kept,) = tmp_path.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) & 0o077 == 0
