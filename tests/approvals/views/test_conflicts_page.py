"""Proposals that conflict: the page of each names the other."""

from datetime import date

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Kind, Proposal, User
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads import Block
from tests.support.acts import approve, change, edit, save
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import words

BODY = "Ann drinks green tea in the morning. She reads on the train to work.\n\nShe has an exam in June.\n"


def url(proposal: Proposal) -> str:
    return reverse("proposal", args=[proposal.pk])


@pytest.fixture
def tea(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "tea", BODY)


@pytest.fixture
def helper() -> Agent:
    return Agent.objects.create(name="helper")


def said(client_of: ClientOf, person: User, proposal: Proposal) -> str:
    return words(client_of(person).get(url(proposal)))


def test_both_pages_name_the_other_and_what_fits_is_not_named(
    as_tim: Client, client_of: ClientOf, tim: User, tea: Block, propose: Propose
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    july = propose(tea, "June", "July")
    for one, other in ((black, red), (red, black)):
        page = as_tim.get(url(one))
        assert f"Conflicts with proposal #{other.pk}" in words(page)
        assert f'<a href="{url(other)}"><span class="visually-hidden">' in page.content.decode()
    assert "Conflicts with" not in said(client_of, tim, july)
    approve(tim, black)
    after = said(client_of, tim, red)
    assert "The change no longer fits." in after
    assert "Conflicts with" not in after


def test_what_asks_for_the_same_is_no_conflict(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose, helper: Agent
) -> None:
    black = propose(tea, "green", "black")
    change(helper, ("green", "black"), label="tea")
    change(helper, ("green", "black"), ("June", "July"), label="tea")
    assert "Conflicts with" not in said(client_of, tim, black)


def test_of_many_it_names_five_and_counts_the_others(as_tim: Client, tea: Block, propose: Propose) -> None:
    propose(tea, "June", "July")
    colours = ["black", "red", "white", "blue", "yellow", "brown", "pink", "grey"]
    black, *others = [propose(tea, "green", colour) for colour in colours]
    page = as_tim.get(url(black))
    named = ", ".join(f"proposal #{other.pk}" for other in others[:5])
    assert f"Conflicts with {named} and 2 more" in words(page)
    assert page.content.decode().count('href="/?owner=alice&amp;target=tea"') == 1
    assert "and 3 more" in words(page), "the list beside it has the one that does not conflict too"


def test_what_was_moved_by_a_later_change_is_compared_on_todays_text(
    client_of: ClientOf, alice: User, tim: User, tea: Block, propose: Propose
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    edit(alice, "tea", "Ann drinks", "In winter Ann drinks")
    assert f"Conflicts with proposal #{red.pk}" in said(client_of, tim, black)


def test_there_is_no_room_for_both(
    client_of: ClientOf, alice: User, tim: User, make_block: MakeBlock, propose: Propose
) -> None:
    tight = make_block(alice, "tight", BODY, limit=len(BODY) + 8)
    early, late = propose(tight, "in June", "in early June"), propose(tight, "the train", "the long train")
    assert f"Conflicts with proposal #{late.pk}" in said(client_of, tim, early)
    assert f"Conflicts with proposal #{early.pk}" in said(client_of, tim, late)


def test_only_the_page_of_the_latest_revision_says_it(
    as_tim: Client, client_of: ClientOf, tim: User, tea: Block, propose: Propose, scribe: Agent
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    change(scribe, ("green", "dark"), label="tea", proposal_id=black.pk)
    assert f"Conflicts with proposal #{black.pk}" in said(client_of, tim, red)
    assert "Conflicts with" in said(client_of, tim, black)
    assert "Conflicts with" not in words(as_tim.get(f"{url(black)}?revision=1"))


def context(agent: Agent) -> ChangeContext:
    return ChangeContext(actor=agent, may_apply=False, reasoning="She said so.")


def test_two_changes_of_one_note(client_of: ClientOf, alice: User, tim: User, scribe: Agent, helper: Agent) -> None:
    note_id = save(alice)
    first, second = (
        notes.update(by=context(agent), owner="alice", note_id=note_id, content=text).proposal
        for agent, text in ((scribe, "Reads on Tuesdays."), (helper, "Reads on Fridays."))
    )
    assert first
    assert second
    assert f"Conflicts with proposal #{second.pk}" in said(client_of, tim, first)
    assert f"Conflicts with proposal #{first.pk}" in said(client_of, tim, second)


def test_an_import_and_a_change_of_one_of_its_notes(
    client_of: ClientOf, alice: User, tim: User, scribe: Agent, helper: Agent
) -> None:
    texts = {"mem-1-aaaa": "She sails.", "mem-2-aaaa": "She rows."}

    def propose_import(agent: Agent, said: dict[str, str]) -> Proposal:
        every = [memories_md.Memory(id_, "note", text, (), date(2025, 1, 1)) for id_, text in said.items()]
        imports.import_file(by=context(agent), owner="alice", data=memories_md.write(every).encode())
        return Proposal.objects.filter(kind=Kind.IMPORT).latest("pk")

    imports.import_file(
        by=ChangeContext(actor=alice),
        owner="alice",
        data=memories_md.write(
            memories_md.Memory(id_, "note", text, (), date(2025, 1, 1)) for id_, text in texts.items()
        ).encode(),
    )
    single = notes.update(by=context(scribe), owner="alice", note_id="mem-1-aaaa", content="She sails far.").proposal
    assert single
    both = propose_import(helper, {"mem-1-aaaa": "She sails fast.", "mem-2-aaaa": "She rows fast."})
    assert f"Conflicts with proposal #{both.pk}" in said(client_of, tim, single)
    assert f"Conflicts with proposal #{single.pk}" in said(client_of, tim, both)
    another = propose_import(scribe, {"mem-2-aaaa": "She rows slowly."})
    assert f"Conflicts with proposal #{single.pk}, proposal #{another.pk}" in said(client_of, tim, both)
