"""The pages in a real browser: focus, keyboard, narrow windows, and without scripts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from approvals import services
from approvals.models import Status, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.reads import Block
from tests.conftest import eventually
from tests.end_to_end.conftest import WindowOf, focused, status_of
from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow


def test_a_row_is_approved_by_keyboard_and_the_outcome_is_read_aloud(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved.")
    window = window_of(tim)
    window.keyboard.press("j")
    expect(window.locator(":focus")).to_have_attribute("href", proposal.get_absolute_url())
    window.keyboard.press("a")
    window.keyboard.press("Enter")
    expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("Approved by Tim Okafor")
    expect(window.locator("#live")).to_have_text("Approved by Tim Okafor The exam was moved.")
    expect(window.locator(":focus")).to_contain_class("row-outcome")
    expect(window).to_have_title("Review · Assent")
    assert "in July" in reads.block("alice", "goals").body


def test_the_focus_goes_to_the_outcome_of_a_decision(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    following = propose(goals, "one book", "two books")
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.keyboard.press("r")
    expect(window.locator("input[name=reason]").first).to_be_focused()
    window.check("input[value=outdated]")
    window.fill(f"#reject-comment-{proposal.pk}", "Old news.")
    window.click("button:has-text('Reject this change')")
    expect(window.locator("#outcome-title")).to_be_focused()
    expect(window.locator("#outcome-title")).to_have_text("Rejected by Tim Okafor")
    assert status_of(proposal) == Status.REJECTED
    window.keyboard.press("o")
    window.wait_for_url(f"**{following.get_absolute_url()}")


def test_a_refusal_takes_the_focus_and_keeps_the_text(
    window_of: WindowOf, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.click("summary:has-text('Comment')")
    window.fill("#approve-comment", "Fine by me.")
    fields = services.BlockFields(title="Aims", description="", body=goals.body + "More.\n", limit=goals.limit)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=goals.sha256)
    window.click("[data-approve]")
    expect(window.locator(".proposal-panel")).to_be_focused()
    expect(window.locator("#approve-comment")).to_have_value("Fine by me.")
    window.click("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")
    assert reads.block("alice", "goals").body.endswith("More.\n")


def test_a_form_sent_back_stays_open_at_what_is_missing(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    for page in (proposal.get_absolute_url(), "/"):
        window.goto(page)
        window.click("[data-reject]")
        reject = window.locator("form.reject-form").filter(visible=True)
        reject.locator("input[value=other]").check()
        reject.get_by_role("button", name="Reject this change").click()
        expect(window.locator(".field-error")).to_contain_text("Please say what’s wrong")
        expect(window.locator(f"#reject-comment-{proposal.pk}")).to_be_focused()
    assert status_of(proposal) == Status.OPEN


def test_switching_the_view_keeps_the_place_and_changes_the_address(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.click("#view-side")
    expect(window.locator("#change table caption")).to_be_visible()
    expect(window.locator(":focus")).to_have_id("view-side")
    assert window.url.endswith("?view=side")
    window.keyboard.press("n")
    expect(window.locator(":focus")).to_have_id("change-1")


def test_shortcuts_can_be_switched_off(window_of: WindowOf, tim: User, goals: Block, propose: Propose) -> None:
    tim.shortcuts = False
    propose(goals, "in June", "in July")
    window = window_of(tim)
    window.keyboard.press("j")
    assert focused(window, "data-open") == ""
    assert focused(window, "href") == ""


def test_new_arrivals_are_offered_and_the_list_stays(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    propose(goals, "in June", "in July", reasoning="First.")
    window = window_of(tim)
    propose(goals, "one book", "two books", reasoning="Second.")
    window.evaluate("htmx.ajax('GET', document.querySelector('#arrived').getAttribute('hx-get'), '#arrived')")
    expect(window.locator("#arrived")).to_have_text("1 new · Show")
    expect(window.locator("body")).not_to_contain_text("Second.")
    window.click("#arrived a")
    expect(window.locator("#inbox")).to_contain_text("Second.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_runs_over_the_edge_of_a_small_screen_and_no_policy_is_broken(
    scheme: str, window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(
        goals, "in June", "in June\u200b " + "unbreakable" * 30, evidence=[{"role": "user", "content": "x" * 300}]
    )
    window = window_of(tim, viewport={"width": 320, "height": 640}, color_scheme=scheme)
    complaints: list[str] = []
    window.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: complaints.append(str(error)))
    path = proposal.get_absolute_url()
    for place in ("/", "/?tab=decided", path, *(f"{path}?view={view}" for view in ("side", "result", "source"))):
        window.goto(place)
        beyond = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, place
    assert complaints == []


def test_everything_works_without_scripts(window_of: WindowOf, tim: User, goals: Block, propose: Propose) -> None:
    rejected = propose(goals, "in June", "in July")
    approved = propose(goals, "one book", "two books")
    window = window_of(tim, java_script_enabled=False)
    window.click(f"#row-{approved.pk} button:has-text('Approve')")
    expect(window.locator(".messages")).to_contain_text("Approved: Learning goals")
    window.click(f"a[href='{rejected.get_absolute_url()}']")
    window.click("summary:has-text('Reject')")
    window.check("input[value=wrong]")
    window.click("button:has-text('Reject this change')")
    expect(window.locator("#outcome-title")).to_have_text("Rejected by Tim Okafor")
    assert status_of(approved) == Status.APPROVED
    assert status_of(rejected) == Status.REJECTED


def test_an_impatient_double_click_decides_once(window_of: WindowOf, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.dblclick("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")
    eventually(lambda: status_of(proposal) == Status.APPROVED)
    assert proposal.events.filter(what="approved").count() == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_a_note_is_superseded_by_one_that_words_find_and_holds_again(
    window_of: WindowOf, alice: User, scripts: bool
) -> None:
    by = ChangeContext(actor=alice)
    old = notes.save(by=by, owner="alice", content="The exam is on 12 December.").note_id
    new = notes.save(by=by, owner="alice", content="It was moved to the fourteenth.").note_id
    notes.save(by=by, owner="alice", content="Bakes bread on Sundays.")
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


# -- importing --------------------------------------------------------------------------------------


@pytest.fixture
def memories_file(tmp_path: Path) -> Path:
    """Four thousand memories: a second's work and more."""
    file = tmp_path / "memories.md"
    file.write_text("".join(f"### mem-{number}-aaaa\n> She reads book {number}.\n" for number in range(4_000)))
    return file


