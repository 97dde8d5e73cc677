"""A long change is read change by change: buttons and keys step, a counter follows, a map leads to each."""

import pytest
from playwright.sync_api import Page, expect

from approvals import services
from approvals.models import Agent, Kind, Proposal, User
from memory_app.text.edits import Replace
from tests.end_to_end.conftest import WindowOf, focused
from tests.support.fixtures import MakeBlock

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

PARAGRAPH = "Reading Arabic: the passage is read through once without stopping, with two wrong vowels. " * 3
CHANGED = (0, 3, 10, 20, 29)


@pytest.fixture
def proposal(alice: User, scribe: Agent, make_block: MakeBlock) -> Proposal:
    block = make_block(alice, "log", "\n".join(f"{PARAGRAPH} Day {number}.\n" for number in range(30)))
    edits = [Replace(f"Day {number}.", f"Day {number} of 30.") for number in CHANGED]
    return services.propose(
        agent=scribe, owner="alice", label=block.label, edits=edits, kind=Kind.EDIT, reasoning="Numbers."
    ).proposal


def shows(window: Page, words: str) -> None:
    """Wait for the counter: the script writes it with the next frame, which on a busy machine is after the load."""
    expect(window.locator("[data-at]")).to_have_text(words)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("view", ["inline", "side", "source"])
def test_buttons_and_keys_step_from_change_to_change(
    window_of: WindowOf, tim: User, proposal: Proposal, view: str, width: int
) -> None:
    window = window_of(tim, viewport={"width": width, "height": 700})
    window.goto(f"{proposal.get_absolute_url()}?view={view}")
    shows(window, "1 of 5")
    window.get_by_role("button", name="Next change").click()
    window.get_by_role("button", name="Next change").click()
    assert focused(window) in ("change-2", "change-3")
    here = int(focused(window)[-1])
    expect(window.locator(f"#change-{here}")).to_be_in_viewport()
    shows(window, f"{here} of 5")
    window.keyboard.press("n")
    shows(window, f"{here + 1} of 5")
    window.get_by_role("button", name="Previous change").click()
    shows(window, f"{here} of 5")


def test_the_counter_follows_the_reader(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim, viewport={"width": 1280, "height": 700})
    window.goto(proposal.get_absolute_url())
    window.locator("#change-4").scroll_into_view_if_needed()
    window.evaluate("document.getElementById('change-4').scrollIntoView({block: 'start'})")
    shows(window, "4 of 5")
    assert window.locator("[data-map].is-here").get_attribute("data-map") == "4"


def test_the_map_leads_to_a_change_and_is_left_out_where_there_is_no_room(
    window_of: WindowOf, tim: User, proposal: Proposal
) -> None:
    window = window_of(tim, viewport={"width": 1280, "height": 700})
    window.goto(proposal.get_absolute_url())
    assert window.locator("[data-map]").count() == len(CHANGED)
    window.locator("[data-map='5']").click()
    expect(window.locator(":focus")).to_have_id("change-5")
    expect(window.locator("#change-5")).to_be_in_viewport()
    window.set_viewport_size({"width": 390, "height": 700})
    expect(window.locator(".change-map")).to_be_hidden()


def test_the_result_has_no_changes_to_step_to(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim)
    window.goto(f"{proposal.get_absolute_url()}?view=result")
    expect(window.locator("[data-steps]")).to_be_hidden()
    window.click("#view-inline")
    expect(window.locator("[data-steps]")).to_be_visible()


def test_without_scripts_each_change_leads_to_the_next(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim, java_script_enabled=False, viewport={"width": 390, "height": 700})
    window.goto(proposal.get_absolute_url())
    expect(window.locator("[data-steps]")).to_be_hidden()
    window.locator("#change-2 a", has_text="Next change").click()
    assert window.url.endswith("#change-3")
    expect(window.locator("#change-3")).to_be_in_viewport()
    window.locator("#change-3 a", has_text="Previous change").click()
    expect(window.locator("#change-2")).to_be_in_viewport()


def test_a_decided_change_is_stepped_through_too(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong", comment="")
    window = window_of(tim, viewport={"width": 1280, "height": 700})
    window.goto(proposal.get_absolute_url())
    window.get_by_role("button", name="Next change").click()
    here = int(focused(window)[-1])
    window.get_by_role("button", name="Next change").click()
    shows(window, f"{here + 1} of 5")
