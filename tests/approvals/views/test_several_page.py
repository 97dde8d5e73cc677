"""Several rows decided with one press: by the form of the list, with and without JavaScript, and on the page of a
change that is the same for several people."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Batch, Proposal, Tutorship, User
from approvals.recovery.integrity import problems
from memory_app import reads
from tests.conftest import eventually, make_user
from tests.support.acts import change, edit, sign_in_again
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import assert_says, form, html, htmx, words

SEVERAL = reverse("several")


@pytest.fixture
def three(alice: User, make_block: MakeBlock, propose: Propose) -> list[Proposal]:
    blocks = [make_block(alice, f"plan-{n}", f"Plan {n}.\n\nShe reads {n} books.\n") for n in range(3)]
    return [propose(block, f"{n} books", f"{n} long books") for n, block in enumerate(blocks)]


def ticks(client: Client, url: str = "/") -> dict[str, str]:
    """The ticks of a page by name: those stand in rows, outside the form they name."""
    return dict(re.findall(r'name="((?:item|group)-\d+)" value="([^"]+)"', html(client.get(url))))


def decide(client: Client, given: dict[str, str], action: str = "approve", **more: str) -> Any:
    return client.post(SEVERAL, given | {"action": action, "row": "/"} | more, follow=True)


def statuses(*proposals: Proposal) -> list[str]:
    return [Proposal.objects.get(pk=each.pk).status for each in proposals]


def test_what_is_ticked_is_approved_and_the_answer_lists_what_was_left(
    as_tim: Client, three: list[Proposal], alice: User
) -> None:
    given = ticks(as_tim)
    assert set(given) == {f"item-{each.pk}" for each in three}
    edit(alice, "plan-1", "1 books", "one book")
    answer = decide(as_tim, given | form(as_tim.get("/"), SEVERAL))
    assert_says(
        answer, "2 approved, 1 needs a closer look", "Plan-1 · Alice Berg The block changed after this page was made."
    )
    assert statuses(*three) == ["approved", "open", "approved"]
    undo = reverse("undo_several", args=[Proposal.objects.get(pk=three[0].pk).decision_batch])
    assert_says(as_tim.post(undo, form(answer, undo), follow=True), "2 decisions undone")
    assert reads.block("alice", "plan-0").body == "Plan 0.\n\nShe reads 0 books.\n"
    assert_says(as_tim.post(undo, form(answer, undo), follow=True), "2 decisions undone")  # pressed twice
    assert list(problems()) == []


def test_all_that_are_small_and_clean_are_ticked_by_a_link_and_with_htmx_their_rows_are_replaced(
    as_tim: Client, three: list[Proposal], alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    propose(make_block(alice, "long", "Read.\n"), "Read.", "word " * 200)
    assert_says(as_tim.get("/"), "Select all small, safe changes")
    assert_says(as_tim.get("/?ticked=plain"), "3 proposals selected")
    given = ticks(as_tim, "/?ticked=plain")
    assert set(given) == {f"item-{each.pk}" for each in three}
    sent = given | {"action": "approve", "row": "/?q=books", "beside": ",".join(str(each.pk) for each in three)}
    answer = as_tim.post(SEVERAL, sent, headers=htmx(), follow=True)
    assert_says(answer, "3 approved", "Undo all 3")
    assert "data-row" not in html(answer)  # they are one line now, and the list is narrowed to them
    asked_again = as_tim.get(reverse("batch", args=[Batch.objects.get().pk]), headers=htmx("batch"))
    for page in (answer, asked_again):  # beside Review
        assert '<span id="waiting" hx-swap-oob="true"><span class="count count-strong">1<' in page.content.decode()
    assert '<span class="count count-strong" id="count-yours">1</span>' in answer.content.decode()
    for address in ("/", "/?ticked=plain"):  # until it is dismissed, and where the list is loaded again
        assert_says(as_tim.get(address), "3 approved", "Undo all 3")
        assert "data-row" in html(as_tim.get(address))


def test_several_are_rejected_with_one_reason(as_tim: Client, three: list[Proposal]) -> None:
    given = ticks(as_tim)
    refused = decide(as_tim, given, "reject", comment="Not like this.")
    assert refused.status_code == 422
    again = form(refused, SEVERAL)
    assert again["comment"] == "Not like this."  # nothing typed is lost, and the ticks are there
    assert set(given) <= set(again)
    assert_says(decide(as_tim, again, "reject", reason="wrong"), "3 rejected")
    told = Proposal.objects.values_list("decision_reason", "decision_comment")
    assert set(told) == {("wrong", "Not like this.")}


def test_a_form_without_ticks_decides_nothing(as_tim: Client, three: list[Proposal]) -> None:
    for given in ({}, {"item-1": "nonsense"}, {"item-1": "1:1"}, {"item-x": "1:1:-"}, {"item-1": "1:1:zz"}):
        assert_says(decide(as_tim, given), "Nothing is selected.", status=422)
    assert decide(as_tim, {"item-1": "1:1:-"}, "redact").status_code == 422


def test_a_stranger_decides_and_undoes_nothing(as_tim: Client, as_mallory: Client, three: list[Proposal]) -> None:
    given = ticks(as_tim)
    answer = decide(as_mallory, given)
    assert statuses(*three) == ["open"] * 3
    assert "Plan" not in words(answer)
    decide(as_tim, given)
    batch = Proposal.objects.all()[0].decision_batch
    assert as_mallory.post(reverse("undo_several", args=[batch])).status_code == 404
    assert statuses(*three) == ["approved"] * 3


def test_what_was_ticked_survives_an_expired_session(as_tim: Client, three: list[Proposal], tim: User) -> None:
    given = ticks(as_tim)
    as_tim.logout()
    page = sign_in_again(as_tim, tim, decide(as_tim, given, "reject", comment="Typed before."))
    assert_says(page, "Nothing was saved while you were signed out")
    assert "Typed before." in html(page)
    assert html(page).count("data-tick checked") == 3
    assert statuses(*three) == ["open"] * 3


# -- the same change for several people --------------------------------------------------------------


@pytest.fixture
def students(scribe: Agent, tim: User, make_block: MakeBlock, propose: Propose) -> list[Proposal]:
    """Proposals of one change for five students of Tim's, each in a text of their own."""
    made = []
    for number in range(5):
        student = make_user(f"student{number}", first_name=f"Student {number}")
        Tutorship.objects.create(tutor=tim, owner=student)
        block = make_block(student, "goals", f"Goals of student {number}.\n\nThe exam is in May.\n")
        made.append(propose(block, "in May", "in June", reasoning="The exam was moved."))
    return made


