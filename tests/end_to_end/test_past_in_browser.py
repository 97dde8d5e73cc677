"""A block's past in a real browser: its timeline, why it says what it says, and restoring, with and without scripts."""

import pytest
from playwright.sync_api import Locator, Page, expect

from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf, focused
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

GOALS = "/memory/alice/blocks/goals/"
LONG = "".join(f"## Part {number}\n\n{'Read a book. ' * 120}\n\n" for number in range(1, 9))


@pytest.fixture
def approved(alice: User, tim: User, goals: Block, propose: Propose) -> Proposal:
    """goals in three versions: created, approved, edited."""
    proposal = approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."))
    edit(alice, "goals", "one book", "two books")
    return proposal


def sentence(window: Page, words: str) -> Locator:
    return window.locator("[data-blame] a[id]", has_text=words)


def bar(window: Page, number: int) -> Locator:
    return window.locator("[data-bar]").nth(number - 1)


def overflow(window: Page) -> int:
    return int(window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


# -- why does it say that ---------------------------------------------------------------------------


def test_pointing_at_a_sentence_tells_where_it_comes_from(alice: User, approved: Proposal, window_of: WindowOf) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}blame/")
    why = window.locator("#why")
    expect(why).to_contain_text("Point at a sentence")
    sentence(window, "B2 exam").hover()
    expect(why).to_contain_text("Tim Okafor approved")
    expect(why).to_contain_text("The exam was moved.")
    sentence(window, "two books").hover()
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


def test_a_sentence_that_was_chosen_stays_told_until_it_is_let_go(
    alice: User, approved: Proposal, window_of: WindowOf
) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}blame/")
    why = window.locator("#why")
    sentence(window, "B2 exam").click()
    expect(why.locator("del")).to_contain_text("June")
    expect(why).to_contain_text("Earlier")
    sentence(window, "two books").hover()
    window.wait_for_timeout(300)
    expect(why).to_contain_text("Tim Okafor approved")
    why.get_by_role("link", name=f"proposal {approved.pk}").first.focus()
    window.keyboard.press("Escape")
    expect(why).to_contain_text("Point at a sentence")
    expect(window.locator(":focus")).to_contain_class("said by-agent")


def test_sentences_are_walked_by_keyboard_from_one_tab_stop(
    alice: User, approved: Proposal, window_of: WindowOf
) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}blame/")
    why = window.locator("#why")
    sentence(window, "Goals").focus()
    assert window.locator("[data-blame] a[tabindex='0']").count() == 1
    window.keyboard.press("ArrowRight")
    window.keyboard.press("ArrowRight")
    expect(sentence(window, "B2 exam")).to_be_focused()
    expect(why).to_contain_text("Tim Okafor approved")
    window.keyboard.press("Enter")
    expect(why.locator("del")).to_contain_text("June")
    expect(why.locator("h2")).to_be_focused()
    window.keyboard.press("Escape")
    expect(sentence(window, "B2 exam")).to_be_focused()
    window.keyboard.press("End")
    expect(sentence(window, "two books")).to_be_focused()
    expect(why).to_contain_text("Alice Berg edited it")
    window.keyboard.press("Tab")
    assert not focused(window, "class").startswith("said")


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


def test_without_scripts_a_sentence_leads_to_the_same(alice: User, approved: Proposal, window_of: WindowOf) -> None:
    window = window_of(alice, java_script_enabled=False)
    window.goto(GOALS)
    window.get_by_role("link", name="Why does it say that?").click()
    sentence(window, "B2 exam").click()
    why = window.locator("#why")
    expect(why).to_contain_text("Tim Okafor approved")
    expect(why.locator("del")).to_contain_text("June")
    expect(sentence(window, "B2 exam")).to_have_attribute("aria-current", "true")
    why.get_by_role("link", name="Close").click()
    expect(why).to_contain_text("Point at a sentence")


# -- the timeline -----------------------------------------------------------------------------------


