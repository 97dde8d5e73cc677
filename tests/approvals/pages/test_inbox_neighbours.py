"""Several proposals in the review queue: those beside the one that is decided, and the next.

Deciding about one of a block leaves the others ready to be decided. A proposal keeps the list it was opened from, and
its place there.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Mergeability, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.services.recheck import recheck
from memory_app import reads
from memory_app.reads import Block
from tests import environment
from tests.approvals.pages.test_inbox import rows_without_branches
from tests.approvals.recovery.test_faults import nobody_listens
from tests.support import acts
from tests.support.acts import press
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import form, has_form, words

STILL_FITS = "You approved another change to this block a moment ago; this one still fits."


@pytest.fixture
def three(goals: Block, propose: Propose) -> list[Proposal]:
    return [propose(goals, "in June", "in July"), propose(goals, "one book", "two books"), propose(goals, "B2", "C1")]


def approve(client: Client, proposal: Proposal, page: Any, beside: Sequence[Proposal] = ()) -> Any:
    return press(client, page, proposal, beside=",".join(str(each.pk) for each in beside))


def edit(owner: User, label: str, old: str, new: str) -> None:
    acts.edit(owner, label, old, new)
    recheck(owner.username, [["block", label]])


def test_the_rows_beside_an_approved_one_are_renewed_and_keep_their_buttons(
    as_tim: Client, three: list[Proposal]
) -> None:
    first = approve(as_tim, three[0], as_tim.get("/"), three)
    assert words(first).count(STILL_FITS) == 2
    assert f'id="row-{three[0].pk}" data-row="{three[0].pk}">' in first.content.decode()
    for other in three[1:]:
        assert f'id="row-{other.pk}" data-row="{other.pk}" hx-swap-oob="true"' in first.content.decode()
    second = approve(as_tim, three[1], first, three)
    assert second.status_code == 200
    assert words(second).count(STILL_FITS) == 1
    assert approve(as_tim, three[2], second, three).status_code == 200
    body = reads.block("alice", "goals").body
    assert "in July" in body
    assert "two books" in body
    assert "C1" in body


def test_a_row_beside_an_approved_one_that_no_longer_fits_loses_its_buttons(
    as_tim: Client, goals: Block, propose: Propose
) -> None:
    taken, left = propose(goals, "in June", "in July"), propose(goals, "in June", "in May")
    answer = approve(as_tim, taken, as_tim.get("/"), [taken, left])
    assert STILL_FITS not in words(answer)
    assert "no longer fits" in words(answer)
    assert not has_form(answer, reverse("approve", args=[left.pk]))


def test_only_rows_of_the_same_block_that_may_be_seen_are_renewed(
    as_tim: Client, proposal: Proposal, mallory: User, propose: Propose, make_block: MakeBlock
) -> None:
    hidden = propose(make_block(mallory, "goals", "Wants to pass in June.\n"), "in June", "in July")
    answer = press(as_tim, as_tim.get("/"), proposal, beside=f"{hidden.pk},x,-1,{'9' * 400}")
    assert answer.status_code == 200
    content = answer.content.decode()
    assert "hx-swap-oob" not in content.split('id="waiting"')[0].replace(f'id="row-{proposal.pk}"', "")
    assert f"row-{hidden.pk}" not in content


@pytest.mark.parametrize("is_checked", [True, False], ids=["checked again", "a worker that is slow"])
def test_of_a_block_that_changes_once_more_nothing_unseen_is_approved(
    is_checked: bool, as_tim: Client, alice: User, proposal: Proposal
) -> None:
    edit(alice, "goals", "one book", "no books")
    page = as_tim.get("/")
    assert "block changed, still fits" in words(page)
    edit(alice, "goals", "no books", "some books")
    if not is_checked:
        Proposal.objects.filter(pk=proposal.pk).update(mergeability=Mergeability.CLEAN)
    answer = approve(as_tim, proposal, page)
    assert answer.status_code == 409
    assert "The block changed since you opened this page." in words(answer)
    assert "in June" in reads.block("alice", "goals").body
    # The row that comes back is the one on the text as it is now.
    assert approve(as_tim, proposal, answer).status_code == 200
    body = reads.block("alice", "goals").body
    assert "in July" in body
    assert "some books" in body


@pytest.mark.parametrize("too", [False, True], ids=["nobody else", "somebody else too"])
def test_what_one_changed_oneself_is_not_told_as_somebody_elses(
    too: bool, as_tim: Client, alice: User, three: list[Proposal]
) -> None:
    page = as_tim.get("/")
    if too:
        edit(alice, "goals", "likes math", "loves math")
    assert approve(as_tim, three[0], as_tim.get("/")).status_code == 200  # and in the window that was open:
    answer = approve(as_tim, three[1], page, three)
    assert answer.status_code == 409
    assert (STILL_FITS in words(answer)) is not too
    assert ("The block changed since you opened this page." in words(answer)) is too
    assert f'id="row-{three[2].pk}" data-row="{three[2].pk}" hx-swap-oob="true"' in answer.content.decode()
    assert approve(as_tim, three[1], answer).status_code == 200


def test_proposals_about_one_note_are_checked_against_the_note_as_it_is(
    as_alice: Client, alice: User, scribe: Agent
) -> None:
    of: dict[str, Any] = {"by": ChangeContext(actor=scribe), "owner": "alice", "note_id": acts.save(alice)}
    reworded, deleted = notes.update(content="Reads on Fridays.", **of).proposal, notes.delete(**of).proposal
    assert reworded
    assert deleted
    answer = approve(as_alice, reworded, as_alice.get("/"), [deleted])
    assert "no longer fits" in words(answer)
    assert not has_form(answer, reverse("approve", args=[deleted.pk]))


def test_a_list_of_changed_blocks_asks_the_memory_once(
    as_alice: Client, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    for number in range(4):
        block = make_block(alice, f"block_{number}", "One two three four.\n")
        propose(block, "two", "2")
        edit(alice, block.label, "four", "4")
    as_alice.get("/")
    with (
        CaptureQueriesContext(connections["default"]) as default,
        CaptureQueriesContext(connections["memory"]) as memory,
    ):
        page = as_alice.get("/")
    assert words(page).count("block changed, still fits") == 4
    assert len(memory) == 1
    assert len(default) <= 12


def test_a_memory_that_is_away_takes_the_buttons_and_not_the_list(
    as_alice: Client, alice: User, proposal: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(alice, "goals", "one book", "no books")
    assert has_form(as_alice.get("/"), reverse("approve", args=[proposal.pk]))
    connections["memory"].close()
    away = ("NAME", "/nonexistent/x") if environment.is_embedded() else ("PORT", nobody_listens())
    monkeypatch.setitem(connections["memory"].settings_dict, *away)
    page = as_alice.get("/")
    connections["memory"].close()
    assert "Alice said so." in words(page)
    assert not has_form(page, reverse("approve", args=[proposal.pk]))


# -- rows that change the same words ------------------------------------------------------------------


def test_an_amended_proposal_does_not_conflict_with_its_earlier_revision(
    as_tim: Client, goals: Block, propose: Propose, scribe: Agent
) -> None:
    made = propose(goals, "in June", "in July")
    acts.change(scribe, ("in June", "in May"), proposal_id=made.pk)
    assert "Conflicts with" not in words(as_tim.get("/"))


def test_a_row_names_the_others_that_change_the_same_words(as_tim: Client, goals: Block, propose: Propose) -> None:
    july, may = propose(goals, "in June", "in July"), propose(goals, "B2 exam in June", "B2 exam in May")
    books = propose(goals, "one book", "two books")
    page = as_tim.get("/?agent=scribe")
    rows = [row for group in page.context["page"].groups for row in group.rows if row.conflicts]
    assert {row.proposal.pk: row.conflicts for row in rows} == {july.pk: [may.pk], may.pk: [july.pk]}
    assert f"Conflicts with #{may.pk}" in words(page)
    assert f"#{books.pk}" not in words(page)


# -- from one proposal to the next ------------------------------------------------------------------

MUSE = f"?list={quote('agent=muse')}"


@pytest.fixture
def mixed(goals: Block, propose: Propose) -> list[Proposal]:
    """Of scribe and muse in turns, oldest first."""
    muse = Agent.objects.create(name="muse")
    changes = (("June", "July"), ("one book", "two books"), ("B2", "C1"), ("math", "maths"))
    made = [propose(goals, old, new) for old, new in changes]
    Proposal.objects.filter(pk__in=[each.pk for each in made[::2]]).update(agent=muse)
    return made


def address(proposal: Proposal) -> str:
    """Where it is in the list of muse's proposals."""
    return f"{proposal.get_absolute_url()}{MUSE}"


