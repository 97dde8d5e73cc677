"""What changes in a text or a note, as marks on a page."""

import html
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.markdown import marks
from approvals.markdown.fragments import drawn_fragment
from approvals.markdown.rendering import without_marks
from approvals.models import Proposal
from approvals.pages import notes_page
from approvals.review import diff_mode
from approvals.review.summary import excerpt_shown, moved_paragraphs
from approvals.templatetags.figures import number, when
from approvals.templatetags.texts import marked
from assent_client.text import invisible
from memory_app.text import worddiff
from memory_app.text.worddiff import Paragraph, Segment

register = template.Library()
register.simple_tag(drawn_fragment, name="drawn_texts")
register.simple_tag(marks.line)


@register.simple_tag
def moved_line(item: diff_mode.Passage, *, with_signs: bool = False) -> SafeString:
    """Return a line of a redline that was moved, with what changed in it where it is now.

    Args:
        with_signs: show a sign for each blank, tab and line end.
    """
    draw = marks.signs if with_signs else marks.marked
    if item.inside:
        drawn = (marks.changed(each.kind, draw(each.text)) for each in item.inside)
        return SafeString(f'<ins class="moved">{"".join(drawn)}</ins>')
    text = item.item.text if isinstance(item.item, Paragraph) else ""
    tag = "del" if item.moved == "from" else "ins"
    return SafeString(f'<{tag} class="moved">{draw(text.rstrip())}</{tag}>')


@register.simple_tag
def moved_here(inside: Iterable[Segment]) -> SafeString:
    """Return a line that was moved, as a cell: with what changed in it."""
    return marks.moved("added", marks.line(inside))


@register.simple_tag
def drawn(segments: Iterable[Segment]) -> SafeString:
    """Return a small change as its page draws it: bold words, lists and cells as such, and what changed marked."""
    segments = tuple(segments)
    old, new = ("".join(each.text for each in segments if each.kind != other) for other in ("added", "removed"))
    return drawn_fragment(old, new)


@register.simple_tag
def excerpt(parts: Sequence[Sequence[str]]) -> SafeString:
    """Return the stored excerpt of a change: segments without marks of Markdown, and gaps where text was left out."""
    return SafeString("".join(marks.segment(kind, without_marks(text)) for kind, text in excerpt_shown(parts)))


@register.simple_tag
def source(segments: Iterable[Segment]) -> SafeString:
    """Return segments with a sign for each blank, tab and line end."""
    return SafeString("".join(_with_signs(segment) for segment in segments))


def _with_signs(segment: Segment) -> SafeString:
    if segment.move:  # a blank line beside what was moved: that is said there
        tag = "del" if segment.kind == "removed" else "ins"
        return SafeString(f'<{tag} class="moved">{marks.signs(segment.text)}</{tag}>')
    return marks.changed(segment.kind, marks.signs(segment.text))


@register.inclusion_tag("components/redline.html")
def redline_of(before: str, after: str) -> dict[str, Any]:
    """Return the word-level redline from one text to another, with the unchanged paragraphs folded."""
    return {"redline": diff_mode.redline(worddiff.diff(before, after)), "prefix": "own-"}


@register.simple_tag
def words(added: int, removed: int, moved: int = 0, *, is_short: bool = False) -> SafeString:
    """Return how much was added, removed and moved, if anything. Numbers say which by their sign, not by their colour.

    Args:
        moved: paragraphs.
        is_short: leave out of what was moved that it is paragraphs, where there is little room.
    """
    parts = []
    if added or removed:
        plus = f'<span class="words-added">+{number(added)}</span> ' if added else ""
        minus = f'<span class="words-removed">−{number(removed)}</span> ' if removed else ""
        parts.append(f"{plus}{minus}{html.escape(ngettext('word', 'words', added + removed))}")
    if moved:
        in_full = ngettext("%(number)s paragraph moved", "%(number)s paragraphs moved", moved)
        said = _("%(number)s moved") if is_short else in_full
        parts.append(html.escape(said % {"number": number(moved)}))
    return SafeString(f'<span class="words">{", ".join(parts)}</span>' if parts else "")


@register.simple_tag
def words_of(proposal: Proposal, *, is_short: bool = False) -> SafeString:
    """Return how much a proposal adds, removes and moves."""
    moved = moved_paragraphs(proposal.excerpt)
    return words(proposal.words_added, proposal.words_removed, moved, is_short=is_short)


@register.simple_tag
def words_in(segments: Sequence[Segment]) -> SafeString:
    """Return how much a change as it is shown adds, removes and moves: of an approval, what was approved."""
    return words(*worddiff.count_words(segments), worddiff.count_moved(segments))


@register.filter
def type_name(type_: str) -> str:
    """Return the name of a type of notes."""
    return str(notes_page.TYPE_NAMES.get(type_) or invisible.plain(type_))


@register.filter
def source_name(source: str) -> str:
    """Return who wrote a note, in words."""
    return str(notes_page.SOURCE_NAMES.get(source) or invisible.plain(source))


@register.simple_tag
def field_value(name: str, value: str | datetime) -> str:
    """Return a field of a note for a table: times in the viewer's zone, types by name, confidence in percent."""
    if isinstance(value, datetime):
        return when(value)
    if name == "confidence" and value:
        return _("%(percent)s%%") % {"percent": f"{float(value) * 100:.6g}"}
    if name == "type":
        return type_name(value)
    return source_name(value) if name == "source" else marked(value)
