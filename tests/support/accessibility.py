"""What axe-core finds wrong with a page, at each width and in both themes, and whether the page runs over the edge.

Belongs here: how a page is looked at. Not here: which pages are.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, Page

Theme = Literal["light", "dark"]

#: Judging colours takes most of the time, so not every theme is asked at every width: a tablet shows what a desk or
#: a phone shows. The phone has the other theme on every second page, since most parts are on several.
DESK, TABLET, PHONE = 1_440, 768, 320
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
NO_COLOURS = {"rules": {"color-contrast": {"enabled": False}, "link-in-text-block": {"enabled": False}}}

#: axe fetches style sheets again for a rule that is off by default, and looks into frames, of which we have none.
RUN = """async (options) => {
    const always = { resultTypes: ['violations'], preload: false, iframes: false };
    const { violations } = await axe.run(document, { ...always, ...options });
    return violations.flatMap(({ id, impact, nodes }) =>
        nodes.map((node) => `${id} (${impact}) ${node.target.join(' ')} ${node.html.slice(0, 160)}`));
}"""
#: What reaches over the right edge, the innermost elements first, without what boxes of its own scroll or cut off.
OVER_THE_EDGE = """() => {
    if (document.scrollingElement.scrollWidth <= innerWidth) return [];
    const isHeld = (each) => each !== document.body
        && (getComputedStyle(each).overflowX !== 'visible' || isHeld(each.parentElement));
    const wide = [...document.body.querySelectorAll('*')].filter((each) =>
        each.getBoundingClientRect().right > innerWidth && !isHeld(each.parentElement));
    return wide.reverse().slice(0, 3).map((each) => `over the edge: ${each.outerHTML.slice(0, 160)}`);
}"""


def with_axe(context: BrowserContext) -> None:
    """Bring axe to every page of a window: a script of the browser's own, which our policy for scripts is not about."""
    context.add_init_script(AXE_SCRIPT)


@dataclass
class Inspector:
    """Looks at what a window shows; `found` says what was wrong, and where."""

    window: Page
    looks: int = 0
    found: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.window.emulate_media(reduced_motion="reduce")  # a colour on its way is none of either theme

    def look(self, name: str) -> None:
        """Look at the page as it is now: every rule, best practices too, at three widths and in both themes."""
        self.window.wait_for_load_state()  # words may be there before the style sheet
        self.looks += 1
        on_a_phone: Theme = "dark" if self.looks % 2 else "light"
        looks: tuple[tuple[int, Theme, dict[str, Any]], ...] = (
            (PHONE, on_a_phone, {}),
            (TABLET, "light", NO_COLOURS),
            (DESK, "dark", COLOURS),
            (DESK, "light", {}),
        )
        for width, theme, options in looks:
            self.window.set_viewport_size({"width": width, "height": 900})
            self.window.emulate_media(color_scheme=theme)
            self._note(f"{name} at {width} px, {theme}", self.window.evaluate(RUN, options))
            self._note(f"{name} at {width} px", self.window.evaluate(OVER_THE_EDGE))

    def _note(self, where: str, wrong: list[str]) -> None:
        for each in wrong:
            self.found.setdefault(each, []).append(where)

    def report(self) -> str:
        """Return what was found, each with the first place and the number of others; empty when there is nothing."""
        lines = (f"{each}\n  {places[0]} and {len(places) - 1} more" for each, places in self.found.items())
        return "\n".join(lines)
