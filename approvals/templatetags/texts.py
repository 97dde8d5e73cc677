"""Texts of agents and memories on a page.

They are escaped here and never marked safe; the one exception is rendered Markdown, which
`approvals.markdown.rendering` has cleaned.
"""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.markdown import marks, rendering
from assent_client.text import invisible
from memory_app.text.lines import first_words

register = template.Library()

#: How much of a reason a row has, in characters: more than two lines on a wide screen.
_OPENING = 280
_LOOKED_AT = 2_000
#: A reason of this many characters and lines stands above its change in full; of a longer one, the start.
_REASON_IN_FULL = 280
_REASON_START = 220
_REASON_LINES = 4


marked = register.filter(register.simple_tag(marks.marked))  # a filter too, for the sentences of `blocktranslate`


@register.filter
def plain(text: object) -> str:
    """Return the same as plain text, where no markup is possible: titles, options, attributes, hidden words."""
    return invisible.plain(str(text))


@register.filter
def code_spans(text: str) -> SafeString:
    """Return a sentence of ours, what it has between backticks as code."""
    parts = text.split("`")
    return format_html_join(
        "", "{}", ((part if at % 2 == 0 else format_html("<code>{}</code>", part),) for at, part in enumerate(parts))
    )


@register.filter(name="markdown")
def rendered(text: str, top: int = rendering.TOP) -> SafeString:
    """Return a text as HTML, its highest heading at level `top`."""
    return rendering.render(text, top=top)


@register.filter
def opening(text: str) -> SafeString:
    """Return the beginning of a text on one line, cut between words; the style sheet clamps it further."""
    return marked(first_words(text.strip()[:_LOOKED_AT], _OPENING))


@register.filter
def opened(text: str) -> dict[str, str]:
    """Return a reason cut after a word where it is long, so that what it is about stays in view below it.

    The `rest` of a short one is empty.
    """
    text = text.strip()
    if len(text) <= _REASON_IN_FULL and text.count("\n") <= _REASON_LINES:
        return {"start": text, "rest": ""}
    start = "\n".join(text[:_REASON_START].split("\n")[:_REASON_LINES])
    whole_words = start.rpartition(" ")[0] if len(start) == _REASON_START else start
    start = (whole_words or start).rstrip()
    return {"start": start, "rest": text[len(start) :]}
