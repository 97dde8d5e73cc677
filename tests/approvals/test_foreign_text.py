"""What people and agents wrote is in a language that a page does not know, and says so wherever it stands.

A screen reader else reads Hebrew or German as English, and text from right to left disturbs the line it stands in.
Every text that somebody writes has two words here, one of each direction, and every page is searched for them. Not
looked at: lists and forms of the admin, whose cells and fields Django draws; and messages after an action, which are
one text of ours with a title in it.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core import mail
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Proposal, SavedFilter, User
from approvals.notifications import mail as digests
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import conversations, reads
from tests.end_to_end import test_axe
from tests.end_to_end.test_axe import states  # noqa: F401  # a fixture
from tests.support import acts, every_state, whole_block_states
from tests.support.every_state import EVIDENCE, SESSION, EveryState
from tests.support.first import dolt
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words
from tests.support.reading import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.one_leg, pytest.mark.timeout(600)]

#: A word from right to left, and one that is no English.
WORDS = "מילה Fremdwort"
_ANY = re.compile("|".join(WORDS.split()))
#: Where no markup is possible, or a browser says it by itself.
_PLAIN = {"title", "option", "textarea", "script", "style"}
_VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "rect", "path", "circle", "source", "wbr"}


class Foreign(HTMLParser):
    """The texts of a page that somebody wrote and of which it does not say so, each with the elements around it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.number = 0
        self.undeclared: list[str] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in (name for name, _attrs in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not _ANY.search(data) or _PLAIN.intersection(tag for tag, _attrs in self._open):
            return
        self.number += 1
        of_page, *around = self._open if self._open[:1] and self._open[0][0] == "html" else [("", {}), *self._open]
        languages = [attrs["lang"] for _tag, attrs in around if "lang" in attrs]
        # A block of code runs from left to right, whatever it says.
        directions = [attrs.get("dir", "auto") for tag, attrs in around if tag in ("bdi", "pre") or "dir" in attrs]
        if not languages or languages[-1] == of_page[1].get("lang") or directions[-1:] != ["auto"]:
            path = " ".join(f"{tag}.{attrs.get('class') or ''}" for tag, attrs in around[-4:])
            self.undeclared.append(f"{path}: {data.strip()[:80]}")


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of `every_state` have the words."""
    text = every_state.TEXT
    for place in ("# Aims", "likes", "## Exams", "German B2", "She reads", "The first", "Slowly,", "Room |", "x = 1"):
        text = text.replace(place, f"{place} {WORDS}" if place[0] in "#R" else f"{WORDS} {place}")
    monkeypatch.setattr(every_state, "TEXT", text.replace("means", f"{WORDS} means"))
    monkeypatch.setattr(whole_block_states, "NEW", whole_block_states.NEW.replace("She", f"{WORDS} She"))
    monkeypatch.setattr(every_state, "EVIDENCE", [each | {"content": WORDS, "at": WORDS} for each in EVIDENCE])


@pytest.fixture
def spoken(alice: User, ben: User, scribe: Agent, states: EveryState) -> EveryState:  # noqa: F811
    """Everything that somebody can write has the words."""
    for owner in (alice, ben):
        for block in reads.blocks(owner.username):
            fields = services.BlockFields(f"{block.label} {WORDS}", WORDS, block.body, block.limit, block.read_only)
            at: dict[str, Any] = {"actor": owner, "owner": owner.username, "label": block.label}
            services.edit_block(fields=fields, loaded_sha256=block.sha256, comment=WORDS, **at)
    with override_settings(PENDING_CAP=100):
        _notes(alice, scribe, states)
    _conversations()
    for column in ("reasoning", "decision_comment"):
        Proposal.objects.exclude(**{column: ""}).update(**{column: Concat(Value(f"{WORDS} "), F(column))})
    Proposal.objects.update(target_title=Concat(Value(f"{WORDS} "), F("target_title")))
    Event.objects.exclude(text="").update(text=Concat(Value(f"{WORDS} "), F("text")))
    Agent.objects.update(description=WORDS)
    SavedFilter.objects.update(name=WORDS)
    User.objects.filter(pk=alice.pk).update(mail_failure=WORDS)
    return states


def _notes(alice: User, scribe: Agent, states: EveryState) -> None:  # noqa: F811
    by = ChangeContext(actor=alice, reasoning=WORDS)
    says: dict[str, Any] = {"tags": [WORDS], "category": WORDS, "rationale": WORDS}
    for number, note in enumerate((states.note_id, states.outdated_id)):
        notes.update(by=by, owner="alice", note_id=note, content=f"{number} {WORDS}", **says)
    long = notes.save(by=by, owner="alice", content=f"# {WORDS}\n\n- {WORDS}\n- one\n\n" + "Long. " * 100, **says)
    states.outdated_id = notes.save(by=by, owner="alice", content=f"2 {WORDS}", **says).note_id
    notes.supersede(by=by, owner="alice", note_id=states.outdated_id, reason=WORDS, replacement_id=long.note_id)
    asks = ChangeContext(actor=scribe, reasoning=WORDS, session_id=WORDS, evidence=every_state.EVIDENCE)
    states.proposals["new note that says it"] = _proposed(notes.save(by=asks, owner="alice", content=WORDS, **says))
    outdates = notes.supersede(by=asks, owner="alice", note_id=long.note_id, reason=WORDS)
    states.proposals["outdated note that says it"] = _proposed(outdates)


def _proposed(outcome: notes.NoteChangeOutcome) -> Proposal:
    assert outcome.proposal is not None
    return outcome.proposal


def _conversations() -> None:
    for session in (SESSION, WORDS):
        turns = [conversations.Turn("user", WORDS, id="spoken", author=WORDS)]
        conversations.keep("alice", session, turns, agent="mentor")


def pages_of(states: EveryState) -> Iterator[str]:  # noqa: F811
    listed = (
        test_axe.inbox_pages, test_axe.proposal_pages, test_axe.deciding_pages, test_axe.block_pages,
        test_axe.memory_pages, test_axe.note_pages, test_axe.settings_pages,
    )  # fmt: skip
    for each in listed:
        yield from each(states)
    word = WORDS.split()[1]
    yield from (f"/?q={word}", "/?tab=decided&density=compact", f"/memory/?q={word}", f"/memory/alice/search/?q={word}")
    notes_page = "/memory/alice/notes/"
    yield from (f"{notes_page}?q={word}&select=1&superseded=shown", f"{notes_page}?tag={WORDS.replace(' ', '+')}")
    yield f"{notes_page}change/?do=retag&note={states.note_id}"
    yield from (f"/memory/alice/erase/?note={states.note_id}", "/memory/alice/blocks/diary/?as_of=Fremdwort")


def undeclared(pages: dict[str, str]) -> str:
    """Return what is not declared, each once and with a page it stands on."""
    places: dict[str, str] = {}
    for name, page in pages.items():
        places |= dict.fromkeys(Foreign(page).undeclared, name)
    return "\n".join(f"{name}: {place}" for place, name in sorted(places.items(), key=lambda each: each[1]))


@pytest.mark.parametrize("reader", ["alice", "tim"])
def test_every_page_says_that_a_text_is_in_another_language(
    client_of: ClientOf, reader: str, spoken: EveryState
) -> None:
    client = client_of(User.objects.get(username=reader))
    pages = {path: client.get(path).content.decode() for path in pages_of(spoken)}
    found = undeclared(pages)
    assert not found, found
    assert sum(Foreign(page).number for page in pages.values()) > 1_000


def test_what_a_form_answers_says_it_too(as_alice: Client, spoken: EveryState) -> None:
    pages = {}
    for name, text in (
        ("memories", f"### mem-1-aaaa\n> {WORDS}\n> - tags: {WORDS}\n"),
        ("list", f"# {WORDS}\n- {WORDS}"),
    ):
        file = io.BytesIO(text.encode())
        file.name = f"{WORDS} {name}.md"
        answer = as_alice.post(reverse("note_import", args=["alice"]), {"file": file, "check": "1"})
        pages[f"import of {name}"] = answer.content.decode()
    changed = {"title": WORDS, "description": WORDS, "body": WORDS, "limit": 20_000, "preview": "1"}
    pages["preview"] = as_alice.post("/memory/alice/blocks/aims/edit/", changed).content.decode()
    pages["a label that is taken"] = as_alice.post("/memory/alice/new/", changed | {"label": "aims"}).content.decode()
    for page in pages.values():
        assert Foreign(page).number
    found = undeclared(pages)
    assert not found, found


def test_the_page_of_the_admin_that_decides_says_it(as_admin: Client, spoken: EveryState) -> None:
    chosen = Proposal.objects.open().values_list("pk", flat=True)
    asked = {"action": "approve_selected", "_selected_action": chosen}
    page = as_admin.post(reverse("admin:approvals_proposal_changelist"), asked).content.decode()
    assert Foreign(page).number > 20
    assert not undeclared({"admin": page}), undeclared({"admin": page})


def test_mail_the_feed_and_the_copy_of_everything_say_it(as_alice: Client, alice: User, spoken: EveryState) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org", mail_failure="", feed_key="key-of-hers")
    digests.send_due(now=timezone.now() + timedelta(days=2))
    (sent,) = (each for each in mail.outbox if each.to == ["alice@example.org"])
    assert isinstance(sent, mail.EmailMultiAlternatives)
    pages = {"mail": str(sent.alternatives[0][0])}
    feed = as_alice.get(User.objects.get(pk=alice.pk).feed_url).content.decode()
    pages["feed"] = "".join(unescape(entry) for entry in re.findall(r"<summary[^>]*>(.*?)</summary>", feed, re.DOTALL))
    answer: Any = as_alice.post(reverse("own_data"))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    pages |= {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".html")}
    for name in ("mail", "feed", "index.html", "proposals.html", "notes.html"):
        assert Foreign(pages[name]).number, name
    found = undeclared(pages)
    assert not found, found


def test_a_name_from_right_to_left_leaves_the_rest_of_its_line_in_order(
    client_of: ClientOf, tim: User, alice: User, goals: reads.Block, propose: Propose
) -> None:
    """Without that, “אנה · 5 minutes ago” would be drawn with the 5 before the name."""
    User.objects.filter(pk=alice.pk).update(first_name="אנה", last_name="")
    alice.refresh_from_db()
    acts.approve(alice, propose(goals, "math", "maths"))
    as_alice = client_of(alice)
    isolated = "\u2068אנה\u2069"
    assert f"Approved by {isolated}" in words(as_alice.get("/?tab=decided"))
    page = as_alice.get("/").content.decode()
    assert isolated in page
    assert ">א</span>" in page, "the sign of the account's menu"
    assert dolt().log(limit=1)[0].author == "אנה"
    acts.approve(tim, propose(goals, "June", "July"))
    as_tim = client_of(tim)
    for typed in ("אנה", isolated):
        found = words(as_tim.get("/", {"tab": "decided", "owner": typed}))
        assert "Approved by" in found
        assert "Whose memory: אנה ×" in found
    waiting = propose(goals, "maths", "physics")
    pages = [as_tim.get(path).content.decode() for path in ("/", "/?tab=decided&by=alice", f"/proposals/{waiting.pk}/")]
    assert all("אנה" in page for page in pages)
    User.objects.filter(pk=alice.pk).update(email="alice@example.org", feed_key="key-of-hers")
    digests.send_due(now=timezone.now() + timedelta(days=2))
    alice.refresh_from_db()
    for each in mail.outbox:
        pages += [str(each.subject), str(each.body)]
    pages.append(as_alice.get(alice.feed_url).content.decode())
    assert len(pages) > 4
    assert not any("U+2068" in page for page in pages)
    assert tim.display_name == tim.plain_name == "Tim Okafor"


def test_no_template_draws_a_text_outside_an_element_that_says_it() -> None:
    """Some are on pages that take much to get to."""
    drawn = re.compile(r"{% (marked|line|source|moved_line|moved_here|excerpt|drawn|drawn_texts) ")
    for template in (ROOT / "templates").rglob("*.html"):
        for line in template.read_text(encoding="utf-8").splitlines():
            assert not drawn.search(line) or 'lang=""' in line, (template, line)


def test_it_is_escaped_as_before(as_alice: Client, states: EveryState) -> None:  # noqa: F811
    attack = "<script>alert(1)</script>"
    Proposal.objects.update(reasoning=attack, target_title=attack)
    Agent.objects.update(description=attack)
    pages = [as_alice.get(path).content.decode() for path in ("/", "/agents/scribe/", *test_axe.proposal_pages(states))]
    assert not any(attack in page for page in pages)
    assert sum('<bdi lang="">&lt;script&gt;alert(1)' in page for page in pages) > 30