def test_a_proposal_says_where_it_stands_and_what_is_beside_it_that_one_may_see(
    as_tim: Client, mallory: User, make_block: MakeBlock, propose: Propose, mixed: list[Proposal]
) -> None:
    propose(make_block(mallory, "goals", "Chess.\n"), "Chess", "Go")
    last, now, first, _ = (each.get_absolute_url() for each in mixed)
    assert f'href="{last}?list=agent%3Dmuse"' in as_tim.get("/?agent=muse").content.decode()
    assert f'href="{last}"' in as_tim.get("/").content.decode()
    page = as_tim.get(now)
    assert "3 of 4" in words(page)
    assert f'rel="prev" href="{first}"' in page.content.decode()
    assert f'rel="next" href="{last}"' in page.content.decode()
    of_muse = as_tim.get(f"{first}{MUSE}")
    assert "1 of 2" in words(of_muse)
    assert 'rel="prev"' not in of_muse.content.decode()
    assert f'rel="next" href="{last}?list=agent%3Dmuse"' in of_muse.content.decode()
    assert '<a href="/?agent=muse" aria-current="true">Review' in of_muse.content.decode()


@pytest.mark.parametrize("query", ["agent%3Dmuse", "tab%3Ddecided", "%00", "=", "owner%3D" + "x" * 5000])
def test_a_proposal_that_is_not_in_the_list_has_no_place_there(
    query: str, as_tim: Client, mixed: list[Proposal]
) -> None:
    page = as_tim.get(f"{mixed[1].get_absolute_url()}?list={query}")
    assert page.status_code == 200
    if "agent" in query or "tab" in query:
        assert "position" not in page.content.decode()


