"""People sign in, stay themselves, and lose nothing they typed."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import User
from memory_app.reads import Block
from tests.approvals.accounts.conftest import PASSWORD
from tests.support.fixtures import Propose
from tests.support.pages import form, words

#: Where the sign-in form goes that brings along what was typed before.
GO_ON = "/sign-in/and-go-on/"


def sign_in(client: Client, username: str, password: str, **more: str) -> Any:
    return client.post("/sign-in/", {"username": username, "password": password, **more})


@pytest.mark.slow
def test_a_person_signs_in_and_comes_to_the_page_they_wanted(client: Client, alice_with_password: User) -> None:
    asked = client.get("/?tab=decided")
    assert asked.status_code == 302
    page = client.get(asked["Location"])
    answer = client.post("/sign-in/", form(page, "/sign-in/") | {"username": "alice", "password": PASSWORD})
    assert answer["Location"] == "/?tab=decided"


@pytest.mark.slow
def test_it_is_not_said_whether_the_name_or_the_password_was_wrong(client: Client, alice_with_password: User) -> None:
    wrong_password = sign_in(client, "alice", "not it")
    unknown_name = sign_in(client, "alicia", "not it")
    assert wrong_password.status_code == unknown_name.status_code == 422
    said = "Username or password is wrong."
    assert said in words(wrong_password)
    assert said in words(unknown_name)
    assert _focused(client.get("/sign-in/")) == ["username"]
    assert _focused(wrong_password) == ["password"]


def _focused(response: Any) -> list[str]:
    return re.findall(r'<input type="\w+" name="(\w+)"[^>]* autofocus', response.content.decode())


def test_signing_in_never_leads_to_somebody_elses_site(client: Client, alice_with_password: User) -> None:
    answer = sign_in(client, "alice", PASSWORD, next="https://evil.example/")
    assert answer["Location"] == "/"


def test_signing_out_is_a_post_and_ends_the_session(as_alice: Client) -> None:
    assert as_alice.get("/sign-out/").status_code == 405
    assert as_alice.post("/sign-out/").status_code == 302
    assert as_alice.get("/").status_code == 302


def test_a_part_asked_for_after_the_session_ran_out_says_so_in_place(client: Client, alice: User) -> None:
    answer = client.get("/?since=1-1", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/?q=b2"})
    assert answer.status_code == 401
    assert "You were signed out." in words(answer)
    assert "<html" not in answer.content.decode()
    assert "/sign-in/?next=%2F%3Fq%3Db2" in answer.content.decode()


@pytest.mark.parametrize("url", ["http://[bad", "//", "javascript:alert(1)", "http://testserver.evil.example/"])
def test_nor_does_a_made_up_address_of_the_page_lead_anywhere(url: str, client: Client) -> None:
    answer = client.get("/", headers={"HX-Request": "true", "HX-Current-URL": url})
    assert answer.status_code == 401
    assert "/sign-in/?next=%2F" in answer.content.decode()
    assert "evil" not in answer.content.decode()


@pytest.mark.slow
@pytest.mark.parametrize("htmx", [False, True])
def test_what_was_typed_survives_signing_in_again_with_a_wrong_password_in_between(
    htmx: bool, client: Client, alice_with_password: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "likes math", "loves math")
    typed = {"revision": "1", "seen_sha256": goals.sha256, "reason": "wrong", "comment": "She said <likes>."}
    headers = {"HX-Request": "true"} if htmx else {}
    asked = client.post(reverse("reject", args=[proposal.pk]), typed, headers=headers)
    assert asked.status_code == 401
    assert ("<html" in asked.content.decode()) is not htmx

    who = {"username": "alice", "password": PASSWORD}
    wrong = client.post(GO_ON, form(asked, GO_ON) | who | {"password": "not it"})
    answer = client.post(GO_ON, form(wrong, GO_ON) | who)
    assert answer["Location"] == f"/proposals/{proposal.pk}/"

    page = client.get(answer["Location"])
    assert "Your text is still here." in words(page)
    fields = form(page, reverse("reject", args=[proposal.pk]))
    assert (fields["reason"], fields["comment"]) == ("wrong", "She said <likes>.")
    again = client.get(answer["Location"])
    assert form(again, reverse("reject", args=[proposal.pk]))["comment"] == ""


def test_a_kept_form_somebody_made_up_is_ignored(client: Client, alice_with_password: User) -> None:
    answer = sign_in(client, "alice", PASSWORD, kept="eyJwYWdlIjoiLyJ9:1tabcd:forged")
    assert answer.status_code == 302
    assert "kept_form" not in client.session


@pytest.mark.slow
def test_a_person_changes_their_password(client: Client, alice_with_password: User) -> None:
    client.force_login(alice_with_password)
    answer = client.post(
        "/password/",
        {"old_password": PASSWORD, "new_password1": "correct horse battery", "new_password2": "correct horse battery"},
    )
    assert answer.status_code == 302
    assert "Your password is changed" in words(client.get(answer["Location"]))
    assert sign_in(Client(), "alice", "correct horse battery").status_code == 302


def test_a_form_that_is_out_of_date_gives_the_typed_text_back(alice: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves math")
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    answer = client.post(reverse("reject", args=[proposal.pk]), {"comment": "Not like this."})
    assert answer.status_code == 403
    assert "The form was out of date" in words(answer)
    assert "Not like this." in words(answer)


@pytest.mark.parametrize("is_debugging", [False, True])
def test_a_page_that_is_not_there_says_so_in_our_words(as_alice: Client, settings: Any, is_debugging: bool) -> None:
    settings.DEBUG = is_debugging
    answer = as_alice.get("/nothing/here/")
    assert answer.status_code == 404
    assert "Page not found" in words(answer)
    assert "URLconf" not in answer.content.decode()


def test_the_icon_browsers_ask_for_unasked_is_there(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 200
    assert b"".join(answer)[:4] == b"\x00\x00\x01\x00"


@pytest.mark.slow
def test_the_first_sign_in_takes_the_browsers_time_zone_and_later_ones_leave_it(
    client: Client, alice_with_password: User
) -> None:
    for odd in ("", "Mars/Olympus", "../etc", "posixrules"):
        sign_in(Client(), "alice", PASSWORD, time_zone=odd)
        alice_with_password.refresh_from_db()
        assert (alice_with_password.time_zone, odd) == ("UTC", odd)
        User.objects.filter(pk=alice_with_password.pk).update(last_login=None)

    sign_in(client, "alice", PASSWORD, time_zone="Asia/Tokyo")
    alice_with_password.refresh_from_db()
    assert alice_with_password.time_zone == "Asia/Tokyo"

    alice_with_password.time_zone = "UTC"
    alice_with_password.save()
    sign_in(Client(), "alice", PASSWORD, time_zone="America/Lima")
    alice_with_password.refresh_from_db()
    assert alice_with_password.time_zone == "UTC"
