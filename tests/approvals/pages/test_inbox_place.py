"""From one proposal to the next: the list it was opened from, its place there, and what follows a decision."""

import re
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.approvals.pages.test_inbox import rows_without_branches
from tests.support.acts import edit, press, sign_in_again
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import form, words

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
    assert '<a href="/?agent=muse">Review</a>' in of_muse.content.decode()


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
    assert '<a class="button" href="/?agent=muse">Back to Review</a>' in content
    done = decide(mixed[0], "reject", reason="wrong")
    assert "That was the last one in this list." in words(done)
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
    answer = sign_in_again(client, tim, refused)
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
