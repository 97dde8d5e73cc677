"""Which language a page, a mail and an answer to an agent is in, and what stays English for everybody."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone, translation

from approvals import language
from approvals.models import AuditEvent, User
from approvals.templatetags.assent import age, when
from tests.support.fixtures import ClientOf, MakeBlock

GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9,en;q=0.8"}


def lang_of(response: Any) -> str:
    """What `<html lang>` of a page says."""
    return str(response.content.decode().partition('<html lang="')[2].partition('"')[0])


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,de;q=0.4", "de"),
        ("en-GB,de;q=0.5", "en"),
        ("fr", "en"),
        ("", "en"),
        ("*;q", "en"),
    ],
)
def test_a_page_is_in_the_first_language_of_the_browser_that_there_is(
    client: Client, asked: str, answered: str
) -> None:
    assert lang_of(client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE=asked)) == answered


def test_the_site_has_a_language_for_browsers_that_ask_for_none_of_them(client: Client, settings: Any) -> None:
    settings.SITE_LANGUAGE = "de"
    assert lang_of(client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE="fr")) == "de"
    assert lang_of(client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE="en")) == "en"


def test_a_person_chooses_a_language_that_goes_before_the_browsers(client_of: ClientOf, alice: User) -> None:
    client = client_of(alice)
    fields = {"email": "alice@example.org", "mail": "daily", "time_zone": "UTC"}
    saved = client.post("/settings/", {**fields, "language": "de"}, follow=True)
    assert lang_of(saved) == "de"
    assert lang_of(client.get("/", HTTP_ACCEPT_LANGUAGE="en")) == "de"
    client.post("/settings/", {**fields, "language": ""})
    assert lang_of(client.get("/", HTTP_ACCEPT_LANGUAGE="en")) == "en"
    assert lang_of(client.get("/", **GERMAN)) == "de"
    assert client.post("/settings/", {**fields, "language": "xx"}).status_code == 422


def test_a_language_that_went_is_the_browsers_again(client_of: ClientOf, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(language="fr")
    assert lang_of(client_of(alice).get("/", **GERMAN)) == "de"


def test_no_page_leaves_the_thread_speaking_its_language(client_of: ClientOf, alice: User) -> None:
    assert lang_of(client_of(alice).get("/", **GERMAN)) == "de"
    assert translation.get_language() == "en"


def test_caches_are_told_that_pages_differ_by_language(client: Client) -> None:
    for path in ("/sign-in/", "/manifest.webmanifest", "/nowhere/"):
        assert "Accept-Language" in client.get(path)["Vary"], path


def test_an_agent_is_answered_in_english_whatever_it_asks_for(
    client: Client, token: str, make_block: MakeBlock, alice: User, settings: Any
) -> None:
    settings.SITE_LANGUAGE = "de"
    make_block(alice, "goals", "Pass statistics.")
    told = {"HTTP_AUTHORIZATION": f"Bearer {token}", **GERMAN}
    for body in ({"block_label": "nowhere"}, {}):
        german = client.post("/api/v1/tools/read_memory_block/", body, content_type="application/json", **told)
        del told["HTTP_ACCEPT_LANGUAGE"]
        english = client.post("/api/v1/tools/read_memory_block/", body, content_type="application/json", **told)
        told |= GERMAN
        assert german.json()["error"] == english.json()["error"]


def test_what_is_recorded_of_a_german_admin_is_english(client_of: ClientOf, admin: User, alice: User) -> None:
    User.objects.filter(pk=admin.pk).update(language="de")
    client = client_of(admin)
    client.get(f"/memory/{alice.username}/notes/")
    client.get("/admin/memory_app/memoryblock/")
    details = set(AuditEvent.objects.filter(what=AuditEvent.Act.OPENED).values_list("detail", flat=True))
    assert details == {"notes", "memory blocks (list in the admin)"}


def test_ages_are_in_the_case_that_german_asks_for() -> None:
    now = timezone.now()
    with translation.override("de"):
        assert "vor 1 Stunde<" in age(now - timedelta(hours=1)).replace("\xa0", " ")
        assert "vor 6 Tagen<" in age(now - timedelta(days=6)).replace("\xa0", " ")
        assert when(datetime(2026, 3, 21, 23, 26, tzinfo=UTC)).endswith(">21. März 2026, 23:26</time>")


@pytest.mark.parametrize(
    ("approval", "english", "german"),
    [
        ("", "by scribe ·", "von scribe angenommen ·"),
        ("part", "by scribe in part ·", "von scribe teilweise angenommen ·"),
        ("edited", "by scribe with changes ·", "von scribe mit Änderungen angenommen ·"),
        (
            "resolved",
            "by scribe after resolving a conflict ·",
            "von scribe nach dem Lösen eines Konflikts angenommen ·",
        ),
    ],
)
@pytest.mark.parametrize("url", ["", "/proposals/7/"])
def test_how_much_was_approved_stands_where_each_language_has_it(
    approval: str, english: str, german: str, url: str
) -> None:
    change = {"action": "approved", "agent": "scribe", "proposal_id": 7, "at": timezone.now()}
    entry = {"change": change, "actor": "Tim", "approval": approval, "proposal": {"get_absolute_url": url}}
    for spoken, said in (("en", english), ("de", german)):
        with translation.override(spoken):
            assert said in render_to_string("memory/change_line.html", {"entry": entry})


def test_a_person_is_written_to_in_their_own_language(alice: User, tim: User) -> None:
    alice.language = "de"
    with language.speaking_to(alice):
        assert translation.get_language() == "de"
        with language.speaking_to(tim):
            assert translation.get_language() == "en"


def test_memory_is_said_to_be_of_an_unknown_language(client_of: ClientOf, make_block: MakeBlock, alice: User) -> None:
    """Or a screen reader would read an English memory with the German voice of the page."""
    make_block(alice, "goals", "Pass statistics.")
    page = client_of(alice).get("/memory/alice/blocks/goals/", **GERMAN).content.decode()
    assert '<html lang="de">' in page
    assert '<div class="prose" lang=""><p dir="auto">Pass statistics.' in page
    assert "Verlauf" in page
