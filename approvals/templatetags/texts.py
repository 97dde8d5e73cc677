"""Texts of agents and memories on a page.

They are escaped here and never marked safe; the one exception is rendered Markdown, which
`approvals.markdown.rendering` has cleaned.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from approvals.markdown import rendering
from memory_app.text import invisible
from memory_app.text.first_words import first_words
from memory_app.text.invisible import InvisibleMark, Letters, VisibleText, Whitespace

register = template.Library()

#: How much of a reason a row has, in characters: more than two lines on a wide screen.
_OPENING = 280
_LOOKED_AT = 2_000
#: A reason of this many characters and lines stands above its change in full; of a longer one, the start.
_REASON_IN_FULL = 280
_REASON_START = 220
_REASON_LINES = 4
_MAY_BREAK = mark_safe("<wbr>")
#: Text that every reader sees as it is: nothing in it is hidden or of another script.
_ORDINARY = re.compile(r"[\n\x20-\x7e]*")


@register.filter  # a filter too, for the sentences of `blocktranslate`
@register.simple_tag
def marked(text: str) -> SafeString:
    """Return text with a visible mark in the place of invisible characters."""
    if _ORDINARY.fullmatch(text):
        return SafeString(html.escape(text))  # a list of 25 has 150 such texts, and looking at each took half its time
    return drawn(invisible.visible(text))


@register.filter
def plain(text: object) -> str:
    """Return the same as plain text, where no markup is possible: titles, options, attributes, hidden words."""
    return invisible.plain(str(text))


def drawn(parts: Iterable[VisibleText | Letters | InvisibleMark | Whitespace]) -> SafeString:
    return format_html_join("", "{}", ((_part(part),) for part in parts))


def _part(part: VisibleText | Letters | InvisibleMark | Whitespace) -> str:
    if isinstance(part, Letters):
        # The word stays readable: its letters are framed, and say what they are.
        return format_html(
            '<span class="stray" title="{}">{}<span class="stray-script"><span class="visually-hidden"> (</span>{}'
            '<span class="visually-hidden">) </span></span></span>',
            ", ".join(part.names),
            part.text,
            part.script,
        )
    if isinstance(part, InvisibleMark):
        return format_html('<span class="mark">{}</span>', part.label.strip("⟨⟩"))
    if isinstance(part, Whitespace):
        css = "space trailing" if part.trailing else "space"
        # The sign takes the place of the blank: where the line may break, or does, has to be said again.
        after = "\n" if part.text.endswith("\n") else _MAY_BREAK
        return format_html('<span class="{}">{}</span>{}', css, part.sign, after)
    return part.text


@register.filter(name="markdown")
def rendered(text: str, top: int = rendering.TOP) -> SafeString:
    """Return a text as HTML, its highest heading at level `top`."""
    return rendering.render(text, top=top)


@register.filter
def opening(text: str) -> SafeString:
    """Return the beginning of a text on one line, cut between words; the style sheet clamps it further."""
    return marked(first_words(text.strip()[:_LOOKED_AT], _OPENING))


@dataclass(frozen=True)
class Opened:
    """A text cut for a page that shows its beginning first; `rest` is empty for a short one."""

    start: str
    rest: str


@register.filter
def opened(text: str) -> Opened:
    """Return a reason cut after a word where it is long, so that what it is about stays in view below it."""
    text = text.strip()
    if len(text) <= _REASON_IN_FULL and text.count("\n") <= _REASON_LINES:
        return Opened(text, "")
    start = "\n".join(text[:_REASON_START].split("\n")[:_REASON_LINES])
    whole_words = start.rpartition(" ")[0] if len(start) == _REASON_START else start
    start = (whole_words or start).rstrip()
    return Opened(start, text[len(start) :])
