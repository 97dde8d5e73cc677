"""The order of the review list, and filters kept under a name."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Proposal, SavedFilter, User
from approvals.pages import inbox, inbox_filters
from approvals.pages.inbox import last_decisions, listed, looked_until, next_for, order_of, page, place_of
from approvals.pages.inbox_filters import Key, Listing, Sort, Tab, filter_menu
from approvals.services.errors import Refusal
from tests.approvals.pages.test_inbox import rows_without_branches
from tests.support.pages import assert_says, form, html, htmx, words
from tests.support.rows_read import rows_read

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


@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_a_filter_without_an_index_looks_through_a_large_list_in_parts_and_says_so(
    sort: str, sixty: list[Proposal], as_alice: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "MOST_LOOKED_THROUGH", 20)
    address, parts = f"/?risk=secrets&sort={sort}", list[list[int]]()
    while address:
        shown = as_alice.get(address)
        listed_here, is_last = shown.context["page"], len(parts) == 2
        parts.append([row.proposal.pk for group in listed_here.groups for row in group.rows])
        said = "Only 20 proposals were looked through. The next page goes on with the others."
        assert (said in words(shown)) == bool(listed_here.older) == (not is_last), parts
        address = f"/?risk=secrets&sort={sort}&before={listed_here.older}" if listed_here.older else ""
    order = order_of(Tab.YOURS, Sort(sort))
    found = order.sorted(Proposal.objects.filter(risks__icontains="secrets"))
    assert [pk for some in parts for pk in some] == [each.pk for each in found]
    back = as_alice.get(f"/?risk=secrets&sort={sort}&after={order.key(found[14])}").context["page"]
    assert [row.proposal.pk for group in back.groups for row in group.rows] == [each.pk for each in found[9:14]]
    place = place_of(alice, found[1], Listing.parse(f"risk=secrets&sort={sort}"))
    assert place is not None
    assert (place.number, place.total) == (2, 5)
    assert "Only 20 proposals" in words(as_alice.get("/?sort=risk"))
    assert "Only 20 proposals" not in words(as_alice.get("/"))
    assert "Only 20 proposals" not in words(as_alice.get("/?owner=alice"))


@pytest.mark.skipif(connection.vendor != "sqlite", reason="plans by what is in the tables, and these are small")
def test_twenty_times_the_proposals_cost_a_list_no_more(
    alice: User, scribe: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff = User.objects.create_user("root", is_staff=True)
    monkeypatch.setattr(inbox, "MOST_LOOKED_THROUGH", 50)
    monkeypatch.setattr(inbox_filters, "NEWEST_OFFERED", 50)

    def looks() -> dict[str, int]:
        every, one = Proposal.objects.all(), Proposal.objects.filter(status="open").latest("created_at")
        asked: dict[str, Callable[[], object]] = {"last": partial(last_decisions, every)}
        count = every.count()
        for query in (
            "",
            "q=nowhere",
            "risk=hidden_characters",
            "kind=delete",
            "agent=scribe",
            "target=goals",
            "by=root",
        ):
            for tab in ("yours", "decided"):
                listing = Listing.parse(f"tab={tab}&{query}")
                if query:
                    asked[f"{tab} {query}"] = partial(page, listed(every, listing, staff), order_of(listing.tab))
                asked[f"end of {tab} {query}"] = partial(looked_until, every, listing, None)
                asked[f"menu of {tab}"] = partial(filter_menu, every, None, listing, count=count)
            if query:
                asked[f"place {query}"] = partial(place_of, staff, one, Listing.parse(query))
                asked[f"next {query}"] = partial(next_for, staff, one, Listing.parse(query))
        return {name: rows_read(ask) for name, ask in asked.items()}

    def add(count: int) -> None:
        made = rows_without_branches(scribe, count)
        for each in made:
            each.owner = f"owner-{each.pk}"
        Proposal.objects.bulk_update(made, ["owner"], batch_size=500)
        some = Proposal.objects.filter(pk__in=[each.pk for each in made[::2]])
        some.update(status="rejected", decided_at=F("created_at"), decided_by=staff)

    add(100)
    small = looks()
    add(1_900)
    large = looks()
    grown = {name: (small[name], read) for name, read in large.items() if read > 2 * small[name] + 20}
    assert not grown, grown


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
