"""What somebody typed and did not save is never lost without a question."""

from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.end_to_end.conftest import PASSWORD, WindowOf
from tests.support.acts import save
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


class Questions:
    """The questions a window asked before leaving; each is answered `stay`."""

    def __init__(self, window: Page) -> None:
        self.asked: list[str] = []
        self.stay = True
        window.on("dialog", self._answer)

    def _answer(self, dialog: Dialog) -> None:
        self.asked.append(dialog.type)
        (dialog.dismiss if self.stay else dialog.accept)()


@pytest.fixture
def window(window_of: WindowOf, alice: User, goals: Block) -> Page:
    """alice's, who has a block."""
    return window_of(alice)


@pytest.fixture
def questions(window: Page) -> Questions:
    return Questions(window)


def leave(window: Page, questions: Questions) -> None:
    """Press a link of the masthead and wait for what comes of it: a question, or another page."""
    window.wait_for_load_state()  # the words of a page are there before its scripts
    before, asked = window.url, len(questions.asked)
    window.click(".nav a[href='/memory/']", no_wait_after=True)
    for _ in range(150):
        window.wait_for_timeout(100)
        if window.url != before or (questions.stay and len(questions.asked) > asked):
            return
    raise AssertionError("neither a question nor another page within 15 s")


@pytest.mark.parametrize(
    ("path", "field", "words"),
    [
        ("/memory/alice/blocks/goals/edit/", "[name=body]", "Half a sentence"),
        ("/memory/alice/notes/new/", "[name=content]", "Plays the oboe"),
        ("/memory/alice/notes/import/", "[name=comment]", "From my laptop"),
        ("/settings/", "[name=first_name]", "Alicia"),
    ],
)
def test_a_page_with_typed_text_is_left_only_after_a_question(
    path: str, field: str, words: str, window: Page, questions: Questions
) -> None:
    window.goto(path)
    leave(window, questions)
    assert not window.url.endswith(path)
    assert questions.asked == [], "nothing was typed"

    window.goto(path)
    window.fill(field, words)
    leave(window, questions)
    assert questions.asked == ["beforeunload"]
    assert window.url.endswith(path)
    assert window.input_value(field) == words

    questions.stay = False
    leave(window, questions)
    assert not window.url.endswith(path)


def test_saving_asks_nothing_and_a_file_chosen_or_a_form_sent_back_does(
    window: Page, questions: Questions, tmp_path: Path
) -> None:
    window.goto("/memory/alice/blocks/goals/edit/")
    window.fill("[name=body]", "Read two books.\n")
    window.click("button:has-text('Show what changes')")
    expect(window.locator("#preview")).to_contain_text("two")
    window.click("button:has-text('Save')")
    window.wait_for_url("**/memory/alice/blocks/goals/")
    assert questions.asked == []
    assert reads.block("alice", "goals").body.startswith("Read two books.")

    window.goto("/memory/alice/notes/new/")
    window.evaluate("document.querySelector('[name=content]').removeAttribute('required')")
    window.fill("[name=content]", " ")
    window.fill("[name=tags]", "music")
    window.click("form[data-once] button[type=submit]")
    expect(window.locator("[data-focus]")).to_contain_text("Nothing was saved")
    leave(window, questions)
    assert questions.asked == ["beforeunload"], "what the server sent back is not saved either"

    questions.stay = False
    window.goto("/memory/alice/notes/import/")
    questions.stay = True
    file = tmp_path / "memories.md"
    file.write_text("### mem-1-aaaa\n> She reads.\n")
    window.set_input_files("#id_file", file)
    leave(window, questions)
    assert len(questions.asked) == 3


def test_what_was_kept_through_signing_in_again_is_still_unsaved(window: Page, questions: Questions) -> None:
    window.goto("/memory/alice/blocks/goals/edit/")
    window.fill("[name=body]", "Read two books.")
    window.context.clear_cookies(name="assent_session")
    window.click("button:has-text('Save')")
    window.fill("#id_username", "alice")
    window.fill("#id_password", PASSWORD)
    window.click("button:has-text('Sign in')")
    expect(window.locator("[name=body]")).to_have_value("Read two books.")
    assert questions.asked == []
    leave(window, questions)
    assert questions.asked == ["beforeunload"]


def test_a_comment_or_a_reason_being_written_stays_through_leaving_and_through_swaps(
    proposal_page: Page, proposal: Proposal, goals: Block, propose: Propose
) -> None:
    window, questions = proposal_page, Questions(proposal_page)
    window.click(".decide-more > summary")
    window.click("[data-reject]")
    window.fill(f"#reject-comment-{proposal.pk}", "Not what she said.")
    leave(window, questions)
    assert questions.asked == ["beforeunload"]
    assert window.input_value(f"#reject-comment-{proposal.pk}") == "Not what she said."
    window.check(".reject-form input[value=wrong]")
    window.click("button:has-text('Reject this change')")
    expect(window.locator("#outcome-title")).to_be_visible()
    leave(window, questions)
    assert questions.asked == ["beforeunload"], "the reason was sent"

    other = propose(goals, "one book", "two books")
    window.goto("/")
    window.focus(f"#row-{other.pk} [data-open]")
    window.keyboard.press("r")
    window.fill(".reject-form textarea", "Three.")
    window.click("a:has-text('Decided')")
    window.wait_for_timeout(400)
    assert questions.asked == ["beforeunload", "confirm"]
    assert window.input_value(".reject-form textarea") == "Three."
    questions.stay = False
    window.click("a:has-text('Decided')")
    expect(window.locator(".reject-form")).to_have_count(0)


def test_another_form_of_the_page_does_not_take_the_typed_text_along(
    window: Page, questions: Questions, alice: User
) -> None:
    note = save(alice, "Plays the oboe.")
    window.goto(f"/memory/alice/notes/{note}/edit/")
    window.fill("[name=content]", "Plays the bassoon.")
    window.click("[data-menu] summary")
    window.click("button:has-text('Sign out')", no_wait_after=True)
    window.wait_for_timeout(400)
    assert questions.asked == ["beforeunload"]
    window.click("form[data-once] button:has-text('Save')")
    window.wait_for_url(f"**/notes/{note}/")
    assert reads.note("alice", note).content == "Plays the bassoon."
