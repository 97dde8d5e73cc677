"""The compact list of Review in a real browser: more rows, and still large enough to press."""

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Agent, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

#: Pixels of a target's shorter side: WCAG 2.2, 2.5.8.
SMALLEST = 24

IN_VIEW = "rows => rows.filter(row => row.getBoundingClientRect().bottom <= innerHeight).length"
TOO_SMALL = """(targets, smallest) => targets.filter(target => target.checkVisibility()).map(target => {
    const box = target.getBoundingClientRect();
    return [target.outerHTML.slice(0, 80), Math.round(box.width), Math.round(box.height)];
}).filter(([, width, height]) => Math.min(width, height) < smallest)"""


@pytest.fixture
def waiting(goals: Block, make_block: MakeBlock, alice: User, propose: Propose, scribe: Agent) -> list[Proposal]:
    """A queue of blocks and notes: some to be decided on their row, some on their page."""
    made = [
        propose(goals, "in June", "in July"),
        propose(goals, "one book", "two books", reasoning="She said so. " * 9),
    ]
    for number in range(13):
        block = make_block(alice, f"block_{number}", "She rows on Mondays and reads on Fridays.\n")
        long = " ".join(f"word{each}" for each in range(200 * (number % 2)))
        made.append(propose(block, "on Mondays", f"on Tuesdays {long}", reasoning=f"The {number}th. " * 8))
    saved = notes.save(
        by=ChangeContext(actor=scribe), owner="alice", content="She comes by bicycle.", tags=["times", "tram"]
    )
    assert saved.proposal
    return [*made, saved.proposal]


def chosen(window: Page, density: str) -> None:
    window.click(".view > summary")
    window.get_by_role("link", name=density).click()
    expect(window.locator(f".list.{density.lower()}")).to_be_visible()
    expect(window.locator(".view[open]")).to_have_count(0)
    window.wait_for_load_state()  # the text is there before the stylesheet is


def test_more_rows_are_in_view(window_of: WindowOf, tim: User, waiting: list[Proposal]) -> None:
    window = window_of(tim, viewport={"width": 1280, "height": 800})
    rows = window.locator("[data-row]")
    comfortable = rows.evaluate_all(IN_VIEW)
    chosen(window, "Compact")
    assert rows.evaluate_all(IN_VIEW) >= 2 * comfortable
    chosen(window, "Comfortable")
    assert rows.evaluate_all(IN_VIEW) == comfortable


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_what_is_pressed_is_large_enough_and_nothing_is_wider_than_the_page(
    width: int, window_of: WindowOf, tim: User, waiting: list[Proposal]
) -> None:
    window = window_of(tim, viewport={"width": width, "height": 800})
    chosen(window, "Compact")
    assert window.evaluate("document.documentElement.scrollWidth") == width
    assert (
        window.locator(":is(.compact, .inbox-head) :is(a, summary, button:not(.search-button))").evaluate_all(
            TOO_SMALL, SMALLEST
        )
        == []
    )