def test_arrow_keys_move_through_the_versions(alice: User, approved: Proposal, window_of: WindowOf) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}history/")
    bar(window, 3).focus()
    window.keyboard.press("ArrowLeft")
    expect(window.locator("#version")).to_contain_text("Version 2 of 3")
    expect(window.locator("#version ins")).to_contain_text("July")
    window.keyboard.press("Home")
    expect(window.locator("#version")).to_contain_text("Version 1 of 3")
    assert window.evaluate("document.activeElement.matches('[data-bar]')")
    assert "?v=" in window.url
    window.reload()
    expect(window.locator("#version")).to_contain_text("Version 1 of 3")


def test_dragging_along_the_strip_moves_through_the_versions(
    alice: User, approved: Proposal, window_of: WindowOf
) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}history/")
    boxes = [bar(window, number).bounding_box() for number in (1, 3)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    height = boxes[0]["y"] + boxes[0]["height"] / 2
    window.mouse.move(boxes[0]["x"] + 10, height)
    window.mouse.down()
    window.mouse.move(boxes[1]["x"] + 10, height, steps=6)
    window.mouse.up()
    expect(window.locator("#version")).to_contain_text("Version 3 of 3")
    assert window.locator("[data-bar][aria-current]").count() == 1


def test_older_and_newer_keep_the_focus(alice: User, approved: Proposal, window_of: WindowOf) -> None:
    window = window_of(alice)
    window.goto(f"{GOALS}history/")
    bar(window, 3).click()
    window.locator("#version a[rel=prev]").press("Enter")
    expect(window.locator("#version")).to_contain_text("Version 2 of 3")
    expect(window.locator(":focus")).to_have_attribute("rel", "prev")
    window.keyboard.press("Enter")
    expect(window.locator("#version")).to_contain_text("Version 1 of 3")


def test_without_scripts_two_versions_are_picked_and_an_older_one_is_restored(
    alice: User, goals: Block, approved: Proposal, window_of: WindowOf
) -> None:
    window = window_of(alice, java_script_enabled=False)
    window.goto(f"{GOALS}history/")
    bar(window, 1).click()
    expect(window.locator("#version")).to_contain_text("Version 1 of 3")
    window.get_by_role("link", name="Compare with …").click()
    bar(window, 3).click()
    expect(window.locator("#comparison del").first).to_contain_text("June")
    assert window.locator(".bar-end").all_text_contents() == ["A", "B"]
    bar(window, 1).click()
    window.get_by_role("link", name="Restore …").click()
    expect(window.locator("main ins").first).to_contain_text("June")
    window.get_by_role("button", name="Restore this version").click()
    expect(window.locator("main")).to_contain_text("Restored.")
    assert reads.block("alice", "goals").body == goals.body


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


# -- the contents -----------------------------------------------------------------------------------


def test_the_contents_stay_beside_a_long_text_and_are_folded_on_a_phone(
    alice: User, make_block: MakeBlock, window_of: WindowOf
) -> None:
    make_block(alice, "log", LONG)
    wide = window_of(alice, viewport={"width": 1280, "height": 800})
    wide.goto("/memory/alice/blocks/log/")
    contents = wide.get_by_role("navigation", name="Contents")
    contents.get_by_role("link", name="Part 7").click()
    expect(wide.locator("h2", has_text="Part 7")).to_be_in_viewport()
    expect(contents.get_by_role("link", name="Part 2")).to_be_in_viewport()

    narrow = window_of(alice, viewport={"width": 390, "height": 800})
    narrow.goto("/memory/alice/blocks/log/")
    folded = narrow.get_by_role("navigation", name="Contents")
    expect(folded.get_by_role("link", name="Part 7")).to_be_hidden()
    folded.locator("summary").click()
    folded.get_by_role("link", name="Part 7").click()
    expect(narrow.locator("h2", has_text="Part 7")).to_be_in_viewport()
