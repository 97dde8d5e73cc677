"""A block's past in a real browser: its timeline, why it says what it says, and restoring, with and without scripts."""

import pytest
from playwright.sync_api import Locator, Page, expect

from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf, focused
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

GOALS = "/memory/alice/blocks/goals/"


@pytest.fixture
def approved(alice: User, tim: User, goals: Block, propose: Propose) -> Proposal:
    """goals in three versions: created, approved, edited."""
    proposal = approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."))
    edit(alice, "goals", "one book", "two books")
    return proposal


@pytest.fixture
def blame(alice: User, approved: Proposal, window_of: WindowOf) -> Page:
    """The page that says where each sentence comes from."""
    window = window_of(alice)
    window.goto(f"{GOALS}blame/")
    return window


@pytest.fixture
def timeline(alice: User, approved: Proposal, window_of: WindowOf) -> Page:
    window = window_of(alice)
    window.goto(f"{GOALS}history/")
    return window


def sentence(window: Page, words: str) -> Locator:
    return window.locator("[data-blame] a[id]", has_text=words)


def bar(window: Page, number: int) -> Locator:
    return window.locator("[data-bar]").nth(number - 1)


def overflow(window: Page) -> int:
    return int(window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


# -- why does it say that ---------------------------------------------------------------------------


def test_pointing_at_a_sentence_tells_where_it_comes_from(blame: Page) -> None:
    why = blame.locator("#why")
    expect(why).to_contain_text("Point at a sentence")
    sentence(blame, "B2 exam").hover()
    expect(why).to_contain_text("Tim Okafor approved")
    expect(why).to_contain_text("The exam was moved.")
    sentence(blame, "two books").hover()
    expect(why).to_contain_text("Alice Berg edited it")


def test_on_a_phone_what_is_told_does_not_cover_the_sentence(
    alice: User, make_block: MakeBlock, window_of: WindowOf
) -> None:
    make_block(alice, "plan", "".join(f"Sentence {number} of the plan.\n\n" for number in range(60)))
    window = window_of(alice, viewport={"width": 390, "height": 700}, reduced_motion="reduce")
    window.goto("/memory/alice/blocks/plan/blame/")
    chosen = sentence(window, "Sentence 9 of")
    assert chosen.bounding_box()["y"] > 400
    chosen.click()
    expect(window.locator("#why")).to_contain_text("Alice Berg created it")
    window.wait_for_function("document.querySelector('#why .why-card') && scrollY > 0")
    box = chosen.bounding_box()
    assert box["y"] + box["height"] <= window.locator("#why").bounding_box()["y"]


def test_a_sentence_that_was_chosen_stays_told_until_it_is_let_go(blame: Page, approved: Proposal) -> None:
    why = blame.locator("#why")
    sentence(blame, "B2 exam").click()
    expect(why.locator("del")).to_contain_text("June")
    expect(why).to_contain_text("Earlier")
    sentence(blame, "two books").hover()
    blame.wait_for_timeout(300)
    expect(why).to_contain_text("Tim Okafor approved")
    why.get_by_role("link", name=f"proposal {approved.pk}").first.focus()
    blame.keyboard.press("Escape")
    expect(why).to_contain_text("Point at a sentence")
    expect(blame.locator(":focus")).to_contain_class("said by-agent")


def test_sentences_are_walked_by_keyboard_from_one_tab_stop(blame: Page) -> None:
    why = blame.locator("#why")
    sentence(blame, "Goals").focus()
    assert blame.locator("[data-blame] a[tabindex='0']").count() == 1
    blame.keyboard.press("ArrowRight")
    blame.keyboard.press("ArrowRight")
    expect(sentence(blame, "B2 exam")).to_be_focused()
    expect(why).to_contain_text("Tim Okafor approved")
    blame.keyboard.press("Enter")
    expect(why.locator("del")).to_contain_text("June")
    expect(why.locator("h2")).to_be_focused()
    blame.keyboard.press("Escape")
    expect(sentence(blame, "B2 exam")).to_be_focused()
    blame.keyboard.press("End")
    expect(sentence(blame, "two books")).to_be_focused()
    expect(why).to_contain_text("Alice Berg edited it")
    blame.keyboard.press("Tab")
    assert not focused(blame, "class").startswith("said")


def test_of_a_sentence_whose_change_is_not_in_the_table_it_is_asked(
    alice: User, make_block: MakeBlock, window_of: WindowOf
) -> None:
    make_block(alice, "goals", "".join(f"Number {number} stands here.\n\n" for number in range(27)))
    for number in range(27):
        edit(alice, "goals", f"Number {number} stands", f"Number {number} moved")
    window = window_of(alice)
    window.goto(f"{GOALS}blame/")
    sentence(window, "Number 0 moved").focus()
    expect(window.locator("#why del")).to_contain_text("stands")
    expect(sentence(window, "Number 0 moved")).to_be_focused()


# -- the timeline -----------------------------------------------------------------------------------


def test_arrow_keys_move_through_the_versions(timeline: Page) -> None:
    bar(timeline, 3).focus()
    timeline.keyboard.press("ArrowLeft")
    expect(timeline.locator("#version")).to_contain_text("Version 2 of 3")
    expect(timeline.locator("#version ins")).to_contain_text("July")
    timeline.keyboard.press("Home")
    expect(timeline.locator("#version")).to_contain_text("Version 1 of 3")
    assert timeline.evaluate("document.activeElement.matches('[data-bar]')")
    assert "?v=" in timeline.url
    timeline.reload()
    expect(timeline.locator("#version")).to_contain_text("Version 1 of 3")


def test_a_few_versions_are_spread_over_the_whole_timeline(timeline: Page) -> None:
    first, last = (bar(timeline, number).bounding_box() for number in (1, 3))
    assert first is not None
    assert last is not None
    card = timeline.locator("#strip").bounding_box()
    assert card is not None
    assert last["x"] + last["width"] - first["x"] > 0.9 * card["width"]


def test_dragging_along_the_strip_moves_through_the_versions(timeline: Page) -> None:
    boxes = [bar(timeline, number).bounding_box() for number in (1, 3)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    height = boxes[0]["y"] + boxes[0]["height"] / 2
    timeline.mouse.move(boxes[0]["x"] + 10, height)
    timeline.mouse.down()
    timeline.mouse.move(boxes[1]["x"] + 10, height, steps=6)
    timeline.mouse.up()
    expect(timeline.locator("#version")).to_contain_text("Version 3 of 3")
    assert timeline.locator("[data-bar][aria-current]").count() == 1


def test_older_and_newer_keep_the_focus(timeline: Page) -> None:
    bar(timeline, 3).click()
    timeline.locator("#version a[rel=prev]").press("Enter")
    expect(timeline.locator("#version")).to_contain_text("Version 2 of 3")
    expect(timeline.locator(":focus")).to_have_attribute("rel", "prev")
    timeline.keyboard.press("Enter")
    expect(timeline.locator("#version")).to_contain_text("Version 1 of 3")


def test_a_long_history_on_a_phone_begins_with_what_is_new(alice: User, goals: Block, window_of: WindowOf) -> None:
    for number in range(30):
        edit(alice, "goals", "math" if not number else f"math {number - 1}", f"math {number}")
    window = window_of(alice, viewport={"width": 320, "height": 640})
    window.goto(f"{GOALS}history/")
    assert overflow(window) <= 0
    expect(bar(window, 31)).to_be_in_viewport()
    expect(bar(window, 1)).not_to_be_in_viewport()
    bar(window, 31).click()
    expect(window.locator("#version")).to_contain_text("Version 31 of 31")
    assert overflow(window) <= 0
