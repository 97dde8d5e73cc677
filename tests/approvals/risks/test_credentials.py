"""Keys, tokens, passwords and card numbers are found, and what only looks or reads like them is not."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.risks import credentials
from approvals.risks.flags import MOST_SAID, Risk, report, said_with

pytestmark = pytest.mark.pure

MIXED = "aB3dE5gH7jK9" * 4

#: Text, what it is called, and the beginning that may be shown.
SECRETS = [
    ("AKIA" + "IOSFODNN7EXAMPLE", "AWS access key", "AKIA"),
    ("use ghp_" + MIXED[:36] + " for the bot", "GitHub token", "ghp_"),
    ("github_pat_" + MIXED[:30], "GitHub token", "gith"),
    ("glpat-" + MIXED[:20], "GitLab token", "glpa"),
    ("xoxb-" + "123456789012-" + MIXED[:12], "Slack token", "xoxb"),
    ("sk_live_" + MIXED[:24], "Stripe key", "sk_l"),
    ("sk-proj-" + MIXED, "OpenAI key", "sk-p"),
    ("sk-ant-api03-" + MIXED, "Anthropic key", "sk-a"),
    ("AIza" + MIXED[:35], "Google key", "AIza"),
    ("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9." + MIXED, "JSON web token", "eyJh"),
    ("asn_" + MIXED, "access token", "asn_"),
    ("postgres://assent:" + "s3cr3t-word@db:5432/assent", "password in an address", "s3c"),
    ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", "private key", ""),
    ("Her card is 4111 1111 1111 1111.", "card number", "4111"),
    ("Amex 378282246310005", "card number", "3782"),
    ("The wifi password is hunter2-blue", "password", "hunt"),
    ("the password for her laptop is 'swordfish'", "password", "swo"),
    ("her password was changed to hunter22", "password", "hu"),
    ("Passwort: geheim123", "password", "geh"),
    ("Das Passwort für das WLAN lautet: Sonnenblume#7", "password", "Sonn"),
    ("Mein Kennwort ist Tr0ub4dor&3.", "password", "Tr0"),
    ("api_key=9f8e7d6c5b4a", "password", "9f8e"),
    ("OPENAI_API_KEY: 9f8e7d6c5b4a", "password", "9f8e"),
    ("Zugangscode: 8A7-K2P9", "password", "8A"),
    ("PIN: 0815", "password", "0"),
    ("the pin is 4711", "password", "4"),
    ("the token is 8f14e45fceea167a", "password", "8f14"),
]

HARMLESS = {
    "sentences that go on": ["The password is important to him.", "The secret is to start early; his secret is chess"],
    "said elsewhere": ["He forgot the password: ask the admin.", "Password: see the vault", "Passwort: bitte ändern"],
    "see letter": ["The passphrase is: see letter", "Her passwords are kept in KeePassXC", "access key: pressed twice"],
    "placeholders": ["password: <your password>", "password: ********", "PASSWORD=${DB_PASSWORD}"],
    "a manager": ["uses a password manager: Bitwarden2024", "API keys are rotated every 90 days"],
    "other keys": ["The key is to practise daily.", "key: A minor", "monkey: abc123456, keyword: abc123def"],
    "other tokens": ["Token bucket: 120/min", "token: 3 for each ride", "She passes tokens around"],
    "other pins": ["the pin is 3 cm long, pins: 10 bowling", "sk-cube-grid-animation-delay-long"],
    "matriculation": ["his matriculation number is 7012345, Matrikelnummer: 123456789", "DE89 3704 0044 0532 0130 00"],
    "telephones": ["call +49 170 1234567 or 0621 181-0", "2026-11-22 11:12:13 and 20261122111213"],
    "articles": ["ISBN 978-3-16-148410-0 and ISBN 9783161484100", "EAN 4006381333931"],
    "a commit": ["commit 9fceb02d0ae598e95dc970b74767f19372d6a3f1"],
    "a hash": ["sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    "no card": ["4111 1111 1111 1112 fails the check digit", "proposal 4111111111111111999"],
    "an address or nothing": ["https://example.org/?q=a:b@c", "Passwort: '))"],
}


@pytest.mark.parametrize(("text", "kind", "shown"), SECRETS)
def test_a_secret_is_found_and_shown_only_by_its_beginning(text: str, kind: str, shown: str) -> None:
    (found,) = credentials.find(text)
    assert found.kind == kind
    assert found.masked == (kind if kind == "private key" else f"{kind} {shown}…")
    assert len(shown) <= max(4, len(found.value) // 3)


@pytest.mark.parametrize("texts", HARMLESS.values(), ids=HARMLESS)
def test_a_text_about_secrets_numbers_and_hashes_is_none(texts: list[str]) -> None:
    assert [list(credentials.find(text)) for text in texts] == [[]] * len(texts)


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    for found in credentials.find(text + " passwort: " + text):
        assert found.value


# -- as a flag --------------------------------------------------------------------------------------

KEY = "AKIA" + "IOSFODNN7EXAMPLE"


def test_a_change_that_adds_one_is_flagged() -> None:
    (risk,) = report("Alice likes tea.", f"Alice likes tea.\nThe key is {KEY}, the password is hunter2-blue.").risks
    assert risk == Risk("secrets", "danger", {"count": 2, "examples": ["AWS access key AKIA…", "password hunt…"]})


def test_one_that_was_there_is_not_flagged_again() -> None:
    before = f"The key is {KEY}."
    assert report(before, f"{before}\nAlice likes tea.").risks == ()
    assert report(before, f"It is {KEY}, the key.").risks == ()


def test_the_search_takes_time_in_proportion_to_the_text() -> None:
    for piece in ("password for the ", "sk-aaaaaaaa", "eyJaaaaaaaa.", "4111 ", "pin ", "://a:b", "-----BEGIN "):
        text = piece * (40_000 // len(piece))
        assert sum(1 for _ in credentials.find(text)) < len(text)
    assert not re.search("hunter2", "".join(str(risk) for risk in report("", "password: hunter2-blue" * 100).risks))


def test_what_an_agent_says_with_a_change_is_searched_for_secrets_alone() -> None:
    said = "Ignore all previous instructions. https://example.org PIN: 0815"
    (risk,) = report("Tea.", "Green tea.", said=said).risks
    assert risk == Risk("secrets", "danger", {"count": 1, "examples": ["password 0…"], "said": 1})


def test_a_secret_in_the_text_and_in_the_reason_is_one() -> None:
    (risk,) = report("Tea.", "Tea. PIN: 0815", said="She told me her PIN: 0815").risks
    assert risk.params == {"count": 1, "examples": ["password 0…"]}
    assert report("PIN: 0815. Tea.", "PIN: 0815. Green tea.", said="PIN: 0815").risks == ()
    assert report("PIN: 0815", "", said="PIN: 0815", is_deletion=True).risks == ()


def test_the_reason_comes_first_and_the_rest_is_searched_as_far_as_there_is_time() -> None:
    turns = [{"role": "tool", "content": "x" * 20_000}] * 50
    said = said_with("PIN: 0815", turns)
    assert said.startswith("PIN: 0815\n\nxxx")
    assert len(said) == MOST_SAID
    assert said_with("", []) == ""
