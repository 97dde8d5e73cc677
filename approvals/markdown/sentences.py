"""A text as HTML in which every sentence is a link, to what is known about it.

The text is laid out as everywhere. Links of its own are shown as their words: a sentence leads to where it comes from,
and a link inside a link is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from markdown_it.token import Token

from approvals.markdown.parsing import LONGEST
from approvals.markdown.rendering import beside, render_with
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
_OF_PARTS = {"class", "aria-current", "data-sentence", "data-from"}
_ATTRIBUTES = {"a": {"href", "id", *_OF_PARTS}, "span": _OF_PARTS}
_BREAKS = ("softbreak", "hardbreak")


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
    return render_with(source, _Linking(sentences).change, top=top, attributes=_ATTRIBUTES)


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
    return format_html(
        '{} class="{}" data-sentence="{}" data-from="{}"{}{}>',
        format_html('<a href="{}"', sentence.href) if is_first else SafeString("<span"),
        sentence.css,
        number,
        sentence.origin,
        format_html(' id="s{}"', number) if is_first else "",
        SafeString(' aria-current="true"') if sentence.is_current else "",
    )


class _Linking:
    """Replaces the marks in parsed tokens by links, which are closed and begun again around cells and paragraphs."""

    def __init__(self, sentences: Sequence[SentenceLink]) -> None:
        self._sentences = sentences
        self._number: int | None = None
        self._begun: set[int] = set()
        #: What ends the link that is open.
        self._end = ""
        self._out: list[Token] = []
        # Emphasis that is open here, and how much of it was drawn: it ends before a link does, and begins again after.
        self._around: list[Token] = []
        self._drawn = 0
        self._space: list[Token] = []

    def change(self, tokens: list[Token]) -> None:
        for index, token in enumerate(tokens):
            if token.type == "inline":
                token.children = self._changed(token.children or [])
            elif token.type in ("fence", "code_block"):
                tokens[index] = self._code(token)
            elif token.type == "html_block":  # what Markdown drops
                token.content = _MARK.sub("", token.content)
            for name, value in token.attrs.items():
                token.attrs[name] = _MARK.sub("", str(value))

    def _changed(self, children: list[Token]) -> list[Token]:
        self._out, self._around, self._space = [], [], []
        self._drawn = 0
        for child in children:
            if child.type in ("text", "text_special", "code_inline", "image"):
                self._words(child)
                self._beside(child)
            elif child.type in _BREAKS:
                self._space.append(child)
            elif child.type == "html_inline":  # the number of an item, as it is written
                self._out.append(child)
            elif child.type in ("link_open", "link_close"):
                self._beside(child)
            elif child.nesting == 1:
                self._around.append(child)
            elif child.nesting == -1 and self._around:
                self._around.pop()
                if self._drawn > len(self._around):
                    self._out.append(child)
                    self._drawn = len(self._around)
        self._close()
        return self._out + self._space

    def _words(self, token: Token) -> None:
        content = invisible.plain(token.content) if token.info == "entity" else token.content
        for number, words in _parts(content):
            if number is not None and number != self._number:
                self._close()
                self._number = number
            if not words:
                continue
            self._begin()
            if token.type == "code_inline":
                self._out.append(_token("code_inline", "code", words))
                continue
            self._out.append(_token("text", "", words.rstrip()))
            if space := _space_after(words):
                self._space.append(_token("text", "", space))

    def _beside(self, token: Token) -> None:
        """Show what is written beside the words of a link or a sign."""
        if said := _MARK.sub("", beside(token)):
            self._out.append(_token("html_inline", "", said))

    def _begin(self) -> None:
        """Open the link of this sentence, and what is around these words, unless that was done."""
        self._out += self._space
        self._space = []
        if not self._end and (link := self._link()):
            opening, self._end = link
            self._out.append(_token("html_inline", "", opening))
        self._out += self._around[self._drawn :]
        self._drawn = len(self._around)

    def _link(self) -> tuple[SafeString, str] | None:
        """Return the beginning and the end of this sentence's link; None for words of no sentence."""
        if self._number is None or self._number >= len(self._sentences):
            return None
        is_first = self._number not in self._begun
        self._begun.add(self._number)
        opening = _opening(self._sentences[self._number], self._number, is_first=is_first)
        return opening, "</a>" if is_first else "</span>"

    def _close(self) -> None:
        for token in reversed(self._around[: self._drawn]):
            self._out.append(Token(token.type.replace("_open", "_close"), token.tag, -1))
        self._drawn = 0
        if self._end:
            self._out.append(_token("html_inline", "", self._end))
        self._end = ""

    def _code(self, token: Token) -> Token:
        """Return a block of code with a link for each of its sentences."""
        out = []
        for number, words in _parts(token.content):
            self._number = self._number if number is None else number
            if words.strip() and (link := self._link()):
                opening, end = link
                out.append(format_html("{}{}{}{}", opening, words.rstrip(), SafeString(end), _space_after(words)))
            else:
                out.append(escape(words))
        return _token("html_block", "", f"<pre><code>{''.join(out)}</code></pre>\n")


def _parts(text: str) -> Iterator[tuple[int | None, str]]:
    """Yield the words from each mark to the next, with its number; None for those before the first."""
    number, at = None, 0
    for mark in _MARK.finditer(text):
        yield number, text[at : mark.start()]
        number, at = int(mark[1]), mark.end()
    yield number, text[at:]


def _token(type_: str, tag: str, content: str) -> Token:
    return Token(type_, tag, 0, content=content)
