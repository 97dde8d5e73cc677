"""The order of the review list, and filters kept under a name."""

from datetime import timedelta
from itertools import chain
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Proposal, SavedFilter, User
from approvals.pages.inbox import order_of, page, place_of
from approvals.pages.inbox_filters import Key, Listing, Sort, Tab
from approvals.services.errors import Refusal
from tests.approvals.pages.test_inbox import rows_without_branches
from tests.support.pages import assert_says, form, html, htmx, words

SAVE = reverse("filter_save")


@pytest.fixture
def sixty(alice: User, scribe: Agent) -> list[Proposal]:
    proposals = rows_without_branches(scribe, 60)
    risks = [[], ["contacts_added"], ["links_added"], ["secrets", "links_added"]]
    for number, proposal in enumerate(proposals):
        Proposal.objects.filter(pk=proposal.pk).update(risks=risks[number % 4])
    return proposals


@pytest.mark.parametrize("sort", Sort)
def test_every_order_has_each_once_leads_back_and_says_the_place(
    sort: Sort, sixty: list[Proposal], alice: User
) -> None:
    order, waiting = order_of(Tab.YOURS, sort), Proposal.objects.open()

    def ids_on(shown: Any) -> list[int]:
        return sorted(row.proposal.pk for group in shown.groups for row in group.rows)

    shown = page(waiting, order)
    pages = [ids_on(shown)]
    while shown.older:
        shown = page(waiting, order, before=Key.parse(shown.older))
        pages.append(ids_on(shown))
    assert sorted(chain(*pages)) == sorted(each.pk for each in sixty)
    assert ids_on(page(waiting, order, after=Key.parse(shown.newer))) == pages[-2]
    inline = list(order.sorted(waiting))
    place = place_of(alice, inline[7], Listing(sort=sort))
    assert place is not None
    assert (place.number, place.total) == (8, 60)
    assert (place.newer, place.older) == (inline[6].pk, inline[8].pk)


def test_oldest_and_riskiest_come_first_and_what_arrives_is_told(as_alice: Client, sixty: list[Proposal]) -> None:
    context = as_alice.get("/?sort=oldest").context
    oldest = min(Proposal.objects.all(), key=lambda each: each.created_at)
    assert context["page"].groups[0].rows[0].proposal.pk == oldest.pk
    risky = as_alice.get("/?sort=risk").context["page"]
    shown = [row.proposal.risks for group in risky.groups for row in group.rows]
    assert sum(risks[:1] == ["secrets"] for risks in shown) == 15
    assert [] not in shown
    assert as_alice.get(context["poll_url"], headers=htmx()).status_code == 204
    Proposal.objects.filter(pk=sixty[0].pk).update(created_at=timezone.now() + timedelta(seconds=5))
    assert_says(as_alice.get(context["poll_url"], headers=htmx()), "1 new")
    for nonsense in ("sort=nonsense", "sort=risk&before=9r1-1", "sort=risk&before=1-1", "before=xr1-1"):
        assert as_alice.get(f"/?{nonsense}").status_code == 200


# -- saved filters -----------------------------------------------------------------------------------


def test_a_filter_is_saved_shown_and_deleted(as_alice: Client, sixty: list[Proposal]) -> None:
    sent = form(as_alice.get("/?risk=secrets&sort=oldest"), SAVE) | {"filter_name": "  Secrets   first "}
    answer = as_alice.post(SAVE, sent, follow=True)
    assert_says(answer, "Saved the filter “Secrets first”.")
    assert answer.redirect_chain[-1][0] == "/?risk=secrets&sort=oldest"
    assert SavedFilter.objects.get().query == "risk=secrets&sort=oldest"
    assert "Save this filter" not in words(answer)  # it is
    elsewhere = as_alice.get("/")
    assert 'href="/?risk=secrets&amp;sort=oldest"' in html(elsewhere)
    delete = reverse("filter_delete", args=[SavedFilter.objects.get().pk])
    assert_says(as_alice.post(delete, form(elsewhere, delete), follow=True), "Deleted the filter")
    assert as_alice.post(delete, follow=True).status_code == 200  # pressed twice
    assert not SavedFilter.objects.exists()


def test_one_name_is_one_filter_and_no_more_than_twenty_are_kept(alice: User) -> None:
    for number in (*range(20), 19):
        services.save_filter(actor=alice, name=f"{number}", query=f"q={number}x")
    services.save_filter(actor=alice, name="19", query="q=milk")
    assert alice.saved_filters.get(name="19").query == "q=milk"
    with pytest.raises(Refusal, match="20 saved filters"):
        services.save_filter(actor=alice, name="one more", query="q=x")
    assert alice.saved_filters.count() == 20


def test_what_cannot_be_kept_says_why(alice: User) -> None:
    for name, query, why in (
        (" \0 ", "q=x", "Give the filter a name"),
        ("n" * 41, "q=x", "at most 40"),
        ("All", "", "no filter to save"),
        ("Long", "q=" + "x" * 600, "too long"),
    ):
        with pytest.raises(Refusal, match=why):
            services.save_filter(actor=alice, name=name, query=query)
    assert not SavedFilter.objects.exists()


def test_nobody_sees_or_deletes_anothers(as_alice: Client, ben: User) -> None:
    saved = services.save_filter(actor=ben, name="Zebrafinch", query="q=x")
    assert "Zebrafinch" not in words(as_alice.get("/"))
    as_alice.post(reverse("filter_delete", args=[saved.pk]))
    assert SavedFilter.objects.get() == saved