def test_an_import_says_that_it_runs_and_then_what_became_of_it(
    alice: User, window_of: Callable[..., Page], memories_file: Path
) -> None:
    window = window_of(alice)
    window.goto("/memory/alice/notes/import/")
    window.set_input_files("#id_file", memories_file)
    at_once = window.get_by_role("button", name="Import", exact=True)
    at_once.click()
    expect(window.get_by_role("button", name="Importing …")).to_be_disabled()
    expect(window.locator("#import-title")).to_have_text("Imported memories.md", timeout=60_000)
    expect(window.locator(":focus")).to_have_id("import-title")
    expect(window.locator("#import")).to_contain_text("4,000 notes")


def test_an_import_works_without_scripts(alice: User, window_of: Callable[..., Page], memories_file: Path) -> None:
    window = window_of(alice, java_script_enabled=False)
    window.goto("/memory/alice/notes/import/")
    window.set_input_files("#id_file", memories_file)
    window.get_by_role("button", name="Import", exact=True).click(timeout=60_000)
    expect(window.locator("#import-title")).to_have_text("Imported memories.md", timeout=60_000)


def test_an_import_that_got_no_answer_leaves_the_form_to_be_sent_again(
    alice: User, window_of: Callable[..., Page], memories_file: Path
) -> None:
    window = window_of(alice)
    window.goto("/memory/alice/notes/import/")
    window.set_input_files("#id_file", memories_file)
    window.fill("#id_comment", "From my laptop.")
    window.route("**/notes/import/", lambda route: route.abort())
    window.click("#import button[type=submit]")
    expect(window.locator("[data-no-answer]")).to_be_visible()
    assert window.input_value("#id_comment") == "From my laptop."
    window.unroute("**/notes/import/")
    window.click("#import button[type=submit]")
    expect(window.locator("#import-title")).to_be_visible(timeout=60_000)
