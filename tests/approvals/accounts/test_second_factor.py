"""Second factors: offered to everybody, asked for at each sign-in of who has one, and required of staff."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import AuditEvent, User
from tests.approvals.accounts.conftest import PASSWORD
from tests.support.pages import form, words

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_limit_of_tests_before() -> None:
    cache.clear()


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def signed_in(username: str) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/sign-in/", {"username": username, "password": PASSWORD, "next": "/settings/"})


def set_up(client: Client) -> str:
    """Set up an app in this session; return its secret."""
    page = client.get("/settings/second-factor/totp/activate/")
    secret = re.search(r'id="authenticator_secret"[^>]* value="(\w+)"', page.content.decode())
    assert secret, words(page)
    answer = client.post("/settings/second-factor/totp/activate/", {"code": code_of(secret[1])})
    assert answer["Location"] == "/settings/second-factor/recovery-codes/"
    return secret[1]


def used_again() -> None:
    """Let a code be used once more, as if half a minute had passed."""
    cache.clear()


def test_with_an_app_a_password_alone_signs_nobody_in(alice_with_password: User) -> None:
    client, _answer = signed_in("alice")
    secret = set_up(client)
    row = Authenticator.objects.get(type="totp")
    assert secret not in str(row.data)  # encrypted where it lies
    used_again()

    client, answer = signed_in("alice")
    assert answer["Location"] == "/settings/second-factor/authenticate/"
    assert client.get("/settings/")["Location"].startswith("/sign-in/")
    wrong = client.post(answer["Location"], {"code": "000000"})
    assert "Incorrect code." in words(wrong)
    right = client.post(answer["Location"], {"code": code_of(secret)})
    assert right["Location"] == "/settings/"
    assert client.get("/settings/").status_code == 200
    said = AuditEvent.objects.filter(owner="alice").order_by("pk").values_list("what", "detail")
    assert [pair for pair in said if pair[0] != "password_set"] == [
        ("signed_in", "password"),
        ("factor_added", "totp"),
        ("factor_added", "recovery_codes"),
        ("sign_in_failed", "second factor: totp"),
        ("signed_in", "password, totp"),
    ]


def test_a_recovery_code_works_once(alice_with_password: User) -> None:
    client, _answer = signed_in("alice")
    set_up(client)
    codes = client.get("/settings/second-factor/recovery-codes/download/").content.decode().split()
    code = next(word for word in codes if re.fullmatch(r"\d{8}", word))
    for is_first in (True, False):
        client, answer = signed_in("alice")
        done = client.post(answer["Location"], {"code": code})
        assert (done.status_code == 302) is is_first


def test_codes_cannot_be_guessed(alice_with_password: User) -> None:
    client, _answer = signed_in("alice")
    secret = set_up(client)
    used_again()
    client, answer = signed_in("alice")
    for _attempt in range(6):
        said = client.post(answer["Location"], {"code": "000000"})
    assert "Too many failed login attempts" in words(said)
    assert client.post(answer["Location"], {"code": code_of(secret)}).status_code == 200
    assert AuditEvent.objects.filter(what=AuditEvent.Act.LIMITED, detail="second factor").exists()


def test_staff_are_led_to_set_one_up_before_any_page(admin: User, settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    admin.set_password(PASSWORD)
    admin.save()
    client, _answer = signed_in("admin")
    people, own = ("/", "/memory/alice/", "/settings/", "/agents/"), ("/password/", "/sign-in/with/")
    for page in (*people, *own, "/admin/", "/admin/mfa/authenticator/"):
        assert client.get(page)["Location"] == "/settings/second-factor/", page
    assert client.post("/admin/approvals/user/", {}).status_code == 302
    assert "Set up a second factor to continue." in words(client.get("/settings/second-factor/"))
    secret = set_up(client)
    assert client.get("/admin/").status_code == 200
    used_again()
    # Who removes the last one is asked for another at once.
    client.post("/settings/second-factor/totp/deactivate/")
    assert not Authenticator.objects.exists()
    assert client.get("/admin/")["Location"] == "/settings/second-factor/"
    assert secret


def test_who_opens_the_site_by_a_number_is_told_why_it_gets_no_passkey(alice_with_password: User) -> None:
    client, _answer = signed_in("alice")
    page = "/settings/second-factor/webauthn/add/"
    there = f"http://localhost:8000{page}"
    by_number, by_name = (client.get(page, headers={"Host": f"{host}:8000"}) for host in ("127.0.0.1", "localhost"))
    assert f"127.0.0.1 is a number. Open {there} instead." in words(by_number)
    assert f'href="{there}"' in by_number.content.decode()
    assert "is a number" not in words(by_name)
    german = client.get(page, headers={"Host": "127.0.0.1:8000", "Accept-Language": "de"})
    assert f"Öffne stattdessen {there}." in words(german)


def test_a_session_from_before_proves_the_factor_and_cannot_make_another_instead(admin: User, settings: Any) -> None:
    admin.set_password(PASSWORD)
    admin.save()
    before, _answer = signed_in("admin")
    client, _answer = signed_in("admin")
    secret = set_up(client)
    used_again()
    settings.SECOND_FACTOR_REQUIRED = True
    proof = "/settings/second-factor/reauthenticate/"
    for page in ("/admin/", "/settings/second-factor/webauthn/add/", "/settings/second-factor/totp/deactivate/"):
        assert before.get(page)["Location"].startswith(f"{proof}?next=")
    assert before.get("/sign-in/confirm/")["Location"].startswith(proof)
    done = before.post(f"{proof}?next=%2Fadmin%2F", {"code": code_of(secret), "next": "/admin/"})
    assert done["Location"] == "/admin/"
    assert before.get("/admin/").status_code == 200


def test_one_persons_proof_is_not_anothers(alice_with_password: User, admin: User, settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    client, _answer = signed_in("alice")
    set_up(client)
    admin.set_password(PASSWORD)
    admin.save()
    client.post("/sign-out/")
    client.post("/sign-in/", {"username": "admin", "password": PASSWORD})
    assert client.get("/admin/")["Location"] == "/settings/second-factor/"


def test_who_signed_in_a_while_ago_confirms_it_before_adding_one(alice_with_password: User) -> None:
    client, _answer = signed_in("alice")
    session = client.session
    session["account_authentication_methods"][0]["at"] -= 3600
    session.save()
    asked = client.get("/settings/second-factor/totp/activate/")
    assert asked["Location"].startswith("/sign-in/confirm/?next=")
    wrong = client.post(asked["Location"], {"password": "not it"})
    assert wrong.status_code == 200
    done = client.post(asked["Location"], {"password": PASSWORD})
    assert done["Location"] == "/settings/second-factor/totp/activate/"


def test_another_address_for_mails_is_confirmed_and_what_was_typed_is_kept(alice_with_password: User) -> None:
    User.objects.filter(username="alice").update(proved_email="alice@school.example")
    client, _answer = signed_in("alice")
    typed = form(client.get("/settings/"), "/settings/") | {"email": "mallory@evil.example", "first_name": "Al"}
    session = client.session
    session["account_authentication_methods"][0]["at"] -= 3600
    session.save()
    asked = client.post("/settings/", typed)
    assert asked["Location"].startswith("/sign-in/confirm/?next=")
    alice_with_password.refresh_from_db()
    assert (alice_with_password.email, alice_with_password.first_name) != ("mallory@evil.example", "Al")
    done = client.post(asked["Location"], {"password": PASSWORD})
    assert done["Location"] == "/settings/"
    alice_with_password.refresh_from_db()
    assert (alice_with_password.email, alice_with_password.first_name) == ("mallory@evil.example", "Al")
    assert alice_with_password.proved_email == ""


def test_an_admin_removes_the_factor_of_who_lost_their_phone(alice_with_password: User, as_admin: Client) -> None:
    client, _answer = signed_in("alice")
    set_up(client)
    listed = as_admin.get("/admin/mfa/authenticator/")
    assert "alice" in words(listed)
    row = Authenticator.objects.get(type="totp")
    page = as_admin.get(f"/admin/mfa/authenticator/{row.pk}/change/")
    assert "secret" not in page.content.decode()
    assert as_admin.post(f"/admin/mfa/authenticator/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    _client, answer = signed_in("alice")
    assert answer["Location"] == "/settings/"
    assert AuditEvent.objects.filter(what=AuditEvent.Act.FACTOR_REMOVED, owner="alice", actor="admin").exists()


def test_a_page_asks_the_databases_no_more_where_it_is_required(admin: User, settings: Any) -> None:
    admin.set_password(PASSWORD)
    admin.save()
    client, _answer = signed_in("admin")
    set_up(client)
    client.get("/agents/")
    counts = []
    for settings.SECOND_FACTOR_REQUIRED in (False, True):
        with CaptureQueriesContext(connection) as asked:
            assert client.get("/agents/").status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]
