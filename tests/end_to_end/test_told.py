"""Told outside the page, in a browser: the board on a phone and by keyboard, notifications, and the dot on the icon."""

import httpx
import pytest
from playwright.sync_api import Page, expect

from approvals import services
from approvals.models import Mail, RejectReason, Tutorship, User
from memory_app.reads import Block
from tests.conftest import make_user
from tests.end_to_end.conftest import PASSWORD, Server, WindowOf
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

BOARD = "/memory/"


@pytest.fixture
def students(tim: User, alice: User, make_block: MakeBlock, propose: Propose) -> list[User]:
    """alice, and 29 more; student 7 has two proposals."""
    made = [make_user(f"student{number:02}", first_name="Maximiliane", last_name=f"{number}") for number in range(29)]
    Tutorship.objects.bulk_create(Tutorship(tutor=tim, owner=student) for student in made)
    block = make_block(made[7], "goals", "Likes math and chess.\n")
    propose(block, "math", "algebra")
    rejected = propose(block, "chess", "go")
    services.reject(actor=tim, proposal_id=rejected.pk, revision=1, reason=RejectReason.WRONG)
    return [alice, *made]


def first_name(window: Page) -> str:
    return window.locator(".board tbody th a").first.inner_text()


def fits(window: Page) -> bool:
    return bool(window.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_a_board_of_thirty_is_ordered_by_keyboard_and_leads_to_a_memory(
    window_of: WindowOf, tim: User, students: list[User]
) -> None:
    window = window_of(tim)
    window.goto(BOARD)
    assert window.locator(".board tbody tr").count() == 30
    assert first_name(window) == "Alice Berg"
    window.get_by_role("link", name="Waiting", exact=True).focus()
    window.keyboard.press("Enter")
    expect(window.locator("th[aria-sort=descending]")).to_contain_text("Waiting")
    assert first_name(window) == "Maximiliane 7"
    # The whole row is the name's link, which lies above its cells.
    window.get_by_role("cell", name="1 rejected", exact=True).click(force=True)
    expect(window.locator("h1")).to_have_text("Memory of Maximiliane 7")
    window.go_back()
    assert first_name(window) == "Maximiliane 7"


@pytest.mark.parametrize("width", [320, 390])
def test_a_narrow_board_is_cards_that_are_still_a_table(
    width: int, window_of: WindowOf, tim: User, students: list[User]
) -> None:
    window = window_of(tim, viewport={"width": width, "height": 700})
    for page in (BOARD, f"{BOARD}?show=numbers", "/agents/", "/agents/scribe/", "/settings/"):
        window.goto(page)
        assert fits(window), page
    window.goto(BOARD)
    window.select_option("#sort", "waiting")
    window.get_by_role("button", name="Sort").click()
    window.wait_for_url("**sort=waiting*")
    assert first_name(window) == "Maximiliane 7"
    assert window.get_by_role("row").count() == 31
    assert window.get_by_role("cell").count() >= 30


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_mail_and_feed_are_chosen(scripts: bool, window_of: WindowOf, server: Server, tim: User, goals: Block) -> None:
    window = window_of(tim, java_script_enabled=scripts)
    window.goto("/settings/")
    window.select_option("#id_mail", "at_once")
    window.get_by_role("button", name="Save").click()
    expect(window.locator(".field-error")).to_have_text("Enter an address, or choose “Never”.")
    window.fill("#id_email", "tim@example.org")
    window.get_by_role("button", name="Save").click()
    # Links to new passwords go there: who asks for it confirms who they are, and what was typed is kept.
    window.fill("[name=password]", PASSWORD)
    window.press("[name=password]", "Enter")
    expect(window.get_by_role("status").first).to_contain_text("Saved.")
    tim.refresh_from_db()
    assert (tim.mail, tim.email) == (Mail.AT_ONCE, "tim@example.org")
    window.get_by_role("button", name="Create an address").click()
    path = httpx.URL(window.input_value("#feed-url")).path
    assert httpx.get(f"{server.url}{path}").status_code == 200
    assert window.get_by_role("button", name="Copy").is_visible() is scripts
    window.get_by_role("button", name="Switch off").click()
    expect(window.get_by_role("button", name="Create an address")).to_be_visible()
    assert httpx.get(f"{server.url}{path}").status_code == 404


def test_new_arrivals_are_offered_while_the_list_stays_and_the_icon_has_a_dot(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    window = window_of(tim)
    icon = window.locator("link[rel=icon]")
    expect(icon).to_have_attribute("href", "/static/assent.svg")
    proposal = propose(goals, "math", "algebra", reasoning="First.")
    # What the page asks every half minute.
    window.evaluate("htmx.ajax('GET', document.querySelector('#arrived').getAttribute('hx-get'), '#arrived')")
    expect(window.locator("#arrived")).to_have_text("1 new · Show")
    expect(icon).to_have_attribute("href", "/static/assent-waiting.svg")
    expect(window.locator("body")).not_to_contain_text("First.")
    window.click("#arrived a")
    expect(window.locator("#inbox")).to_contain_text("First.")
    expect(icon).to_have_attribute("href", "/static/assent-waiting.svg")
    window.locator(f"#row-{proposal.pk}").get_by_role("button", name="Approve").click()
    expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("Approved by")
    expect(icon).to_have_attribute("href", "/static/assent.svg")


def test_the_manifest_names_icons_that_are_there(server: Server) -> None:
    manifest = httpx.get(f"{server.url}/manifest.webmanifest")
    assert manifest.headers["Content-Type"] == "application/manifest+json"
    for each in manifest.json()["icons"]:
        found = httpx.get(f"{server.url}{each['src']}")
        assert (found.status_code, found.headers["Content-Type"]) == (200, "image/png")
