"""The pages on which a person writes what is approved: editing a proposal, and resolving a conflict."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Approval, Policy, Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.views.test_proposal_page import url
from tests.support.acts import approve, change, edit, sign_in_again
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import form, has_form, words


@pytest.fixture
def proposal(goals: Block, tim: User, propose: Propose) -> Proposal:
    return propose(goals, "likes math", "loves mathematics")


def edit_url(proposal: Proposal) -> str:
    return reverse("edit", args=[proposal.pk])


def resolve_url(proposal: Proposal) -> str:
    return reverse("resolve", args=[proposal.pk])


def fields_of(client: Client, address: str) -> dict[str, Any]:
    return form(client.get(address), address)


def test_the_page_leads_to_the_editor_with_the_proposed_text(as_tim: Client, goals: Block, proposal: Proposal) -> None:
    assert f'href="{edit_url(proposal)}"' in as_tim.get(url(proposal)).content.decode()
    page = as_tim.get(edit_url(proposal))
    assert form(page, edit_url(proposal))["text"] == goals.body.replace("likes math", "loves mathematics")
    assert "Your changes to what scribe proposed None yet." in words(page)


def test_the_breadcrumb_leads_back_to_the_list_one_came_from(
    as_tim: Client, alice: User, goals: Block, propose: Propose
) -> None:
    back = '<a href="/?agent=scribe">Review</a>'
    proposal = propose(goals, "likes math", "loves mathematics")
    assert back in as_tim.get(edit_url(proposal), {"list": "agent=scribe"}).content.decode()
    assert '<a href="/">Review</a>' in as_tim.get(edit_url(proposal)).content.decode()
    edit(alice, "goals", "likes math", "is done with math")
    assert back in as_tim.get(resolve_url(proposal), {"list": "agent=scribe"}).content.decode()


def test_the_preview_shows_what_would_change_and_decides_nothing(as_tim: Client, proposal: Proposal) -> None:
    fields = fields_of(as_tim, edit_url(proposal))
    fields["text"] = fields["text"].replace("loves mathematics", "enjoys algebra")
    page = as_tim.post(edit_url(proposal), fields | {"preview": "1", "comment": "Hers."})
    assert page.status_code == 200
    said = words(page)
    assert "added: enjoys algebra" in said
    assert "removed: loves mathematics" in said
    again = form(page, edit_url(proposal))
    assert (again["text"], again["comment"]) == (fields["text"], "Hers.")
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN


def test_the_edited_text_is_approved_and_both_are_named(as_tim: Client, goals: Block, proposal: Proposal) -> None:
    fields = fields_of(as_tim, edit_url(proposal))
    text = fields["text"].replace("loves mathematics", "enjoys algebra").replace("\n", "\r\n")
    answer = as_tim.post(edit_url(proposal), fields | {"text": text, "comment": "Hers."}, follow=True)
    assert answer.redirect_chain == [(url(proposal), 302)]
    said = words(answer)
    assert "Approved with changes by Tim Okafor" in said
    assert "Proposed by scribe, reworded and approved by Tim Okafor." in said
    assert reads.block("alice", "goals").body == goals.body.replace("likes math", "enjoys algebra")
    history = words(as_tim.get(reverse("block_history", args=["alice", "goals"])))
    assert f"Tim Okafor approved proposal {proposal.pk} by scribe with changes" in history
    as_proposed = words(as_tim.get(f"{url(proposal)}?revision=1"))
    assert "added: loves mathematics" in as_proposed


def test_line_breaks_stay_as_the_block_has_them(
    as_tim: Client, tim: User, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    block = make_block(alice, "log", "One.\r\nTwo.\r\n")
    proposal = propose(block, "Two.", "Three.")
    fields = fields_of(as_tim, edit_url(proposal))
    as_tim.post(edit_url(proposal), fields | {"text": "One.\r\nFour.\r\n"})
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
    fields = fields_of(as_tim, edit_url(proposal))
    answer = as_tim.post(edit_url(proposal), fields | {"text": text.replace("{}", goals.body), "comment": "Kept."})
    assert answer.status_code == 422
    assert said in words(answer)
    assert form(answer, edit_url(proposal))["comment"] == "Kept."
    assert reads.block("alice", "goals") == goals


def test_an_edit_over_an_edit_keeps_both_texts(as_tim: Client, alice: User, proposal: Proposal) -> None:
    fields = fields_of(as_tim, edit_url(proposal))
    mine = fields["text"].replace("loves mathematics", "enjoys algebra")
    edit(alice, "goals", "in June", "in July")
    answer = as_tim.post(edit_url(proposal), fields | {"text": mine, "comment": "Hers."})
    assert answer.status_code == 409
    said = words(answer)
    assert "The block changed since you opened this page." in said
    assert "Your text is still in the form." in said
    # What saving it now would undo of alice's is in view.
    assert "removed: July" in said
    again = form(answer, edit_url(proposal))
    assert (again["text"], again["comment"]) == (mine, "Hers.")
    assert "July" in reads.block("alice", "goals").body
    as_tim.post(edit_url(proposal), again | {"text": mine.replace("in June", "in July")})
    body = reads.block("alice", "goals").body
    assert "enjoys algebra" in body
    assert "in July" in body


def test_an_edit_of_a_decided_proposal_is_not_lost(as_tim: Client, alice: User, proposal: Proposal) -> None:
    fields = fields_of(as_tim, edit_url(proposal))
    approve(alice, proposal)
    answer = as_tim.post(edit_url(proposal), fields | {"text": "Mine.\n"})
    assert answer.status_code == 409
    assert "Alice Berg approved this." in words(answer)
    assert "Mine." in words(answer)
    assert not has_form(answer, edit_url(proposal))
    assert as_tim.get(edit_url(proposal)).headers["Location"] == url(proposal)


# -- conflicts ------------------------------------------------------------------------------------


@pytest.fixture
def conflict(alice: User, proposal: Proposal) -> Proposal:
    edit(alice, "goals", "likes math", "is done with math")
    return proposal


def test_a_conflict_leads_to_its_own_page(as_tim: Client, conflict: Proposal) -> None:
    page = as_tim.get(url(conflict)).content.decode()
    assert f'href="{resolve_url(conflict)}"' in page
    assert f'href="{edit_url(conflict)}"' not in page
    assert as_tim.get(edit_url(conflict)).headers["Location"] == resolve_url(conflict)


def test_a_deleted_block_has_nothing_to_resolve(as_tim: Client, alice: User, goals: Block, proposal: Proposal) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    assert resolve_url(proposal) not in as_tim.get(url(proposal)).content.decode()
    assert as_tim.get(resolve_url(proposal)).headers["Location"] == url(proposal)


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def by_scribe(alice: User, tim: User, scribe: Agent) -> notes.ChangeContext:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    return notes.ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.")


def test_a_note_is_edited_and_approved(as_tim: Client, by_scribe: notes.ChangeContext) -> None:
    made = notes.save(by=by_scribe, owner="alice", content="She rows.")
    assert made.proposal
    fields = fields_of(as_tim, edit_url(made.proposal))
    assert fields["text"] == "She rows."
    answer = as_tim.post(edit_url(made.proposal), fields | {"text": "She rows on Mondays."}, follow=True)
    assert "Approved with changes by Tim Okafor" in words(answer)
    assert reads.note("alice", made.note_id).content == "She rows on Mondays."
    made.proposal.refresh_from_db()
    assert made.proposal.approval == Approval.EDITED


def test_a_note_that_changed_is_resolved(as_tim: Client, alice: User, by_scribe: notes.ChangeContext) -> None:
    mine = notes.ChangeContext(actor=alice)
    id_ = notes.save(by=mine, owner="alice", content="She rows.").note_id
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    assert proposal
    notes.update(by=mine, owner="alice", note_id=id_, content="She rows on Mondays.")
    page = as_tim.get(resolve_url(proposal))
    for text in ("She rows", "on Mondays", "daily"):
        assert text in words(page)
    fields = form(page, resolve_url(proposal))
    answer = as_tim.post(
        resolve_url(proposal), fields | {"text": "She rows on Mondays, and daily in summer."}, follow=True
    )
    assert "Approved by Tim Okafor after resolving a conflict" in words(answer)
    assert reads.note("alice", id_).content == "She rows on Mondays, and daily in summer."


# -- place by place -------------------------------------------------------------------------------


@pytest.fixture
def two_conflicts(goals: Block, alice: User, tim: User, scribe: Agent) -> Proposal:
    edits = ("likes math", "loves mathematics"), ("one book", "two books"), ("B2 exam", "C1 exam")
    proposal = change(scribe, *edits)
    edit(alice, "goals", "likes math", "is done with math")
    edit(alice, "goals", "one book", "three books")
    return proposal


def test_each_conflict_is_settled_in_its_own_way(as_tim: Client, two_conflicts: Proposal) -> None:
    address = resolve_url(two_conflicts)
    page = as_tim.get(address)
    assert "Conflict 2 of 2" in words(page)
    fields = form(page, address) | {"choice_1": "now", "choice_2": "own", "own_2": "She reads two or three books."}
    preview = as_tim.post(address, fields | {"preview": "1"})
    assert "two or three" in words(preview)
    two_conflicts.refresh_from_db()
    assert two_conflicts.status == Status.OPEN
    answer = as_tim.post(address, fields | {"comment": "Asked her."}, follow=True)
    assert "Approved by Tim Okafor after resolving a conflict" in words(answer)
    body = reads.block("alice", "goals").body
    assert "is done with math." in body
    assert "She reads two or three books." in body
    # What no one else touched is taken as proposed.
    assert "C1 exam" in body


def test_a_conflict_that_is_not_decided_is_asked_about(as_tim: Client, two_conflicts: Proposal) -> None:
    address = resolve_url(two_conflicts)
    fields = fields_of(as_tim, address) | {"choice_1": "proposed", "own_2": "Typed."}
    answer = as_tim.post(address, fields)
    assert answer.status_code == 422
    assert "Choose which text to keep here." in words(answer)
    again = form(answer, address)
    assert (again["choice_1"], again["own_2"]) == ("proposed", "Typed.")


def test_the_whole_text_can_be_written_instead(as_tim: Client, two_conflicts: Proposal) -> None:
    address = resolve_url(two_conflicts)
    fields = fields_of(as_tim, address) | {"choice_1": "proposed", "comment": "Mine."}
    page = as_tim.post(address, fields | {"whole": "1"})
    whole = form(page, address)
    assert "loves mathematics" in whole["text"]
    assert "three books" in whole["text"]
    assert whole["comment"] == "Mine."
    as_tim.post(address, whole | {"text": whole["text"] + "More.\n"})
    assert reads.block("alice", "goals").body.endswith("More.\n")


def test_a_conflict_that_changed_meanwhile_is_shown_again_with_what_was_typed(
    as_tim: Client, alice: User, two_conflicts: Proposal
) -> None:
    address = resolve_url(two_conflicts)
    fields = fields_of(as_tim, address) | {"choice_1": "now", "choice_2": "own", "own_2": "Typed.", "comment": "Hers."}
    edit(alice, "goals", "# Goals", "# My goals")
    answer = as_tim.post(address, fields)
    assert answer.status_code == 409
    assert "The block changed since you opened this page." in words(answer)
    again = form(answer, address)
    assert [again[name] for name in ("choice_1", "choice_2", "own_2", "comment")] == ["now", "own", "Typed.", "Hers."]
    as_tim.post(address, again)
    body = reads.block("alice", "goals").body
    assert body.startswith("# My goals")
    assert "Typed." in body


def test_choosing_now_everywhere_keeps_only_what_fits(as_tim: Client, conflict: Proposal) -> None:
    address = resolve_url(conflict)
    answer = as_tim.post(address, fields_of(as_tim, address) | {"choice_1": "now"})
    assert answer.status_code == 422
    assert "This is the block’s text as it is now." in words(answer)


def test_choices_outlive_an_expired_session(as_tim: Client, tim: User, two_conflicts: Proposal) -> None:
    address = resolve_url(two_conflicts)
    fields = fields_of(as_tim, address) | {"choice_1": "proposed", "choice_2": "own", "own_2": "Typed."}
    as_tim.logout()
    answer = sign_in_again(as_tim, tim, as_tim.post(address, fields))
    again = form(answer, address)
    assert [again[name] for name in ("choice_1", "choice_2", "own_2")] == ["proposed", "own", "Typed."]