@pytest.mark.parametrize("htmx", [False, True])
def test_after_a_decision_the_next_is_of_the_same_list(htmx: bool, as_tim: Client, mixed: list[Proposal]) -> None:
    def decide(proposal: Proposal, verb: str, **more: str) -> Any:
        answer = press(as_tim, as_tim.get(address(proposal)), proposal, verb, htmx=htmx, **more)
        return answer if htmx else as_tim.get(answer["Location"])

    answer = decide(mixed[2], "approve")
    content = answer.content.decode()
    assert "Approved by Tim Okafor" in words(answer)
    assert f'href="{address(mixed[0])}" data-next' in content
    done = decide(mixed[0], "reject", reason="wrong")
    assert "That was the last one in this list." in words(done)
    assert '<a class="button" href="/?agent=muse">Back to Review</a>' in done.content.decode()
    assert "data-next" not in done.content.decode()


def links_to(proposal: Proposal, page: Any) -> list[str]:
    """The queries of the links that lead to another view or revision of the proposal."""
    path = re.escape(proposal.get_absolute_url())
    return [unquote(query) for query in re.findall(rf'href="(?:{path})(\?[^"]*)?"', page.content.decode())]


@pytest.mark.parametrize("is_late", [False, True], ids=["decided", "refused"])
@pytest.mark.parametrize("htmx", [False, True])
def test_views_and_revisions_of_a_proposal_keep_the_list_whatever_became_of_a_decision(
    htmx: bool, is_late: bool, as_tim: Client, alice: User, mixed: list[Proposal]
) -> None:
    read = [as_tim.get(address(mixed[0]))]
    edit(alice, "goals", "Alice", "Alice Berg")  # the proposal is applied anew: it gets a second revision
    read.append(as_tim.get(address(mixed[0])))
    page = press(as_tim, read[0 if is_late else 1], mixed[0], htmx=htmx)
    if page.status_code == 302:
        page = as_tim.get(page["Location"])
    assert page.status_code == (409 if is_late else 200)
    found = links_to(mixed[0], page)
    assert [query for query in found if "view=" in query]
    assert is_late or [query for query in found if "revision=" in query]
    assert not [query for query in found if "list=agent=muse" not in unquote(query)]


def test_the_next_one_is_named_with_its_owner(
    as_tim: Client, as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    propose(goals, "one book", "two books")
    first = propose(goals, "in June", "in July")
    services.reject(actor=tim, proposal_id=first.pk, revision=1, reason="wrong")
    assert "Next: Learning goals· Alice Berg" in words(as_tim.get(first.get_absolute_url()))
    assert "Next: Learning goals →" in words(as_alice.get(first.get_absolute_url()))


def test_a_list_outlives_signing_in(as_tim: Client, client: Client, tim: User, mixed: list[Proposal]) -> None:
    approve = reverse("approve", args=[mixed[2].pk])
    refused = client.post(approve, form(as_tim.get(address(mixed[2])), approve) | {"comment": "Fine."})
    answer = acts.sign_in_again(client, tim, refused)
    assert "1 of 2" in words(answer)
    assert form(answer, approve)["list"] == "agent=muse"


def test_a_place_among_many_costs_as_many_queries_as_among_few(
    as_alice: Client, proposal: Proposal, scribe: Agent
) -> None:
    as_alice.get(proposal.get_absolute_url())
    asked = []
    for more in (2, 200):
        rows_without_branches(scribe, more)
        with CaptureQueriesContext(connections["default"]) as queries:
            as_alice.get(proposal.get_absolute_url())
        asked.append(len(queries))
    assert asked[0] == asked[1]