def test_one_row_stands_for_the_same_change_of_many(
    as_tim: Client,
    students: list[Proposal],
    three: list[Proposal],
    tim: User,
    make_block: MakeBlock,
    propose: Propose,
    client_of: ClientOf,
    django_assert_max_num_queries: Any,
) -> None:
    other = make_user("other")
    Tutorship.objects.create(tutor=tim, owner=other)
    another = propose(make_block(other, "goals", "The exam is in May.\n"), "in May", "in July")
    page = as_tim.get("/")
    assert_says(page, "5 people The exam was moved.", "Student 4, Student 3", "Approve for all 5")
    assert words(page).count("The exam was moved.") == 3  # in one row: its title, its tick, its button
    own = client_of(User.objects.get(username="student1")).get("/")  # who has one memory is shown each
    assert_says(own, "The exam was moved.")
    assert "5 people" not in words(own)
    with django_assert_max_num_queries(20):
        as_tim.get("/")
    group, given = f"group-{students[-1].pk}", ticks(as_tim)
    assert set(given) == {group, *(f"item-{each.pk}" for each in (*three, another))}
    assert_says(as_tim.get("/?ticked=plain"), "9 proposals selected")
    assert_says(decide(as_tim, {group: given[group]}), "5 approved")
    for number in range(5):
        assert "in June" in reads.block(f"student{number}", "goals").body
    assert "5 people" not in words(as_tim.get("/"))


