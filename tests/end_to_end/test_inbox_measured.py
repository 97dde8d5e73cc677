"""How much the list asks of its reader: controls, where the first change is, keys and clicks for twenty-five."""

from typing import Any
from urllib.parse import urljoin

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from approvals.models import Agent, Batch, Proposal, Tutorship, User
from tests.conftest import make_user
from tests.end_to_end.conftest import WindowOf
from tests.support.acts import approve, change
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

BODY = """## This term

I want to pass *Analysis II* in February.

- Homework by **Sunday evening**
- Two sessions a week with Tim

| course | date | state |
|---|---|---|
| Stochastik | 19 February | not enrolled yet |
"""

#: What can be pressed or typed into, seen by a reader; on the page and on its first screen.
CONTROLS = """() => {
    const seen = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
        .filter(each => each.checkVisibility({visibilityProperty: true, opacityProperty: true}))
        .map(each => each.getBoundingClientRect()).filter(box => box.width > 1 && box.height > 1);
    return [seen.length, seen.filter(box => box.top < innerHeight && box.bottom > 0).length];
}"""
TOP = "element => Math.round(element.getBoundingClientRect().top)"


@pytest.fixture
def waiting(
    alice: User, tim: User, scribe: Agent, make_block: MakeBlock, propose: Propose, settings: Any
) -> list[Proposal]:
    """Twenty-five rows about five people: small changes, a table, three places at once, and one with a warning."""
    settings.PENDING_CAP = 30
    people = [alice, *(make_user(f"student{number}", first_name=f"Student {number}") for number in range(4))]
    for student in people[1:]:
        Tutorship.objects.create(tutor=tim, owner=student)
    # Who has decided before is no newcomer, who is told what the list is for.
    approve(tim, propose(make_block(alice, "first", BODY), "Tim", "Tim B."))
    made = []
    for number in range(25):
        block = make_block(people[number % 5], f"goals-{number}", BODY, title=f"Goals {number}")
        reason = f"Tim moved the deadline of sheet {number} for everyone who hands it in on paper."
        if number % 5 == 3:
            edits = [("February.", f"March {number}."), ("Two sessions", f"{number} sessions"), ("Sunday", "Monday")]
            made.append(change(scribe, *edits, owner=block.owner, label=block.label, reasoning=reason))
        elif number % 5 == 4:
            made.append(propose(block, "not enrolled yet", f"enrolled as {number}", reasoning=reason))
        else:
            made.append(propose(block, "Sunday evening", f"Monday at {number}", reasoning=reason))
    return made


@pytest.mark.parametrize(
    ("width", "height", "most", "most_first", "lowest"),
    [(1280, 800, 60, 18, 200), (390, 844, 60, 14, 260)],
)
def test_the_list_asks_for_little_and_begins_high(
    width: int,
    height: int,
    most: int,
    most_first: int,
    lowest: int,
    window_of: WindowOf,
    tim: User,
    waiting: list[Proposal],
) -> None:
    window = window_of(tim, viewport={"width": width, "height": height})
    expect(window.locator("[data-row]")).to_have_count(25)
    on_page, on_first_screen = window.evaluate(CONTROLS)
    assert on_page <= most
    assert on_first_screen <= most_first
    assert window.locator("[data-row]").first.evaluate(TOP) <= lowest
    assert window.locator(".row-excerpt :is(ins, del)").first.evaluate(TOP) <= height / 2
    # What is written as a table or in bold is drawn so.
    assert "|" not in window.locator(".list").inner_text()
    assert "**" not in window.locator(".list").inner_text()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_by_touch_the_buttons_are_there_and_nothing_is_wider_than_the_window(
    width: int, window_of: WindowOf, tim: User, waiting: list[Proposal]
) -> None:
    window = window_of(tim, viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
    assert window.evaluate("document.documentElement.scrollWidth") == width
    row = window.locator("[data-row]:has([data-approve])").nth(1)
    assert row.locator("[data-approve]").evaluate("each => getComputedStyle(each.closest('div')).opacity") == "1"
    expect(row.locator("[data-tick]")).to_be_hidden()
    window.tap(".view > summary")
    window.tap("[data-select]")
    row.locator("[data-tick]").tap()
    expect(window.locator("[data-count]")).to_have_text("1 proposal selected")
    assert window.evaluate("document.documentElement.scrollWidth") == width
    window.tap("[data-clear]")
    expect(row.locator("[data-tick]")).to_be_hidden()
    expect(window.locator("#several")).to_be_hidden()


def press(window: Page, keys: list[str], *pressed: str) -> None:
    for key in pressed:
        window.keyboard.press(key)
    keys.extend(pressed)


def undecided() -> int:
    return Proposal.objects.open().count()


def test_twenty_five_are_decided_with_sixty_keys(window_of: WindowOf, tim: User, waiting: list[Proposal]) -> None:
    window = window_of(tim)
    window.wait_for_load_state()
    keys: list[str] = []
    press(window, keys, "j")
    for left in range(24, -1, -1):
        press(window, keys, "a")
        expect(window.locator("[data-approve]:focus")).to_have_count(1)
        press(window, keys, "Enter")
        if "/proposals/" in window.url:
            expect(window.locator("#outcome-title")).to_contain_text("Approved by")
        else:
            expect(window.locator("[data-approve]:focus")).to_have_count(0)
        expect(window.locator("#waiting")).to_have_text(f"{left} to review" if left else "")
    assert undecided() == 0
    assert len(keys) <= 60


def test_without_scripts_what_is_ticked_shows_the_button_that_decides(
    window_of: WindowOf, tim: User, waiting: list[Proposal]
) -> None:
    window = window_of(tim, java_script_enabled=False)
    expect(window.locator("#several")).to_be_hidden()
    window.click(".view > summary")
    window.click(".view [data-tick-plain]")
    expect(window.locator("#several")).to_be_visible()
    window.locator("[data-tick]:checked").first.uncheck()
    window.click("[data-approve-several]")
    # The list may have come back before the last was decided, and stays so; the page of the batch refreshes itself.
    window.goto(urljoin(window.url, reverse("batch", args=[Batch.objects.get().pk])))
    expect(window.locator("#batch-title")).to_contain_text("19 approved")
    assert undecided() == 6
