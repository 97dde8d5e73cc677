"""A text as HTML in which every sentence is a link, to what is known about it.

The text is laid out as everywhere. Links of its own are shown as their words: a sentence leads to where it comes from,
and a link inside a link is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.markdown.parsing import LONGEST
from approvals.markdown.rendering import laid_out
from assent_client.text import invisible

#: A mark before a sentence: its number between two characters that `invisible.plain` leaves in no text.
_BEGIN, _END = "\ufdd0", "\ufdd1"
_MARK = re.compile(f"{_BEGIN}([0-9]{{1,7}}){_END}")
#: What stays in front of the mark, since it would no longer be read as Markdown behind it.
_IN_FRONT = re.compile(
    r"\A(?:\s*+(?:[-*+][^\S\n]|[0-9]{1,9}[.)][^\S\n]|>|\#{1,6}[^\S\n]|\|))*+\s*+(?:\[[ xX]\]\s)?[*_~]*+"
)
#: Lines that lay a text out and say nothing: rules, fences, definitions of links.
_SAYS_NOTHING = re.compile(r"\s*+(?:[-*_=|:\s]*+\Z|```|~~~|\[[^\]\n]*+\]:)")
#: The marks and tags of a rendered text; as one part what is written beside its words, what Markdown drops, and what
#: begins and ends a block of code.
_PARTS = re.compile(
    rf"({_MARK.pattern.replace('(', '(?:')}|<span class=\"(?:sign|marker)\">(?:(?!<span).)*?</span>"
    r"|<p class=\"unseen(?:(?!<p).)*?</p>|<pre><code>|</code></pre>|<[^<>]*+>)",
    re.DOTALL,
)
_INLINE, _LINK_TAG = re.compile(r"</?(?:em|strong|s|br|a|span)\b|</?code>(?!<)"), re.compile(r"</?a\b")


@dataclass(frozen=True)
class SentenceLink:
    """A sentence of a text and the attributes of its link.

    Args:
        text: as it is stored, with the white space after it.
        href: where it leads.
        css: classes.
        origin: what sentences of one origin have in common.
    """

    text: str
    href: str
    css: str
    origin: str
    is_current: bool = False


def render_sentences(sentences: Sequence[SentenceLink], *, top: int) -> SafeString:
    """Return the sentences as one text, each a link `#s<number>` counted from 0.

    Of a sentence in several cells of a table the first is the link; the others are known as parts of it.
    """
    if sum(len(each.text) for each in sentences) > LONGEST:
        links = format_html_join("", "{}", ((_as_written(each, number),) for number, each in enumerate(sentences)))
        return format_html('<pre class="as-written">{}</pre>', links)
    source = "".join(_marked(each.text, number) for number, each in enumerate(sentences))
    return SafeString("".join(_linked(laid_out(source, top=top)[0], sentences)))


def _marked(text: str, number: int) -> str:
    shown = invisible.plain(text)
    if _SAYS_NOTHING.match(shown):
        return shown
    front = _IN_FRONT.match(shown)
    at = front.end() if front else 0
    return f"{shown[:at]}{_BEGIN}{number}{_END}{shown[at:]}"


def _as_written(sentence: SentenceLink, number: int) -> SafeString:
    shown = invisible.plain(sentence.text)
    return format_html("{}{}</a>{}", _opening(sentence, number), shown.rstrip(), _space_after(shown))


def _space_after(text: str) -> str:
    return text[len(text.rstrip()) :]


def _opening(sentence: SentenceLink, number: int, *, is_first: bool = True) -> SafeString:
    tag, anchor = (f'a href="{escape(sentence.href)}"', f' id="s{number}"') if is_first else ("span", "")
    about = f'class="{escape(sentence.css)}" data-sentence="{number}" data-from="{escape(sentence.origin)}"{anchor}'
    current = ' aria-current="true"' if sentence.is_current else ""
    return SafeString(f"<{tag} {about}{current}>")


def _linked(html: str, sentences: Sequence[SentenceLink]) -> Iterator[str]:
    """Yield rendered HTML with a link in the place of each mark, which is closed and begun again around blocks.

    Emphasis that is open where a link ends is closed before it, and opened again in the next one.
    """
    number, begun, end, space = -1, set[int](), "", ""
    around, drawn = list[str](), 0  # the emphasis that is open here, and how much of it was drawn
    for part in _PARTS.split(html):
        mark = _MARK.fullmatch(part)
        is_block = part.startswith("<") and not _INLINE.match(part)
        if is_block or (mark and int(mark[1]) != number):
            yield from (tag.replace("<", "</") for tag in reversed(around[:drawn]))
            yield end
            end, drawn = "", 0
        if mark:
            number = int(mark[1])
        elif _LINK_TAG.match(part):
            continue
        elif not part.strip() or part.startswith("<br"):
            space += part
        elif not part.startswith("<"):
            words = part.lstrip()
            yield space + part[: -len(words)]
            if not end and 0 <= number < len(sentences):
                yield _opening(sentences[number], number, is_first=number not in begun)
                end = "</span>" if number in begun else "</a>"
                begun.add(number)
            yield from around[drawn:]
            drawn = len(around)
            space = "" if "<code>" in around else _space_after(words)
            yield words.removesuffix(space)
        elif is_block or part.startswith("<span"):
            yield space + _MARK.sub("", part)
            space = ""
        elif part.startswith("</") and around:
            around.pop()
            if drawn > len(around):
                yield part
                drawn = len(around)
        else:
            around.append(part)
    yield space
