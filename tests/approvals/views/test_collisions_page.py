"""Proposals that collide, as their pages say it: what approving the one makes of the other, with links."""

from __future__ import annotations

from datetime import date

import pytest
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Kind, Proposal, User
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.support.acts import approve, edit, save
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


def test_each_page_says_what_approving_it_makes_of_the_other(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    july = propose(tea, "June", "July")
    for one, other in ((black, red), (red, black)):
        page = client_of(tim).get(url(one))
        line = f"Approving this makes proposal #{other.pk} no longer fit: it changes the same text."
        assert line in words(page)
        assert f'<a href="{url(other)}" title=' in page.content.decode()
        assert "no longer fits after this" in words(page)
    assert "Approving this" not in said(client_of, tim, july)


def test_once_one_is_approved_the_other_no_longer_says_it(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    approve(tim, black)
    page = said(client_of, tim, red)
    assert "The change no longer fits." in page
    assert "Approving this" not in page


def test_what_asks_for_the_same_is_settled(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose, helper: Agent
) -> None:
    black = propose(tea, "green", "black")
    same, both = (
        services.propose(
            agent=helper, owner="alice", label="tea", edits=wanted, kind=Kind.EDIT, reasoning="She said so."
        ).proposal
        for wanted in ([Replace("green", "black")], [Replace("green", "black"), Replace("June", "July")])
    )
    page = said(client_of, tim, black)
    assert f"proposal #{same.pk} asks for the same; approving this settles it." in page
    assert f"proposal #{both.pk} asks for this and more; approving it settles this one." in page
    assert (
        f"Approving this settles proposal #{black.pk} and proposal #{same.pk}: this change has all that they ask for."
    ) in said(client_of, tim, both)


def test_of_many_it_names_five_and_counts_the_others(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose
) -> None:
    july = propose(tea, "June", "July")
    colours = ["black", "red", "white", "blue", "yellow", "brown", "pink", "grey"]
    black, *others = [propose(tea, "green", colour) for colour in colours]
    page = client_of(tim).get(url(black))
    named = ", ".join(f"proposal #{other.pk}" for other in others[:5])
    assert f"Approving this makes {named} and 2 more no longer fit: they change the same text." in words(page)
    assert page.content.decode().count('href="/?owner=alice&amp;target=tea"') == 2
    assert page.content.decode().count("no longer fits after this") == 5, "those that collide come first"
    assert "and 3 more" in words(page), "the list beside it has the one that does not collide too"
    assert "Approving this" not in said(client_of, tim, july)


def test_what_was_moved_by_a_later_change_is_compared_on_todays_text(
    client_of: ClientOf, alice: User, tim: User, tea: Block, propose: Propose
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    edit(alice, "tea", "Ann drinks", "In winter Ann drinks")
    assert f"Approving this makes proposal #{red.pk} no longer fit" in said(client_of, tim, black)


def test_there_is_no_room_for_both(
    client_of: ClientOf, alice: User, tim: User, make_block: MakeBlock, propose: Propose
) -> None:
    tight = make_block(alice, "tight", BODY, limit=len(BODY) + 8)
    early, late = propose(tight, "in June", "in early June"), propose(tight, "the train", "the long train")
    assert f"Approving this leaves no room in the block for proposal #{late.pk}." in said(client_of, tim, early)
    assert "Approving this" in said(client_of, tim, late)


def test_only_the_page_of_the_latest_revision_says_it(
    client_of: ClientOf, tim: User, tea: Block, propose: Propose, scribe: Agent
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    given = {"owner": "alice", "label": "tea", "kind": Kind.EDIT, "reasoning": "Darker."}
    services.amend(agent=scribe, proposal_id=black.pk, edits=[Replace("green", "dark")], **given)
    assert f"Approving this makes proposal #{black.pk} no longer fit" in said(client_of, tim, red)
    assert "Approving this makes" in said(client_of, tim, black)
    assert "Approving this makes" not in words(client_of(tim).get(f"{url(black)}?revision=1"))


# -- notes ----------------------------------------------------------------------------------------


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
    line = "Approving this makes proposal #{} no longer fit: it changes the same note."
    assert line.format(second.pk) in said(client_of, tim, first)
    assert line.format(first.pk) in said(client_of, tim, second)


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
    page = said(client_of, tim, single)
    assert f"The import proposal #{both.pk} changes this note too; after this, the note can be left out of it." in page
    page = said(client_of, tim, both)
    assert f"Approving this makes proposal #{single.pk} no longer fit: it changes the same note." in page
    another = propose_import(scribe, {"mem-2-aaaa": "She rows slowly."})
    assert (f"proposal #{another.pk} changes some of the same notes; after this, they can be left out of it.") in said(
        client_of, tim, both
    )
