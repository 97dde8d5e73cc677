"""No page shows English under `de`, but what people and agents wrote.

Each page is asked for in both languages. A text that is the same in both was not translated, unless the catalogue says
so, or it was written by somebody. Attributes that are read out or shown count as texts.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import polib
import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from agent_tools.models import WebhookEndpoint
from agent_tools.webhooks import sending
from approvals.accounts import invitations, sign_in
from approvals.forms.accounts import time_zones
from approvals.models import Agent, User
from approvals.notifications import mail as digests
from tests.end_to_end import test_axe
from tests.end_to_end.test_axe import states  # noqa: F401  # a fixture
from tests.support.every_state import EveryState
from tests.support.fixtures import ClientOf
from tests.support.reading import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.one_leg, pytest.mark.timeout(600)]

#: The same in both languages, and in no catalogue: names, formats, and what Django itself leaves as it is.
SAME = {
    "Assent", "English", "Deutsch", "Markdown", "JSON", "CSV", "UTC", "Enter", "Ctrl", "Shift", "Esc", "memories.md",
    "U+200B ZERO WIDTH SPACE", ".mcp.json", ".cursor/mcp.json", "~/.codex/config.toml", "webhook-id", "Admin", "Code",
    *("core", "files", "all", "notes", "blocks", "proposals", "conversations"),  # sets of tools, as agents name them
}  # fmt: skip
_SHOWN = ("title", "aria-label", "placeholder", "alt")
_WORD = re.compile(r"[A-Za-z]{3,}")
WORD_SIGNS = r"\w+"
_SKIPPED = {"script", "style", "code", "pre", "textarea"}
#: Where a text consists of several: a title, a row of a table, sentences, and what is said between brackets.
_BETWEEN = re.compile(r" [·›] ?|(?<=[.!?]) |[():…|]|^\W+|\W+$")
#: Words of ours that stand in memories of the tests, too; and how texts of theirs begin that are stored in other words.
WRITTEN_TOO = {
    "nothing",
    "Language",
    "memory",
    "note",
    "Home",
    "Main",
    "State",
    "Week",
    "Where",
    "what",
    "notes",
    "blocks",
    "all",
    "may",
}
_WRITTEN = re.compile(
    r"nothing like that$|xyzzy$|Alice l|She writes|ignore all previous|[0-9a-f]{7,}$|[\w-]+ \d+$|Text: "
)


class Shown(HTMLParser):
    """The texts that a page shows or has read out, each as it stands between two tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _SKIPPED or (given.get("lang") == "en" and tag != "html"):  # said to be English
            self._open.append(tag)
        is_button = tag == "input" and given.get("type") in ("submit", "button")
        for name, value in attrs:
            if value and (name in _SHOWN or (name == "value" and is_button) or _is_of_script(name, value)):
                self.texts.append(" ".join(value.split()))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._open:
            self.texts.append(" ".join(data.split()))


def _is_of_script(name: str, value: str) -> bool:
    """Whether a script shows it: words in an attribute of ours."""
    return name.startswith("data-") and " " in value


def plainly(text: str) -> str:
    """Return the words of a text, each between two blanks."""
    return f" {' '.join(re.findall(WORD_SIGNS, text))} "


def written_by_somebody() -> str:
    """Return the words of everything that is stored: what is found in it, nobody can translate."""
    stored: list[str] = [label for _region, zones in time_zones()[1:] for _name, label in zones]
    for model in apps.get_models():
        if model._meta.app_label in ("approvals", "memory_app", "agent_tools"):
            rows: Iterable[Model] = model._default_manager.all()
            stored += (str(value) for row in rows for value in vars(row).values() if not isinstance(value, int))
    return plainly(" ".join(stored))


class Catalogue:
    """What is translated, and what is the same in German."""

    def __init__(self) -> None:
        entries = [entry for path in (ROOT / "locale").rglob("*.po") for entry in polib.pofile(str(path))]
        self.same = {entry.msgid for entry in entries if entry.msgid == entry.msgstr} | SAME
        self.translated = {entry.msgid for entry in entries} - self.same - WRITTEN_TOO

    def excuses(self, text: str, written: str) -> bool:
        """Whether a text may be the same in both languages."""
        if text in self.translated:
            return False
        if text in self.same or _WRITTEN.match(text):
            return True
        parts = _BETWEEN.split(text)
        return all(part in self.same or not _WORD.search(part) or plainly(part) in written for part in parts)


def pages_of(states: EveryState) -> Iterator[str]:  # noqa: F811
    listed = (
        test_axe.inbox_pages, test_axe.proposal_pages, test_axe.deciding_pages, test_axe.block_pages,
        test_axe.memory_pages, test_axe.note_pages, test_axe.settings_pages,
    )  # fmt: skip
    for each in listed:
        yield from each(states)
    yield from ("/nowhere/", "/memory/ben/", "/memory/alice/blocks/nowhere/")


#: What a school's admins work with; the other lists are for repairs, and have the names of columns.
_OF_ADMINS = ("user", "tutorship", "agent", "agenttoken", "auditevent", "webhookendpoint", "memoryblock", "memorynote")


#: Types of notes, as the list of notes has them; and a word that Django's own template does not have translated.
_AS_STORED = {"fact", "decision", "Search"}


