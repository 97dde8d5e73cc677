"""What people and agents write paints nothing outside its own box: what stands beside it can be read."""

from base64 import b64encode

import pytest
from playwright.sync_api import Locator, Page

from approvals.models import User
from memory_app.reads import Block
from tests import environment
from tests.end_to_end.conftest import WindowOf
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

#: Marks above, below and around one letter, and letters as wide as a line: put in by script, since our own pages show
#: marks that pile up as what they are.
FLOODS = {
    "marks": "Z" + "\u0301\u0316\u20dd" * 300,
    "one long word": "W" * 4_000,
    "wide letters": "\ufdfd" * 200 + "\U0001242b" * 200,
    "marks that take room": "\u0915" + "\u093e" * 900,
}
#: How far outside its box a text may paint: half the gap to what stands beside it.
SIDEWAYS, UP_AND_DOWN = 17, 4


#: Of 255 levels; the corners of boxes are drawn a little differently each time.
SEEN = 40

#: How many pixels of two pictures differ, outside a rectangle.
DIFFER = """async ([some, others, hole, seen]) => {
    const pixels = async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
    };
    const [before, after] = [await pixels(some), await pixels(others)];
    let differing = 0;
    for (let y = 0; y < before.height; y++) {
        for (let x = 0; x < before.width; x++) {
            if (x >= hole.left && x <= hole.right && y >= hole.top && y <= hole.bottom) continue;
            const at = 4 * (y * before.width + x);
            differing += [0, 1, 2].some((n) => Math.abs(before.data[at + n] - after.data[at + n]) > seen);
        }
    }
    return differing;
}"""

#: Keeps the size of a box, so that whatever changes around it was painted from inside; what is clipped still makes a
#: page longer, and a scroll bar would move all of it.
EMPTY = """element => {
    const { width, height } = element.getBoundingClientRect();
    const inner = document.createElement('div');
    inner.style.height = '1em';
    Object.assign(element.style, { width: `${width}px`, height: `${height}px`, maxWidth: 'none' });
    element.replaceChildren(inner);
    document.documentElement.style.overflow = 'hidden';
}"""
FILL = "(element, flood) => { element.firstChild.textContent = flood; }"


def covered(page: Page, blank: Page, box: Locator) -> list[str]:
    """The floods that paint over what stands beside a box."""
    box.evaluate(EMPTY)
    at = box.bounding_box()
    assert at is not None
    hole = {"left": at["x"] - SIDEWAYS, "right": at["x"] + at["width"] + SIDEWAYS}
    hole |= {"top": at["y"] - UP_AND_DOWN, "bottom": at["y"] + at["height"] + UP_AND_DOWN}
    before = picture(page)
    found = []
    for name, flood in FLOODS.items():
        box.evaluate(FILL, flood)
        assert box.bounding_box() == at
        if blank.evaluate(DIFFER, [before, picture(page), hole, SEEN]):
            found.append(name)
    return found


def picture(page: Page) -> str:
    return b64encode(page.screenshot(animations="disabled")).decode()


@pytest.mark.skipif(not environment.is_embedded(), reason="style sheets know no engine, and it takes half a minute")
@pytest.mark.parametrize(("width", "scheme"), [(1_280, "light"), (390, "dark")])
def test_a_flood_covers_nothing_beside_it(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose, width: int, scheme: str
) -> None:
    said = {"evidence": [{"role": "user", "content": "It was moved.", "at": "2026-11-01"}], "session_id": "s-1"}
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved, see https://example.org", **said)
    address = proposal.get_absolute_url()
    window = window_of(tim, viewport={"width": width, "height": 1_600}, color_scheme=scheme)
    blank = window.context.new_page()
    pages = {
        address: (".reason", ".turn-text", ".redline .changed", ".facts dd"),
        f"{address}?view=source": (".source .line",),
        f"{address}?view=side": (".table .text",),
        f"{address}?view=result": (".prose > p",),
        "/": (".row-title", ".row-excerpt"),
        "/memory/alice/": (".block-card .opening",),
    }
    painted = []
    for page, boxes in pages.items():
        for selector in boxes:
            window.goto(page)
            box = window.locator(selector).first
            painted += [(page, selector, name) for name in covered(window, blank, box)]
    assert painted == []


def test_a_flood_of_marks_is_shown_as_what_it_is(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    flood = "\u0301" * 900
    proposal = propose(goals, "in June", f"in July{flood}, says Тіm", reasoning=f"It was moved{flood}.")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.locator(".reason-rest summary").click()  # so many characters are no short reason
    shown = "U+0301 COMBINING ACUTE ACCENT ×896"
    assert window.locator(".reason-rest .reason").inner_text() == f"It was moved\u0301\u0301\u0301\u0301{shown}."
    assert shown in window.locator(".redline").inner_text()
    assert window.locator(".redline .stray").text_content() == "Ті (Cyrillic) "
    assert "hidden characters" in window.locator(".checks").inner_text().lower()
    assert "look-alike letters" in window.locator(".checks").inner_text().lower()
