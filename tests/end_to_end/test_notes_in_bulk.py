"""Several notes are selected with mouse, keyboard or without scripts, deleted, and put back."""

import pytest
from playwright.sync_api import expect

from approvals.models import User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.end_to_end.conftest import WindowOf

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


@pytest.fixture
def five(alice: User) -> list[str]:
    by = ChangeContext(actor=alice)
    return [notes.save(by=by, owner="alice", content=f"Statement {n}.", tags=["t"]).note_id for n in range(5)]


def test_a_run_is_selected_with_shift_deleted_and_undone(window_of: WindowOf, alice: User, five: list[str]) -> None:
    window = window_of(alice)
    window.goto("/memory/alice/notes/")
    delete = window.get_by_role("button", name="Delete…")
    expect(delete).to_be_disabled()
    picks = window.locator("[data-pick]")
    picks.nth(0).click()
    picks.nth(2).click(modifiers=["Shift"])
    expect(window.locator("[data-picked]")).to_have_text("3 selected")
    delete.click()
    expect(window.locator("h1")).to_have_text("Delete 3 notes?")
    window.get_by_role("button", name="Delete 3 notes").click()
    expect(window.locator("h1")).to_have_text("3 notes deleted")
    assert len(reads.notes("alice")) == 2
    window.get_by_role("button", name="Undo").click()
    expect(window.locator("h1")).to_have_text("Undone: 3 notes are as they were before")
    assert len(reads.notes("alice")) == 5


def test_notes_are_selected_with_the_keys_of_review(window_of: WindowOf, alice: User, five: list[str]) -> None:
    window = window_of(alice)
    window.goto("/memory/alice/notes/")
    expect(window.locator("[data-pick-page]")).to_be_visible()
    for key in ("j", "j", "x"):
        window.keyboard.press(key)
    expect(window.locator("[data-picked]")).to_have_text("1 selected")
    expect(window.locator("[data-pick]").nth(1)).to_be_checked()
    for key in ("j", "j", "Shift+X"):
        window.keyboard.press(key)
    expect(window.locator("[data-picked]")).to_have_text("3 selected")
    window.keyboard.press("x")
    expect(window.locator("[data-picked]")).to_have_text("2 selected")


def test_the_whole_page_is_selected_at_once(window_of: WindowOf, alice: User, five: list[str]) -> None:
    window = window_of(alice, viewport={"width": 390, "height": 844})
    window.goto("/memory/alice/notes/")
    window.get_by_label("This page").check()
    expect(window.locator("[data-picked]")).to_have_text("5 selected")
    window.locator("[data-pick]").nth(1).uncheck()
    expect(window.locator("[data-picked]")).to_have_text("4 selected")
    assert window.get_by_label("This page").evaluate("box => box.indeterminate")


def test_without_scripts_the_same_is_done(window_of: WindowOf, alice: User, five: list[str]) -> None:
    window = window_of(alice, java_script_enabled=False)
    window.goto("/memory/alice/notes/")
    expect(window.get_by_label("This page")).to_be_hidden()
    window.locator("[data-pick]").nth(0).check()
    window.locator("[data-pick]").nth(4).check()
    window.get_by_role("button", name="Change tags…").click()
    window.fill("[name=add_tags]", "exams")
    window.get_by_role("button", name="Change 2 notes").click()
    expect(window.locator("h1")).to_have_text("2 notes changed")
    assert sorted(note.tags for note in reads.notes("alice")) == [("t",)] * 3 + [("t", "exams")] * 2
    window.get_by_role("button", name="Undo").click()
    expect(window.locator("h1")).to_have_text("Undone: 2 notes are as they were before")
