"""From one proposal to the next: the list it was opened from, its place there, and what follows a decision."""

import re
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.approvals.pages.test_inbox import rows_without_branches
from tests.support.acts import edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import form, words

HTMX = {"HX-Request": "true"}
MUSE = f"?list={quote('agent=muse')}"


@pytest.fixture
def mixed(goals: Block, propose: Propose) -> list[Proposal]:
    """Of scribe and muse in turns, oldest first."""
    muse = Agent.objects.create(name="muse")
    made = []
    for old, new in (("June", "July"), ("one book", "two books"), ("B2", "C1"), ("math", "maths")):
        made.append(propose(goals, old, new))
        made[-1].refresh_from_db()
    for each in made[::2]:
        Proposal.objects.filter(pk=each.pk).update(agent=muse)
    return made


def test_a_proposal_says_where_it_stands_and_what_is_beside_it(
    client_of: ClientOf, tim: User, mixed: list[Proposal]
) -> None:
    client = client_of(tim)
    assert f'href="/proposals/{mixed[0].pk}/?list=agent%3Dmuse"' in client.get("/?agent=muse").content.decode()
    assert f'href="/proposals/{mixed[0].pk}/"' in client.get("/").content.decode()
    page = client.get(f"/proposals/{mixed[1].pk}/")
    assert "3 of 4" in words(page)
    assert f'rel="prev" href="/proposals/{mixed[2].pk}/"' in page.content.decode()
    assert f'rel="next" href="/proposals/{mixed[0].pk}/"' in page.content.decode()
    first = client.get(f"/proposals/{mixed[2].pk}/{MUSE}")
    assert "1 of 2" in words(first)
    assert 'rel="prev"' not in first.content.decode()
    assert f'rel="next" href="/proposals/{mixed[0].pk}/?list=agent%3Dmuse"' in first.content.decode()
    assert '<a href="/?agent=muse">Review</a>' in first.content.decode()


@pytest.mark.parametrize("query", ["agent%3Dmuse", "tab%3Ddecided", "%00", "=", "owner%3D" + "x" * 5000])
def test_a_proposal_that_is_not_in_the_list_has_no_place_there(
    query: str, client_of: ClientOf, tim: User, mixed: list[Proposal]
) -> None:
    page = client_of(tim).get(f"/proposals/{mixed[1].pk}/?list={query}")
    assert page.status_code == 200
    if "agent" in query or "tab" in query:
        assert "position" not in page.content.decode()


def test_nobody_is_counted_who_may_not_be_seen(
    client_of: ClientOf, tim: User, mallory: User, make_block: MakeBlock, propose: Propose, mixed: list[Proposal]
) -> None:
    propose(make_block(mallory, "goals", "Chess.\n"), "Chess", "Go")
    assert "1 of 4" in words(client_of(tim).get(f"/proposals/{mixed[3].pk}/"))


@pytest.mark.parametrize("htmx", [False, True])
def test_after_a_decision_the_next_is_of_the_same_list(
    htmx: bool, client_of: ClientOf, tim: User, mixed: list[Proposal]
) -> None:
    client = client_of(tim)
    approve = reverse("approve", args=[mixed[2].pk])
    fields = form(client.get(f"/proposals/{mixed[2].pk}/{MUSE}"), approve)
    answer = client.post(approve, fields, headers=HTMX if htmx else {}, follow=True)
    content = answer.content.decode()
    assert "Approved by Tim Okafor" in words(answer)
    assert f'href="/proposals/{mixed[0].pk}/?list=agent%3Dmuse" data-next' in content
    assert '<a class="button" href="/?agent=muse">Back to Review</a>' in content
    reject = reverse("reject", args=[mixed[0].pk])
    last = form(client.get(f"/proposals/{mixed[0].pk}/{MUSE}"), reject) | {"reason": "wrong"}
    done = client.post(reject, last, headers=HTMX if htmx else {}, follow=True)
    assert "That was the last one in this list." in words(done)
    assert "data-next" not in done.content.decode()


def links_to(proposal: Proposal, page: Any) -> list[str]:
    """The queries of the links that lead to another view or revision of the proposal."""
    address = re.escape(f"/proposals/{proposal.pk}/")
    return [unquote(query) for query in re.findall(rf'href="(?:{address})(\?[^"]*)?"', page.content.decode())]


@pytest.mark.parametrize("is_late", [False, True], ids=["decided", "refused"])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_views_and_revisions_of_a_proposal_keep_the_list_whatever_became_of_a_decision(
    headers: dict[str, str], is_late: bool, client_of: ClientOf, tim: User, alice: User, mixed: list[Proposal]
) -> None:
    client = client_of(tim)
    approve_url = reverse("approve", args=[mixed[0].pk])
    read = [client.get(f"/proposals/{mixed[0].pk}/{MUSE}")]
    edit(alice, "goals", "Alice", "Alice Berg")  # the proposal is applied anew: it gets a second revision
    read.append(client.get(f"/proposals/{mixed[0].pk}/{MUSE}"))
    fields = form(read[0 if is_late else 1], approve_url)
    page = client.post(approve_url, fields, headers=headers, follow=not headers)
    assert page.status_code == (409 if is_late else 200)
    found = links_to(mixed[0], page)
    assert [query for query in found if "view=" in query]
    assert is_late or [query for query in found if "revision=" in query]
    assert not [query for query in found if "list=agent=muse" not in unquote(query)]


def test_the_next_one_is_named_with_its_owner(
    client_of: ClientOf, tim: User, alice: User, goals: Block, propose: Propose
) -> None:
    following, first = propose(goals, "one book", "two books"), propose(goals, "in June", "in July")
    services.reject(actor=tim, proposal_id=first.pk, revision=1, reason="wrong")
    assert "Next: Learning goals· Alice Berg" in words(client_of(tim).get(first.get_absolute_url()))
    own = words(client_of(alice).get(first.get_absolute_url()))
    assert "Next: Learning goals →" in own
    assert following.pk


def test_a_list_outlives_signing_in(client_of: ClientOf, client: Any, tim: User, mixed: list[Proposal]) -> None:
    tim.set_password("a long enough passphrase")
    tim.save()
    signed_in = client_of(tim)
    approve = reverse("approve", args=[mixed[2].pk])
    fields = form(signed_in.get(f"/proposals/{mixed[2].pk}/{MUSE}"), approve)
    asked = client.post(approve, fields | {"comment": "Fine."})
    assert asked.status_code == 401
    go_on = reverse("sign_in_and_go_on")
    typed = {"username": "tim", "password": "a long enough passphrase"}
    answer = client.post(go_on, form(asked, go_on) | typed, follow=True)
    assert "1 of 2" in words(answer)
    assert form(answer, approve)["list"] == "agent=muse"


def test_a_place_among_many_costs_as_many_queries_as_among_few(
    client_of: ClientOf, alice: User, goals: Block, scribe: Agent, propose: Propose
) -> None:
    waiting = propose(goals, "in June", "in July")
    client = client_of(alice)
    client.get(waiting.get_absolute_url())
    asked = []
    for more in (2, 200):
        rows_without_branches(scribe, more)
        with CaptureQueriesContext(connections["default"]) as queries:
            client.get(waiting.get_absolute_url())
        asked.append(len(queries))
    assert asked[0] == asked[1]
