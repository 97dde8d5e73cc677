"""The pages on which a person writes what is approved: editing a proposal, and resolving a conflict."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Approval, Policy, Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import address, approve, change, edit, filled, fresh, send
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, has_form, html, words

RESOLVED = "Approved by Tim Okafor after resolving a conflict"


@pytest.fixture
def proposal(goals: Block, tim: User, propose: Propose) -> Proposal:
    return propose(goals, "likes math", "loves mathematics")


def goals_now() -> str:
    return reads.block("alice", "goals").body


def test_the_page_leads_to_the_editor_and_back_to_the_list_one_came_from(
    as_tim: Client, alice: User, goals: Block, proposal: Proposal
) -> None:
    back = '<a href="/?agent=scribe" aria-current="true">Review'
    editor, resolve = address("edit", proposal), address("resolve", proposal)
    assert f'href="{editor}"' in html(as_tim.get(address("proposal", proposal)))
    page = as_tim.get(editor)
    assert form(page, editor)["text"] == goals.body.replace("likes math", "loves mathematics")
    assert "Your changes to what scribe proposed" not in words(page)
    assert '<a href="/" aria-current="true">Review' in html(page)
    assert back in html(as_tim.get(editor, {"list": "agent=scribe"}))
    # A conflict leads to its own page.
    edit(alice, "goals", "likes math", "is done with math")
    page = as_tim.get(address("proposal", proposal))
    assert f'href="{resolve}"' in html(page)
    assert f'href="{editor}"' not in html(page)
    assert as_tim.get(editor).headers["Location"] == resolve
    assert back in html(as_tim.get(resolve, {"list": "agent=scribe"}))


def test_the_edited_text_is_previewed_and_approved_and_both_are_named(
    as_tim: Client, goals: Block, proposal: Proposal
) -> None:
    text = goals.body.replace("likes math", "enjoys algebra")
    page = send(as_tim, "edit", proposal, text=text, comment="Hers.", preview="1")
    assert_says(page, "added: enjoys algebra", "removed: loves mathematics")
    again = form(page, address("edit", proposal))
    assert (again["text"], again["comment"]) == (text, "Hers.")
    assert fresh(proposal).status == Status.OPEN
    answer = send(as_tim, "edit", proposal, text=text.replace("\n", "\r\n"), comment="Hers.")
    assert answer.redirect_chain == [(address("proposal", proposal), 302)]
    assert_says(answer, "Approved with changes by Tim Okafor")
    assert_says(answer, "Proposed by scribe, reworded and approved by Tim Okafor.")
    assert goals_now() == text
    history = as_tim.get(reverse("block_history", args=["alice", "goals"]))
    assert_says(history, f"Tim Okafor approved proposal {proposal.pk} by scribe with changes")
    assert_says(as_tim.get(address("proposal", proposal), {"revision": 1}), "added: loves mathematics")


def test_line_breaks_stay_as_the_block_has_them(
    as_tim: Client, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    proposal = propose(make_block(alice, "log", "One.\r\nTwo.\r\n"), "Two.", "Three.")
    send(as_tim, "edit", proposal, text="One.\r\nFour.\r\n")
    assert reads.block("alice", "log").body == "One.\r\nFour.\r\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  \n", "The text is empty."),
        ("{}", "This is the block’s text as it is now."),
        ("x" * 20_001, "The text would have 20,001 characters, 1 over the limit of 20,000."),
    ],
)
def test_what_cannot_be_saved_is_said_beside_the_text(
    as_tim: Client, goals: Block, proposal: Proposal, text: str, said: str
) -> None:
    answer = send(as_tim, "edit", proposal, text=text.replace("{}", goals.body), comment="Kept.")
    assert_says(answer, said, status=422)
    assert form(answer, address("edit", proposal))["comment"] == "Kept."
    assert reads.block("alice", "goals") == goals


def test_an_edit_over_an_edit_shows_what_saving_it_would_undo(as_tim: Client, alice: User, proposal: Proposal) -> None:
    fields = filled(as_tim, "edit", proposal)
    edit(alice, "goals", "in June", "in July")
    answer = as_tim.post(address("edit", proposal), fields)
    assert_says(answer, "The block changed since you opened this page.", "removed: July", status=409)


def test_an_edit_of_a_decided_proposal_is_not_lost(as_tim: Client, alice: User, proposal: Proposal) -> None:
    fields = filled(as_tim, "edit", proposal, text="Mine.\n")
    approve(alice, proposal)
    answer = as_tim.post(address("edit", proposal), fields)
    assert_says(answer, "Alice Berg approved this.", "Mine.", status=409)
    assert not has_form(answer, address("edit", proposal))
    assert as_tim.get(address("edit", proposal)).headers["Location"] == address("proposal", proposal)


def test_a_deleted_block_has_nothing_to_resolve(as_tim: Client, alice: User, goals: Block, proposal: Proposal) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    assert address("resolve", proposal) not in html(as_tim.get(address("proposal", proposal)))
    assert as_tim.get(address("resolve", proposal)).headers["Location"] == address("proposal", proposal)


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def by_scribe(alice: User, tim: User, scribe: Agent) -> notes.ChangeContext:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    return notes.ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.")


def test_a_note_is_edited_and_approved(as_tim: Client, by_scribe: notes.ChangeContext) -> None:
    made = notes.save(by=by_scribe, owner="alice", content="She rows.")
    assert filled(as_tim, "edit", made.proposal)["text"] == "She rows."
    answer = send(as_tim, "edit", made.proposal, text="She rows on Mondays.")
    assert_says(answer, "Approved with changes by Tim Okafor")
    assert reads.note("alice", made.note_id).content == "She rows on Mondays."
    assert fresh(made.proposal).approval == Approval.EDITED


def test_a_note_that_changed_is_resolved(as_tim: Client, alice: User, by_scribe: notes.ChangeContext) -> None:
    mine = notes.ChangeContext(actor=alice)
    id_ = notes.save(by=mine, owner="alice", content="She rows.").note_id
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    notes.update(by=mine, owner="alice", note_id=id_, content="She rows on Mondays.")
    assert_says(as_tim.get(address("resolve", proposal)), "She rows", "on Mondays", "daily")
    both = "She rows on Mondays, and daily in summer."
    assert_says(send(as_tim, "resolve", proposal, text=both), RESOLVED)
    assert reads.note("alice", id_).content == both


# -- place by place -------------------------------------------------------------------------------


@pytest.fixture
def two_conflicts(goals: Block, alice: User, tim: User, scribe: Agent) -> Proposal:
    edits = ("likes math", "loves mathematics"), ("one book", "two books"), ("B2 exam", "C1 exam")
    proposal = change(scribe, *edits)
    edit(alice, "goals", "likes math", "is done with math")
    edit(alice, "goals", "one book", "three books")
    return proposal


def test_each_conflict_is_settled_in_its_own_way(as_tim: Client, two_conflicts: Proposal) -> None:
    assert_says(as_tim.get(address("resolve", two_conflicts)), "Conflict 2 of 2")
    choices = {"choice_1": "now", "choice_2": "own", "own_2": "She reads two or three books."}
    assert_says(send(as_tim, "resolve", two_conflicts, preview="1", **choices), "two or three")
    assert fresh(two_conflicts).status == Status.OPEN
    assert_says(send(as_tim, "resolve", two_conflicts, comment="Asked her.", **choices), RESOLVED)
    for text in ("is done with math.", "She reads two or three books.", "C1 exam"):  # the last one no one else touched
        assert text in goals_now()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"choice_1": "proposed", "own_2": "Typed."}, "Choose which text to keep here."),
        (
            {"choice_1": "proposed", "own_1": "Typed.", "choice_2": "now"},
            "You wrote a text of your own and chose another one.",
        ),
    ],
)
def test_a_choice_that_is_not_clear_is_asked_about(
    as_tim: Client, two_conflicts: Proposal, typed: dict[str, str], said: str
) -> None:
    answer = send(as_tim, "resolve", two_conflicts, **typed)
    assert_says(answer, said, status=422)
    again = form(answer, address("resolve", two_conflicts))
    assert {name: again[name] for name in typed} == typed
    now = {"choice_1": "proposed", "choice_2": "now", "own_1": "", "own_2": ""}
    assert_says(send(as_tim, "resolve", two_conflicts, **now), RESOLVED)
    assert "loves mathematics" in goals_now()
    assert "three books" in goals_now()


def test_the_whole_text_can_be_written_instead(as_tim: Client, two_conflicts: Proposal) -> None:
    page = send(as_tim, "resolve", two_conflicts, choice_1="proposed", comment="Mine.", whole="1")
    whole = form(page, address("resolve", two_conflicts))
    assert "loves mathematics" in whole["text"]
    assert "three books" in whole["text"]
    assert whole["comment"] == "Mine."
    as_tim.post(address("resolve", two_conflicts), whole | {"text": whole["text"] + "More.\n"})
    assert goals_now().endswith("More.\n")


def test_choosing_now_everywhere_keeps_only_what_fits(as_tim: Client, alice: User, proposal: Proposal) -> None:
    edit(alice, "goals", "likes math", "is done with math")
    answer = send(as_tim, "resolve", proposal, choice_1="now")
    assert_says(answer, "This is the block’s text as it is now.", status=422)