def admin_pages() -> Iterator[str]:
    yield from (reverse("admin:index"), reverse("admin:people_file"))
    yield from (reverse("admin:person_leaves", args=[pk]) for pk in User.objects.values_list("pk", flat=True))
    for model in django_admin.site._registry:
        if model._meta.model_name in _OF_ADMINS:
            page = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            yield reverse(f"{page}_changelist")
            yield from (reverse(f"{page}_change", args=[row.pk]) for row in model._default_manager.all()[:2])


def english_on(client: Client, paths: Iterable[str], catalogue: Catalogue) -> set[tuple[str, str]]:
    """Return the texts that are the same in both languages, each with its page."""
    found: set[tuple[str, str]] = set()
    written = written_by_somebody()
    for path in paths:
        english, german = (Shown(client.get(path, HTTP_ACCEPT_LANGUAGE=of).content.decode()) for of in ("en", "de"))
        alike = set(english.texts) & set(german.texts)
        found |= {(path, text) for text in alike if _WORD.search(text) and not catalogue.excuses(text, written)}
    return found


def test_no_page_shows_english(client_of: ClientOf, alice: User, tim: User, states: EveryState) -> None:  # noqa: F811
    catalogue = Catalogue()
    tims = ["/", "/memory/", "/memory/?show=numbers", "/memory/ben/", "/settings/"]
    found = english_on(client_of(tim), [*test_axe.inbox_pages(states), *tims], catalogue)
    found |= english_on(client_of(alice), pages_of(states), catalogue)
    found |= english_on(Client(), test_axe.doors(states), catalogue)
    assert not found, said_of(found)


def said_of(found: set[tuple[str, str]]) -> str:
    by_text = {text: path for path, text in found}
    return "\n".join(f"{text!r} on {path}" for text, path in sorted(by_text.items()))


def test_no_page_of_the_admin_shows_english(client_of: ClientOf, admin: User, states: EveryState) -> None:  # noqa: F811
    catalogue = Catalogue()
    found = english_on(client_of(admin), admin_pages(), catalogue)
    found = {(path, text) for path, text in found if text in catalogue.translated - _AS_STORED}
    assert not found, said_of(found)


def test_a_file_of_people_is_answered_without_english(client_of: ClientOf, admin: User, states: EveryState) -> None:  # noqa: F811
    lines = (
        "username,role,tutors,leaves,groups\nnew.one,student,tim,,7b\nalice,nobody,nobody.here,maybe,7b;7c\n"
        "ben,tutor,,yes,\n"
    )
    shown = {}
    for spoken in ("en", "de"):
        file = SimpleUploadedFile("people.csv", lines.encode())
        answer = client_of(admin).post(reverse("admin:people_file"), {"file": file}, HTTP_ACCEPT_LANGUAGE=spoken)
        shown[spoken] = set(Shown(answer.content.decode().partition('assent-people">')[2]).texts)
    written = plainly(lines)
    found = {text for text in shown["en"] & shown["de"] if _WORD.search(text) and plainly(text) not in written}
    assert len(shown["de"]) > 10
    assert not found, found


_VALUES = re.compile(r"<dd .*?</dd>", re.DOTALL)


def test_the_copy_of_own_data_shows_no_english(client_of: ClientOf, alice: User, states: EveryState) -> None:  # noqa: F811
    """But the names of fields and states, which each page says are those of its file, in English."""
    catalogue, texts = Catalogue(), dict[str, set[tuple[str, str]]]()
    for spoken in ("en", "de"):
        answer: Any = client_of(alice).post(reverse("own_data"), HTTP_ACCEPT_LANGUAGE=spoken)
        archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
        pages = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".html")}
        texts[spoken] = {(name, text) for name, page in pages.items() for text in Shown(_VALUES.sub("", page)).texts}
    written = written_by_somebody()
    alike = {(name, text) for name, text in texts["en"] & texts["de"] if _WORD.search(text)}
    found = {(name, text) for name, text in alike if not catalogue.excuses(text, written)}
    assert not found, said_of(found)


def test_no_mail_shows_english(alice: User, scribe: Agent, states: EveryState) -> None:  # noqa: F811
    """Nor any in the language of whoever caused it."""
    catalogue, lines = Catalogue(), dict[str, set[str]]()
    alice.set_password("a password of hers")
    alice.save()
    for spoken in ("en", "de"):
        User.objects.filter(pk=alice.pk).update(language=spoken, mailed_at=None, email="alice@example.org")
        WebhookEndpoint.objects.filter(created_by=alice, state="disabled").update(told_at=None)
        User.objects.filter(pk=alice.pk).update(invited_at=timezone.now(), invitation_due=True)
        mail.outbox.clear()
        with translation.override("de" if spoken == "en" else "en"):
            digests.send_due(now=timezone.now() + timedelta(days=2))
            sign_in.send("alice@example.org")
            invitations.send_due()
            sending.run()
        assert len(mail.outbox) == 4, [each.subject for each in mail.outbox]
        lines[spoken] = {line for sent in mail.outbox for line in texts_of(sent)}
    written = written_by_somebody()
    alike = {line for line in lines["en"] & lines["de"] if _WORD.search(line) and not _FROM_MEMORY.search(line)}
    found = {("a mail", line) for line in alike if not catalogue.excuses(line, written)}
    assert not found, said_of(found)


#: Addresses, and lines that quote a change.
_FROM_MEMORY = re.compile(r"://|…|\[-|\{\+")


def texts_of(sent: Any) -> Iterator[str]:
    yield sent.subject
    for body in (sent.body, *(str(content) for content, _kind in getattr(sent, "alternatives", ()))):
        yield from Shown(body).texts if "<html" in body else (" ".join(line.split()) for line in body.split("\n"))
