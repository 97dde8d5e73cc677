"""What can be said of the look without looking: enough contrast in light and dark, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

STATIC = Path(__file__).resolve().parents[3] / "static"
TEMPLATES = STATIC.parent / "templates"
CSS = (STATIC / "assent.css").read_text()

TEXT, CONTROL = 4.5, 3.0  # WCAG 2.2 AA: 1.4.3 and 1.4.11

#: What is written on each ground; and lines that tell a control from it.
INKS = {
    "paper": "ink ink-2 ink-3 accent added removed warn",
    "surface": "ink ink-2 ink-3 accent added removed warn",
    "sunken": "ink ink-2 ink-3 accent",
    "accent-soft": "accent ink-2 ink-3",
    "accent": "on-accent",
    "accent-hover": "on-accent",
    "added-bg": "added ink-3",
    "removed-bg": "removed ink-3",
    "warn": "on-warn",
    "ink": "surface",
    "ink-2": "surface",
}
PAIRS = [(ink, paper, TEXT) for paper, inks in INKS.items() for ink in inks.split()]
PAIRS += [("line-strong", paper, CONTROL) for paper in ("surface", "paper", "sunken", "accent-soft")]


def colours(scheme: str) -> dict[str, str]:
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
    return {name: light if scheme == "light" else dark for name, light, dark in found}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "paper", "least"), PAIRS, ids=[f"{ink} on {paper}" for ink, paper, _ in PAIRS])
def test_what_is_written_can_be_read(ink: str, paper: str, least: float, scheme: str) -> None:
    all_colours = colours(scheme)
    lighter, darker = sorted((luminance(all_colours[ink]), luminance(all_colours[paper])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= least


def test_the_stylesheet_loads_nothing() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    for template in TEMPLATES.rglob("*.html"):
        text = template.read_text()
        # Data in JSON is no script, and nothing runs it.
        assert not re.search(r'<script(?![^>]*\b(?:src=|type="application/json"))', text), template
        # A mail, and what is downloaded, have no style sheet to bring along.
        if not template.name.endswith(".mail.html") and template.parent.name != "own_data":
            assert not re.search(r"<style|\sstyle=|\son\w+=", text), template
        assert "hx-on" not in text, template


def test_htmx_is_vendored_with_its_version_and_its_licence() -> None:
    (script,) = STATIC.glob("vendor/htmx-*.min.js")
    version = script.name.removeprefix("htmx-").removesuffix(".min.js")
    assert version in script.read_text()
    assert (STATIC / "vendor" / "htmx-LICENSE").exists()
    assert f"vendor/{script.name}" in (TEMPLATES / "base.html").read_text()
