"""The pictures of the README: pages of the demo, in both themes and on a phone. `make pictures` writes them.

Belongs here: which pages, how large, and how they are found. They are of this checkout's own server with fresh data, so
that they show the pages as they are.
"""

import base64
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.sites import ROOT, serving

FOLDER = ROOT / "docs" / "pictures"
#: Bytes of a picture.
LARGEST = 150_000
#: Pixels of the screen for one of the page; a README is read on fine screens.
_SCALE = 2
_QUALITY = 0.5

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


@dataclass(frozen=True)
class Picture:
    """A page in a window of a size.

    Attributes:
        path: its address; of a proposal, the list it stands on, with the beginning of its reason.
    """

    name: str
    path: str
    width: int
    height: int
    reason: str = ""

    def file(self, theme: Theme) -> Path:
        return FOLDER / f"{self.name}-{theme}.webp"


PICTURES = (
    Picture("inbox", "/?sort=oldest", 1120, 640),
    Picture("proposal", "/", 1120, 840, reason="On three Tuesdays in a row"),
    Picture("phone", "/?sort=oldest", 390, 760),
)


def sign_in(page: Page, person: str) -> None:
    page.goto("/sign-in/")
    page.fill("[name=username]", person)
    page.fill("[name=password]", "demo")
    page.click("main form [type=submit]")
    page.wait_for_selector("#inbox")


def show(page: Page, picture: Picture) -> int:
    """Go to the page of a picture. Return its status."""
    answer = page.goto(picture.path)
    if picture.reason:
        address = page.get_by_text(picture.reason).locator("xpath=ancestor-or-self::a").first.get_attribute("href")
        assert address
        answer = page.goto(address)
    page.evaluate("document.activeElement.blur()")
    assert answer
    return answer.status


def webp(browser: Browser, png: bytes) -> bytes:
    """Return a picture in a third of its size; the browser is the only program here that can."""
    page = browser.new_page()
    script = """async ([png, quality]) => {
        const image = new Image();
        image.src = `data:image/png;base64,${png}`;
        await image.decode();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext('2d').drawImage(image, 0, 0);
        return canvas.toDataURL('image/webp', quality).split(',')[1];
    }"""
    made = page.evaluate(script, [base64.b64encode(png).decode(), _QUALITY])
    page.close()
    return base64.b64decode(made)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "--demo", has_demo=False) as site,
        sync_playwright() as playwright,
    ):
        program = next(filter(None, map(shutil.which, _BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for picture in PICTURES:
            for theme in THEMES:
                size = {"width": picture.width, "height": picture.height}
                context = browser.new_context(
                    base_url=site.address, viewport=size, color_scheme=theme, device_scale_factor=_SCALE
                )
                page = context.new_page()
                sign_in(page, "tim")
                if show(page, picture) != 200:
                    sys.exit(f"{picture.name}: {page.url} does not answer 200")
                made = webp(browser, page.screenshot())
                if len(made) > LARGEST:
                    sys.exit(f"{picture.name} has {len(made):,} bytes, more than {LARGEST:,}")
                picture.file(theme).write_bytes(made)
                print(f"{picture.file(theme).relative_to(ROOT)}: {len(made):,} bytes")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
