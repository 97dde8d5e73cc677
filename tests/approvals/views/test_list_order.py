"""The order of the review list, and filters kept under a name."""

from datetime import timedelta

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
from tests.support.pages import form, words

SAVE = reverse("filter_save")


@pytest.fixture
def sixty(alice: User, scribe: Agent) -> list[Proposal]:
    proposals = rows_without_branches(scribe, 60)
    risks = [[], ["contacts_added"], ["links_added"], ["secrets", "links_added"]]
    for number, proposal in enumerate(proposals):
        Proposal.objects.filter(pk=proposal.pk).update(risks=risks[number % 4])
    return proposals


def listed(sort: Sort) -> list[int]:
    """The ids of all pages in turn, and back again to the first."""
    order, waiting = order_of(Tab.YOURS, sort), Proposal.objects.open()
    shown = page(waiting, order)
    pages = [[row.proposal.pk for group in shown.groups for row in group.rows]]
    while shown.older:
        shown = page(waiting, order, before=Key.parse(shown.older))
        pages.append([row.proposal.pk for group in shown.groups for row in group.rows])
    back = page(waiting, order, after=Key.parse(shown.newer))
    assert sorted(row.proposal.pk for group in back.groups for row in group.rows) == sorted(pages[-2])
    return [pk for some in pages for pk in sorted(some)]


@pytest.mark.parametrize("sort", Sort)
def test_every_order_has_each_once_and_leads_back(sort: Sort, sixty: list[Proposal]) -> None:
    assert sorted(listed(sort)) == sorted(each.pk for each in sixty)


def test_oldest_and_riskiest_come_first(as_alice: Client, sixty: list[Proposal]) -> None:
    groups = as_alice.get("/?sort=oldest").context["page"].groups
    oldest = min(Proposal.objects.all(), key=lambda each: each.created_at)
    assert groups[0].rows[0].proposal.pk == oldest.pk
    risky = as_alice.get("/?sort=risk").context["page"]
    shown = [row.proposal.risks for group in risky.groups for row in group.rows]
    assert sum(risks[:1] == ["secrets"] for risks in shown) == 15
    assert [] not in shown


@pytest.mark.parametrize("sort", Sort)
def test_the_place_in_the_list_follows_its_order(sort: Sort, sixty: list[Proposal], alice: User) -> None:
    order = order_of(Tab.YOURS, sort)
    inline = list(order.sorted(Proposal.objects.open()))
    place = place_of(alice, inline[7], Listing(sort=sort))
    assert place is not None
    assert (place.number, place.total) == (8, 60)
    assert (place.newer, place.older) == (inline[6].pk, inline[8].pk)


def test_what_arrives_is_told_in_every_order(as_alice: Client, sixty: list[Proposal]) -> None:
    poll = as_alice.get("/?sort=oldest").context["poll_url"]
    assert as_alice.get(poll, headers={"HX-Request": "true"}).status_code == 204
    Proposal.objects.filter(pk=sixty[0].pk).update(created_at=timezone.now() + timedelta(seconds=5))
    assert "1 new" in words(as_alice.get(poll, headers={"HX-Request": "true"}))


@pytest.mark.parametrize(
    "nonsense", ["sort=nonsense", "sort=risk&before=9r1-1", "sort=risk&before=1-1", "before=xr1-1"]
)
def test_an_unknown_order_breaks_nothing(as_alice: Client, nonsense: str, sixty: list[Proposal]) -> None:
    assert as_alice.get(f"/?{nonsense}").status_code == 200


# -- saved filters -----------------------------------------------------------------------------------


def test_a_filter_is_saved_shown_and_deleted(as_alice: Client, sixty: list[Proposal]) -> None:
    page_ = as_alice.get("/?risk=secrets&sort=oldest")
    sent = form(page_, SAVE) | {"filter_name": "  Secrets   first "}
    answer = as_alice.post(SAVE, sent, follow=True)
    assert "Saved the filter “Secrets first”." in words(answer)
    assert answer.redirect_chain[-1][0] == "/?risk=secrets&sort=oldest"
    assert SavedFilter.objects.get().query == "risk=secrets&sort=oldest"
    assert "Save this filter" not in words(answer)  # it is
    elsewhere = as_alice.get("/")
    assert 'href="/?risk=secrets&amp;sort=oldest"' in elsewhere.content.decode()
    delete = reverse("filter_delete", args=[SavedFilter.objects.get().pk])
    assert "Deleted the filter" in words(as_alice.post(delete, form(elsewhere, delete), follow=True))
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
