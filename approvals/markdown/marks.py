"""Text of anybody as HTML, escaped: unseen characters as visible marks, and what was added or removed as that."""

import html
import re
from collections.abc import Iterable
from functools import lru_cache

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from assent_client.text import invisible
from assent_client.text.invisible import InvisibleMark, Letters, VisibleText, Whitespace
from memory_app.text.worddiff import Segment

_MAY_BREAK = mark_safe("<wbr>")
#: Text that every reader sees as it is: nothing in it is hidden or of another script. Latin letters with their accents,
#: and the signs of prose; a test looks at each.
_ORDINARY = re.compile("[\n\x20-\x7e\xa1-\xac\xae-\u017f\u2013\u2014\u2018-\u201f\u2026\u20ac]*")


def marked(text: str) -> SafeString:
    """Return text with a visible mark in the place of invisible characters."""
    if _ORDINARY.fullmatch(text):
        return SafeString(html.escape(text))  # a list of 25 has 150 such texts, and looking at each took half its time
    return drawn(invisible.visible(text))


def drawn(parts: Iterable[VisibleText | Letters | InvisibleMark | Whitespace]) -> SafeString:
    return SafeString("".join(map(_part, parts)))


def mark(label: str) -> SafeString:
    """Return the mark that stands for an unseen character, from its label in angle brackets."""
    return format_html('<span class="mark">{}</span>', label.strip("⟨⟩"))


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
        return mark(part.label)
    if isinstance(part, Whitespace):
        return _blank(part)
    return html.escape(part.text)


@lru_cache(maxsize=256)
def _blank(part: Whitespace) -> str:
    # In a source of 10,000 words it is asked for as often, and is one of a few.
    css = "space trailing" if part.trailing else "space"
    # The sign takes the place of the blank: where the line may break, or does, has to be said again.
    after = "\n" if part.text.endswith("\n") else _MAY_BREAK
    return format_html('<span class="{}">{}</span>{}', css, part.sign, after)


def signs(text: str) -> SafeString:
    """Return text with a sign for each blank, tab and line end."""
    return drawn(invisible.mark_whitespace(text))


def segment(kind: str, text: str, *, is_said: bool = True, is_moved: bool = False) -> SafeString:
    """Return a part of a change: `same`, `added`, `removed`, `moved`, or a `gap` where text was left out.

    Args:
        is_moved: it is a half of a move: `removed` from where it was, `added` where it is now.
    """
    if kind == "moved" or is_moved:
        words = text.strip("\r\n")
        shown = moved(kind, marked(words)) if words else ""
        return SafeString(f"{shown}\n" if text.endswith("\n") else shown)
    if kind == "gap":
        return format_html('<span class="gap">{}</span>', text)
    # A changed line end or blank is nothing to see: it gets a sign.
    shown = signs(text) if kind != "same" and not text.strip() else marked(text)
    return changed(kind, shown, is_said=is_said)


def line(segments: Iterable[Segment]) -> SafeString:
    """Return segments in a row, as insertions and deletions."""
    return SafeString("".join(segment(each.kind, each.text, is_moved=bool(each.move)) for each in segments))


def changed(kind: str, shown: SafeString, *, is_said: bool = True) -> SafeString:
    """Return HTML as an insertion or a deletion, said to those who do not see it; `same` as it is.

    Args:
        is_said: not needed where the part before it was of the same kind.
    """
    if kind not in ("added", "removed"):
        return shown
    tag, words = ("ins", _("added:")) if kind == "added" else ("del", _("removed:"))
    # With a direction of its own: the text around it runs as its own words do.
    said = f'<span class="visually-hidden" dir="auto">{html.escape(words)} </span>' if is_said else ""
    return SafeString(f"<{tag}>{said}{shown}</{tag}>")


def moved(kind: str, shown: SafeString) -> SafeString:
    """Return HTML that was moved: `removed` from here, `added` here, or `moved` where that is not said."""
    label = {"removed": _("moved from here:"), "added": _("moved here:")}.get(kind, _("moved:"))
    tag = "del" if kind == "removed" else "ins"
    said = f'<span class="moved-label" dir="auto">{html.escape(label)}</span>'
    return SafeString(f'<{tag} class="moved">{said} {shown}</{tag}>')