def test_on_its_page_some_of_them_are_chosen(as_tim: Client, students: list[Proposal]) -> None:
    edit(User.objects.get(username="student2"), "goals", "The exam", "My exam")
    url = reverse("together", args=[students[0].pk])
    page = as_tim.get(url)
    assert_says(page, "scribe proposes the same change for 5 people", "Approve for 4, leave 1")
    assert_says(page, "The text changed since it was proposed. Open it to decide.")
    given = ticks(as_tim, url)
    del given[f"item-{students[1].pk}"]
    assert_says(decide(as_tim, given), "3 approved, 1 needs a closer look", "Goals · Student 2")
    assert statuses(*students) == ["approved", "open", "open", "approved", "approved"]
    # Two are left, and they are still one change.
    assert "for 2 people" in words(as_tim.get(url)) or as_tim.get(url).status_code == 302


def test_a_change_in_several_places_is_shown_whole_once_and_approved_for_all(
    as_tim: Client, students: list[Proposal], scribe: Agent
) -> None:
    """Which a row does not show whole; whose text around it differs is shown with it."""
    places = [("Goals of", "Aims of"), ("exam is", "test is")]
    made = [change(scribe, *places, owner=f"student{number}", label="goals") for number in range(5)]
    other = Agent.objects.create(name="homework-bot")
    change(other, ("Goals of", "Plans of"), owner="student4", label="goals")
    page = as_tim.get(reverse("together", args=[made[0].pk]))
    assert_says(page, "removed: Goals", "added: Aims", "removed: exam", "added: test", "different text around it")
    assert_says(page, "Approve for 4, leave 1", "Conflicts with")
    given = ticks(as_tim, page.request["PATH_INFO"])
    del given[f"item-{made[4].pk}"]
    assert_says(decide(as_tim, given), "4 approved")
    assert reads.block("student0", "goals").body.startswith("Aims of student 0.\n\nThe test is")
    assert statuses(*made) == ["approved"] * 4 + ["open"]


@pytest.fixture
def contested(students: list[Proposal]) -> list[Proposal]:
    """What another agent proposes for two of the five, of the same words."""
    other = Agent.objects.create(name="homework-bot")
    return [change(other, ("in May", "in July"), owner=f"student{number}", label="goals") for number in (0, 3)]


def test_a_group_says_what_collides_and_what_is_clean_collides_with_nothing(
    as_tim: Client, students: list[Proposal], contested: list[Proposal], three: list[Proposal]
) -> None:
    page = as_tim.get("/")
    # By their order on the list, whichever page of it the other stands on.
    assert_says(page, "Approve for 3 of 5", f"Left out: Student 3 (conflicts with #{contested[1].pk}), Student 0 (")
    assert f"conflicts with #{students[0].pk}" in words(page)
    narrowed = as_tim.get("/?agent=scribe&ticked=plain")
    assert_says(narrowed, "6 proposals selected")
    chosen = {pair.split(":")[0] for value in ticks(as_tim, "/?ticked=plain").values() for pair in value.split()}
    assert chosen == {str(each.pk) for each in (*three, students[1], students[2], students[4])}


def test_all_that_are_plain_are_on_one_page_also_those_of_later_pages(
    as_tim: Client, alice: User, make_block: MakeBlock, propose: Propose, settings: Any
) -> None:
    settings.PENDING_CAP = 30
    for number in range(28):
        propose(make_block(alice, f"plan-{number}", f"She reads {number} books.\n"), f"{number} books", "a book")
    assert len(ticks(as_tim)) == 25
    assert_says(as_tim.get("/?ticked=plain"), "28 proposals selected")
    decide(as_tim, ticks(as_tim, "/?ticked=plain"))
    # What the request does not get through on a busy machine is done behind it.
    page = reverse("batch", args=[Batch.objects.get().pk])
    assert eventually(lambda: "28 approved" in words(as_tim.get(page)), seconds=60)


@pytest.mark.usefixtures("worker")
def test_the_outcome_names_what_no_longer_fits(
    as_tim: Client, students: list[Proposal], contested: list[Proposal]
) -> None:
    seen = {f"item-{each.pk}": f"{each.pk}:1:{each.current_revision.base_sha256}" for each in students}
    assert_says(decide(as_tim, seen), "5 approved")
    page = reverse("batch", args=[Batch.objects.get().pk])
    eventually(lambda: "2 proposals of homework-bot no longer fit." in words(as_tim.get(page)))
    assert_says(as_tim.get("/?agent=homework-bot&state=conflict"), "2 proposals found")
