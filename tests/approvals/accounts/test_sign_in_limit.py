"""Guessing passwords: how many tries there are, and that no spelling, header or flood gives more."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from tests.approvals.accounts.conftest import PASSWORD
from tests.support.pages import words

pytestmark = pytest.mark.usefixtures("alice_with_password")


def try_(name: str = "alice", password: str = "not it", *, at: str = "192.0.2.1", forwarded: str = "") -> int:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    answer = Client().post("/sign-in/", {"username": name, "password": password}, headers=headers, REMOTE_ADDR=at)
    return answer.status_code


def guess(**where: str) -> None:
    """As many wrong tries as there are."""
    assert {try_(**where) for _ in range(10)} == {422}


def test_no_spelling_of_a_name_has_tries_of_its_own_and_another_has() -> None:
    guess()
    for spelling in ("ａlice", "ALICE", " alice ", "aliⅽe", "ａＬｉce"):
        assert try_(spelling, PASSWORD) == 429
    refused = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD}, REMOTE_ADDR="192.0.2.1")
    assert refused["Retry-After"] == "900"
    assert "Too many attempts." in words(refused)
    assert try_("ben", "not it") == 422


def test_signing_in_forgets_the_failed_tries() -> None:
    for _ in range(2):
        assert {try_() for _ in range(9)} == {422}
        assert try_("alice", PASSWORD) == 302


def test_who_tries_one_password_on_everybody_is_stopped_too(settings: Any) -> None:
    settings.SIGN_IN_LIMIT = 2
    assert {try_(f"person-{number}") for number in range(20)} == {422}
    assert try_("alice", PASSWORD) == 429
    assert try_("alice", PASSWORD, at="192.0.2.2") == 302


def test_people_who_sign_in_rightly_from_one_address_are_not_counted(settings: Any) -> None:
    settings.SIGN_IN_LIMIT = 1
    assert {try_("alice", PASSWORD) for _ in range(15)} == {302}


def test_requests_that_try_nothing_are_not_counted() -> None:
    for _ in range(11):
        assert try_("alice", "") == 422
        assert try_("", "not it") == 422
    assert try_("alice", PASSWORD) == 302


def test_a_flood_of_other_entries_does_not_make_the_cache_forget_the_tries() -> None:
    guess()
    for number in range(1_000):
        cache.set(f"flood:{number}", 1)
    assert try_("alice", PASSWORD) == 429


def test_the_addresses_of_one_ipv6_network_are_one() -> None:
    guess(at="2001:db8::1")
    assert try_("alice", PASSWORD, at="2001:db8::2") == 429
    assert try_("alice", PASSWORD, at="2001:db8:0:1::1") == 302


def test_what_a_client_says_about_its_address_is_ignored() -> None:
    guess()
    assert try_("alice", PASSWORD, forwarded="192.0.2.9") == 429


def test_behind_a_trusted_proxy_everybody_has_an_address(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    guess(at="10.0.0.1", forwarded="192.0.2.1")
    assert try_("alice", PASSWORD, at="10.0.0.1", forwarded="198.51.100.7, 192.0.2.1") == 429  # the first is made up
    assert try_("alice", PASSWORD, at="10.0.0.1", forwarded="192.0.2.2") == 302


def test_behind_two_the_outer_one_knows(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 2
    guess(at="10.0.0.1", forwarded="203.0.113.5, 192.0.2.1, 10.0.0.2")
    assert try_("alice", PASSWORD, at="10.0.0.1", forwarded="203.0.113.6, 192.0.2.1, 10.0.0.2") == 429
    assert try_("alice", PASSWORD, at="10.0.0.1", forwarded="192.0.2.2, 10.0.0.2") == 302
