"""The pages of the README's pictures are there."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.pictures import PICTURES, show, sign_in
from tests.support.sites import serving

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


def test_each_page_is_found(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        page = browser.new_context(base_url=site.address).new_page()
        sign_in(page, "tim")
        assert [show(page, picture) for picture in PICTURES] == [200] * len(PICTURES)
