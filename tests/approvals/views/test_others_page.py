"""What the page of a proposal says of others: those it conflicts with, and the one that was rejected before.

What conflicts with what is tests/approvals/review/test_collisions.py."""

from datetime import date

import pytest
from django.test import Client

from approvals import services
from approvals.models import Agent, Kind, Proposal, TrustRule, User
from approvals.permissions import ReviewAction
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads import Block
from tests.support.acts import approve, change, edit, look, reject, save
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, html, words

BODY = "Ann drinks green tea in the morning. She reads on the train to work.\n\nShe has an exam in June.\n"


@pytest.fixture
def tea(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "tea", BODY)


@pytest.fixture
def helper() -> Agent:
    return Agent.objects.create(name="helper")


def assert_name_each_other(client: Client, one: Proposal, other: Proposal) -> None:
    for page, named in ((look(client, one), other), (look(client, other), one)):
        assert_says(page, f"Conflicts with proposal #{named.pk}")
        assert f'<a href="{named.get_absolute_url()}"><span class="visually-hidden">' in html(page)


def test_both_pages_name_the_other_and_what_fits_or_asks_for_the_same_is_not_named(
    as_tim: Client, alice: User, tim: User, tea: Block, propose: Propose, helper: Agent
) -> None:
    black, july = propose(tea, "green", "black"), propose(tea, "June", "July")
    change(helper, ("green", "black"), label="tea")
    change(helper, ("green", "black"), ("June", "July"), label="tea")
    assert "Conflicts with" not in words(look(as_tim, black))
    red = propose(tea, "green", "red")
    assert_name_each_other(as_tim, black, red)
    edit(alice, "tea", "Ann drinks", "In winter Ann drinks")  # compared on today's text
    assert_name_each_other(as_tim, black, red)
    assert "Conflicts with" not in words(look(as_tim, july))
    approve(tim, black)
    assert_says(look(as_tim, red), "The change no longer fits.")
    assert "Conflicts with" not in words(look(as_tim, red))


def test_of_many_it_names_five_and_counts_the_others(as_tim: Client, tea: Block, propose: Propose) -> None:
    propose(tea, "June", "July")
    colours = ["black", "red", "white", "blue", "yellow", "brown", "pink", "grey"]
    black, *others = [propose(tea, "green", colour) for colour in colours]
    page = look(as_tim, black)
    named = ", ".join(f"proposal #{other.pk}" for other in others[:5])
    # The list beside it has the one that does not conflict too.
    assert_says(page, f"Conflicts with {named} and 2 more", "and 3 more")
    assert html(page).count('href="/?owner=alice&amp;target=tea"') == 1


def test_only_the_page_of_the_latest_revision_says_it(
    as_tim: Client, tea: Block, propose: Propose, scribe: Agent
) -> None:
    black, red = propose(tea, "green", "black"), propose(tea, "green", "red")
    change(scribe, ("green", "dark"), label="tea", proposal_id=black.pk)
    assert_name_each_other(as_tim, black, red)
    assert "Conflicts with" not in words(look(as_tim, black, revision=1))


def context(agent: Agent) -> ChangeContext:
    return ChangeContext(actor=agent, may_apply=False, reasoning="She said so.")


def test_two_changes_of_one_note(as_tim: Client, alice: User, scribe: Agent, helper: Agent) -> None:
    note_id = save(alice)
    first, second = (
        notes.update(by=context(agent), owner="alice", note_id=note_id, content=text).proposal
        for agent, text in ((scribe, "Reads on Tuesdays."), (helper, "Reads on Fridays."))
    )
    assert_name_each_other(as_tim, first, second)


def test_an_import_and_a_change_of_one_of_its_notes(as_tim: Client, alice: User, scribe: Agent, helper: Agent) -> None:
    def import_(by: ChangeContext, said: dict[str, str]) -> Proposal | None:
        every = [memories_md.Memory(id_, "note", text, (), date(2025, 1, 1)) for id_, text in said.items()]
        imports.import_file(by=by, owner="alice", data=memories_md.write(every).encode())
        return Proposal.objects.filter(kind=Kind.IMPORT).order_by("pk").last()

    import_(ChangeContext(actor=alice), {"mem-1-aaaa": "She sails.", "mem-2-aaaa": "She rows."})
    single = notes.update(by=context(scribe), owner="alice", note_id="mem-1-aaaa", content="She sails far.").proposal
    both = import_(context(helper), {"mem-1-aaaa": "She sails fast.", "mem-2-aaaa": "She rows fast."})
    assert_name_each_other(as_tim, single, both)
    another = import_(context(scribe), {"mem-2-aaaa": "She rows slowly."})
    assert_says(look(as_tim, both), f"Conflicts with proposal #{single.pk}, proposal #{another.pk}")


# -- proposed again --------------------------------------------------------------------------------


def forced(propose: Propose, goals: Block) -> Proposal:
    return propose(goals, "math", "maths", reasoning="Her mother wrote it today.", force=True)


@pytest.mark.parametrize("reason", ["wrong", "too_private"])
def test_the_rejection_stands_beside_both_reasons_unless_its_texts_were_removed(
    as_alice: Client, goals: Block, tim: User, propose: Propose, reason: str
) -> None:
    first = reject(tim, propose(goals, "math", "maths"), reason, comment="She told me it is physics.")
    again = forced(propose, goals)
    page = look(as_alice, again)
    assert_says(page, "Rejected before", "Her mother wrote it today.")
    assert f'href="/proposals/{first.pk}/"' in html(page)
    if reason == "too_private":
        assert_says(page, "Removed with the texts of that proposal.")
        assert "Alice said so." not in words(page)
        return
    assert_says(page, "She told me it is physics.", ": wrong.", "Alice said so.")
    assert_says(page, "A person rejected or undid the same before.")
    # In the list it says so, and it is opened to be decided.
    rows = as_alice.get("/")
    assert_says(rows, "proposed again")
    assert f'action="/proposals/{again.pk}/approve/"' not in html(rows)
    items = [services.Item(again.pk, 1, goals.sha256)]
    done = services.decide_several(actor=tim, action=ReviewAction.APPROVE, items=items)
    assert [each.why for each in done.results] == ["It was rejected or undone before. Open it to decide."]


def test_what_was_undone_is_called_that(
    as_alice: Client, goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    TrustRule.objects.create(owner="alice", needs=TrustRule.Needs.NOTHING, made_by=alice)
    first = propose(goals, "math", "maths", may_apply=True)
    services.undo(actor=alice, proposal_id=first.pk, comment="Not yet.")
    page = look(as_alice, propose(goals, "math", "maths"))
    assert_says(page, "Undone before", "Not yet.")
    assert "Rejected before" not in words(page)
