"""Notes in a real browser: several are selected, deleted and put back; one is superseded; a file is imported."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from approvals.models import User
from memory_app import reads
from tests.end_to_end.conftest import WindowOf
from tests.support.acts import save

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


@pytest.fixture
def five(alice: User) -> None:
    for number in range(5):
        save(alice, f"Statement {number}.", tags=["t"])


@pytest.fixture
def listed(window_of: WindowOf, alice: User, five: None) -> Page:
    """alice's list of notes."""
    window = window_of(alice)
    window.goto("/memory/alice/notes/")
    window.get_by_role("link", name="Select", exact=True).click()
    return window


def test_a_run_is_selected_with_shift_deleted_and_undone(listed: Page) -> None:
    delete = listed.get_by_role("button", name="Delete…")
    expect(delete).to_be_disabled()
    picks = listed.locator("[data-tick]")
    picks.nth(0).click()
    picks.nth(2).click(modifiers=["Shift"])
    expect(listed.locator("[data-count]")).to_have_text("3 selected")
    delete.click()
    expect(listed.locator("h1")).to_have_text("Delete 3 notes?")
    listed.get_by_role("button", name="Delete 3 notes").click()
    expect(listed.locator("h1")).to_have_text("3 notes deleted")
    assert len(reads.notes("alice")) == 2
    listed.get_by_role("button", name="Undo").click()
    expect(listed.locator("h1")).to_have_text("Undone: 3 notes are as they were before")
    assert len(reads.notes("alice")) == 5


def test_notes_are_selected_with_the_keys_of_review(listed: Page) -> None:
    expect(listed.locator("[data-tick-page]")).to_be_visible()
    for key in ("j", "j", "x"):
        listed.keyboard.press(key)
    expect(listed.locator("[data-count]")).to_have_text("1 selected")
    expect(listed.locator("[data-tick]").nth(1)).to_be_checked()
    for key in ("j", "j", "Shift+X"):
        listed.keyboard.press(key)
    expect(listed.locator("[data-count]")).to_have_text("3 selected")
    listed.keyboard.press("x")
    expect(listed.locator("[data-count]")).to_have_text("2 selected")
    asked: list[str] = []
    listed.on("request", lambda request: asked.append(request.url))
    for key in "arqe":  # the verbs of proposals, which notes are not
        listed.keyboard.press(key)
    listed.keyboard.press("x")
    expect(listed.locator("[data-count]")).to_have_text("3 selected")
    assert asked == []


def test_the_whole_page_is_selected_at_once(listed: Page) -> None:
    listed.set_viewport_size({"width": 390, "height": 844})
    listed.get_by_label("All on this page").check()
    expect(listed.locator("[data-count]")).to_have_text("5 selected")
    listed.locator("[data-tick]").nth(1).uncheck()
    expect(listed.locator("[data-count]")).to_have_text("4 selected")
    assert listed.get_by_label("All on this page").evaluate("box => box.indeterminate")


# -- one note -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_a_note_is_superseded_by_one_that_words_find_and_holds_again(
    window_of: WindowOf, alice: User, scripts: bool
) -> None:
    old, new = save(alice, "The exam is on 12 December."), save(alice, "It was moved to the fourteenth.")
    save(alice, "Bakes bread on Sundays.")
    window = window_of(alice, viewport={"width": 390, "height": 700}, java_script_enabled=scripts)
    window.goto(f"/memory/alice/notes/{old}/supersede/")
    window.fill("[name=reason]", "The date was changed.")
    window.fill("[name=words]", "fourteenth")
    window.press("[name=words]", "Enter")
    window.wait_for_url("**/supersede/#replacement")
    expect(window.locator("[name=reason]")).to_have_value("The date was changed.")
    expect(window.locator(".option")).to_have_count(2)
    window.check(f"[name=replacement_id][value='{new}']")
    window.click("button:has-text('Mark as outdated')")
    expect(window.locator("main")).to_contain_text("Agents no longer see it")
    assert reads.note("alice", old).superseded_by == new

    window.click("a:has-text('Reinstate')")
    window.click("button:has-text('Reinstate')")
    expect(window.locator("main")).to_contain_text("Alice Berg reinstated it")
    assert not reads.note("alice", old).is_superseded


# -- importing ----------------------------------------------------------------------------------------


@pytest.fixture
def memories_file(tmp_path: Path) -> Path:
    """Four thousand memories: a second's work and more."""
    file = tmp_path / "memories.md"
    file.write_text("".join(f"### mem-{number}-aaaa\n> She reads book {number}.\n" for number in range(4_000)))
    return file


def test_an_import_that_got_no_answer_is_sent_again_says_that_it_runs_and_what_became_of_it(
    alice: User, window_of: WindowOf, memories_file: Path
) -> None:
    window = window_of(alice)
    window.goto("/memory/alice/notes/import/")
    window.set_input_files("#id_file", memories_file)
    window.fill("#id_comment", "From my laptop.")
    send = window.get_by_role("button", name="Import", exact=True)
    window.route("**/notes/import/", lambda route: route.abort())
    send.click()
    expect(window.locator("[data-no-answer]")).to_be_visible()
    assert window.input_value("#id_comment") == "From my laptop."
    window.unroute("**/notes/import/")
    send.click()
    expect(window.get_by_role("button", name="Importing …")).to_be_disabled()
    expect(window.locator("#import-title")).to_have_text("Imported memories.md", timeout=60_000)
    expect(window.locator(":focus")).to_have_id("import-title")
    expect(window.locator("#import")).to_contain_text("4,000 notes")
