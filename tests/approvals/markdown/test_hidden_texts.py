"""Characters nobody can see, in everything people and agents can name: no page shows them as they are."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from approvals import services
from approvals.markdown import marks
from approvals.models import Agent, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from assent_client.text import invisible
from memory_app import reads
from tests.support.fixtures import MakeBlock, Propose

pytestmark = pytest.mark.slow

#: A zero-width space, a right-to-left override, a tag and an isolate.
UNSEEN = "\u200b\u202e\U000e0041\u2066"


def tricky(text: str) -> str:
    return f"{text[:2]}{UNSEEN}{text[2:]}"


class Shown(HTMLParser):
    """All a page shows or says. What forms hold to be sent back (`value`, text areas) is not shown but edited."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._editing = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._editing = tag == "textarea"
        self.texts += [f"{tag} {name}={value}" for name, value in attrs if value and name != "value"]

    def handle_endtag(self, tag: str) -> None:
        self._editing = False

    def handle_data(self, data: str) -> None:
        if not self._editing:
            self.texts.append(data)


@pytest.fixture
def urls(alice: User, tim: User, scribe: Agent, make_block: MakeBlock, propose: Propose) -> list[str]:
    """Pages about a memory in which whatever can be written holds unseen characters."""
    alice.last_name = tricky("Berg")
    alice.save()
    Agent.objects.filter(pk=scribe.pk).update(description=tricky("Keeps notes"))
    make_block(alice, "goals", f"# {tricky('Goals')}\n\nThe exam is in June.\n", title=tricky("Learning goals"))
    make_block(alice, "gone", tricky("Going"), title=tricky("Gone"))
    gone = reads.block("alice", "gone")
    services.delete_block(actor=alice, owner="alice", label="gone", loaded_sha256=gone.sha256, comment=tricky("Why"))
    goals = reads.block("alice", "goals")
    said = {
        "reasoning": tricky("It was moved."),
        "session_id": tricky("session"),
        "evidence": [{"role": tricky("robot"), "content": tricky("moved"), "at": tricky("today")}],
    }
    waiting = propose(goals, "in June", tricky("in July"), **said)
    rejected = propose(goals, "June", "May", **said)
    services.reject(actor=tim, proposal_id=rejected.pk, revision=1, reason="other", comment=tricky("No."))
    by = ChangeContext(actor=scribe, may_apply=True, reasoning=tricky("She said so."))
    of: dict[str, Any] = {"owner": "alice", "tags": [tricky("drinks")]}
    note = notes.save(by=by, content=tricky("Likes tea"), **of).note_id
    notes.save(by=replace(by, may_apply=False), content=tricky("Likes coffee"), **of)
    block, history = (reverse(name, args=["alice", "goals"]) for name in ("block", "block_history"))
    commit = reads.history("alice", "block", "goals", limit=1)[0].commit
    created = reads.history("alice", "block", "gone")[1].commit
    proposals = [proposal.get_absolute_url() for proposal in Proposal.objects.order_by("pk")]
    return [
        reverse("inbox"),
        f"{reverse('inbox')}?target=goals&q={UNSEEN}",
        f"{reverse('inbox')}?tab=decided",
        *proposals,
        *(f"{waiting.get_absolute_url()}?view={view}" for view in ("side", "result", "source")),
        *(reverse(name, args=["alice"]) for name in ("memory", "notes", "memory_search", "block_new", "note_new")),
        f"{reverse('memory_search', args=['alice'])}?q=likes+july",
        f"{reverse('notes', args=['alice'])}?tag={tricky('drinks')}&q={UNSEEN}",
        block,
        f"{block}?view=source",
        f"{block}?as_of={commit}",
        f"{block}?as_of={UNSEEN}",
        reverse("block_edit", args=["alice", "goals"]),
        reverse("block_delete", args=["alice", "goals"]),
        history,
        f"{history}?a={commit}&b=now",
        f"{history}?v={commit}",
        f"{history}?from={commit}",
        f"{history}?v={UNSEEN}",
        *(f"{reverse('block_blame', args=['alice', 'goals'])}{query}" for query in ("", "?s=0", "?by=age")),
        reverse("block_restore", args=["alice", "gone", created]),
        reverse("block", args=["alice", "gone"]),
        reverse("block_history", args=["alice", "gone"]),
        *(reverse(name, args=["alice", note]) for name in ("note", "note_edit", "note_delete", "note_supersede")),
        f"{reverse('note', args=['alice', note])}?as_of={UNSEEN}",
        reverse("settings"),
        reverse("policies"),
        reverse("agents"),
        reverse("agent_calls", args=["scribe"]),
        f"{reverse('agent_calls', args=['scribe'])}?tool={UNSEEN}&outcome={UNSEEN}",
        reverse("memories"),
        f"{reverse('memories')}?q={UNSEEN}",
    ]


def raw_on(client: Any, url: str) -> list[str]:
    page = Shown()
    page.feed(client.get(url).content.decode())
    return [text for text in page.texts if set(text) & set(UNSEEN)]


def test_ordinary_characters_are_drawn_as_they_are() -> None:
    """Texts of these are not looked through for hidden ones."""
    ordinary = [char for char in map(chr, range(0x3000)) if marks._ORDINARY.fullmatch(char)]
    assert len(ordinary) > 300
    for char in ordinary:
        for text in (char, f"a{char}b", f"Ab {char * 4} {char}\n{char}c"):
            assert marks.drawn(invisible.visible(text)) == escape(text)


def test_no_page_of_an_owner_shows_unseen_characters_as_they_are(as_alice: Client, urls: list[str]) -> None:
    assert {url: found for url in urls if (found := raw_on(as_alice, url))} == {}


def test_no_page_of_a_tutor_or_the_admin_does(as_tim: Client, as_admin: Client, urls: list[str]) -> None:
    models = [f"memory_app_{name}" for name in ("memoryblock", "memorynote", "change")]
    models += [f"approvals_{name}" for name in ("proposal", "user", "agent", "tutorship")]
    desk = [
        *(reverse(f"admin:{model}_changelist") for model in models),
        reverse("admin:approvals_proposal_change", args=[Proposal.objects.earliest("pk").pk]),
    ]
    for client, seen in ((as_tim, urls), (as_admin, [*urls, *desk])):
        assert {url: found for url in seen if (found := raw_on(client, url))} == {}


def test_what_was_done_is_said_without_them(as_alice: Client, urls: list[str]) -> None:
    goals = reads.block("alice", "goals")
    fields = {"title": goals.title, "body": "", "limit": goals.limit, "loaded_sha256": goals.sha256}
    as_alice.post(reverse("block_delete", args=["alice", "goals"]), fields)
    assert raw_on(as_alice, reverse("memory", args=["alice"])) == []
