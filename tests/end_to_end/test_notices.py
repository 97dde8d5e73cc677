"""Notices of the desk: only a browser with a window of its own may show them."""

import pytest
from playwright.sync_api import expect

from approvals.models import User
from tests.conftest import CHROMIUM, find_chromium
from tests.end_to_end.conftest import WindowOf

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


@pytest.fixture(scope="module")
def chromium() -> str:
    return find_chromium(CHROMIUM)


def test_notices_are_asked_for_only_when_wanted(window_of: WindowOf, tim: User) -> None:
    window = window_of(tim)
    window.context.grant_permissions(["notifications"])
    window.goto("/settings/")
    button = window.locator("[data-notices] button")
    expect(button).to_have_text("Show notices")
    assert window.evaluate("localStorage.getItem('assent-notices')") is None
    button.click()
    expect(button).to_have_text("Stop notices")
    button.click()
    expect(button).to_have_text("Show notices")
    assert window.evaluate("localStorage.getItem('assent-notices')") is None
