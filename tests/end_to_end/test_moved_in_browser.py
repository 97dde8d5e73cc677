"""A moved paragraph in the browser: from one place to the other, in the map, and ticked on a narrow phone."""

import pytest
from playwright.sync_api import Page, expect

from approvals import services
from approvals.models import Agent, Approval, Kind, Proposal, User
from memory_app import reads
from memory_app.text.edits import Rewrite
from tests.end_to_end.conftest import WindowOf
from tests.support.fixtures import MakeBlock

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

DAYS = [f"Day {number}: the passage is read through once, with {number} wrong vowels. " * 3 for number in range(20)]


@pytest.fixture
def proposal(alice: User, scribe: Agent, make_block: MakeBlock) -> Proposal:
    block = make_block(alice, "log", "\n\n".join(DAYS))
    first, second, *others = DAYS
    after = "\n\n".join([second, *others[:-1], first, others[-1].replace("once", "twice")])
    return services.propose(
        agent=scribe, owner="alice", label=block.label, edits=[Rewrite(after)], kind=Kind.REWRITE, reasoning="Order."
    ).proposal


def is_wider_than_window(window: Page) -> bool:
    return bool(window.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.mark.parametrize("view", ["inline", "source"])
def test_its_places_lead_to_each_other(window_of: WindowOf, tim: User, proposal: Proposal, view: str) -> None:
    window = window_of(tim, viewport={"width": 1280, "height": 700})
    window.goto(f"{proposal.get_absolute_url()}?view={view}")
    window.get_by_role("link", name="Where it is now").click()
    expect(window.locator("#moved-1")).to_be_in_viewport()
    window.get_by_role("link", name="Where it was").click()
    expect(window.locator("#change-1")).to_be_in_viewport()
    assert window.locator("[data-at]").inner_text() == "1 of 2"


def test_the_map_has_both_places(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim, viewport={"width": 1280, "height": 700})
    window.goto(proposal.get_absolute_url())
    marks = window.locator("[data-map='1']")
    assert marks.count() == 2
    marks.last.click()
    expect(window.locator(":focus")).to_have_id("moved-1")
    expect(window.locator("#moved-1")).to_be_in_viewport()
    marks.first.click()
    expect(window.locator(":focus")).to_have_id("change-1")


def test_it_is_ticked_once_on_a_phone_whose_bar_stays_low(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim, viewport={"width": 320, "height": 640})
    window.goto(proposal.get_absolute_url())
    assert window.locator("[data-tick]").count() == 2
    window.locator("[data-tick='2']").uncheck()
    approve = window.get_by_role("button", name="Approve 1 of 2")
    expect(approve).to_be_in_viewport()
    bar = window.locator(".decide").bounding_box()
    assert bar is not None
    assert bar["height"] < 320  # half of the window
    assert not is_wider_than_window(window)
    approve.click()
    expect(window.locator("#outcome-title")).to_be_visible()
    assert not is_wider_than_window(window)
    proposal.refresh_from_db()
    assert proposal.approval == Approval.PART
    first, second, *others = DAYS
    assert reads.block("alice", "log").body.rstrip() == "\n\n".join([second, *others[:-1], first, others[-1]]).rstrip()


def test_without_scripts_it_is_left_out_in_both_places(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    window = window_of(tim, java_script_enabled=False)
    window.goto(proposal.get_absolute_url())
    window.locator("[data-tick='1']").uncheck()
    window.locator("#approve-form button[data-approve]").click()
    expect(window.locator("#outcome-title")).to_be_visible()
    body = reads.block("alice", "log").body
    assert body == "\n\n".join(DAYS).replace("once, with 19", "twice, with 19")
