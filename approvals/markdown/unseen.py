"""What a text says and its page would not: Markdown drops it.

Such are cells that a table has no column for, definitions of links, all that follows the language of a block of code,
and numbers of items. Every line of the source is accounted for: what stands in no block and is more than layout counts
as dropped, whatever it is. No Django. Not here: how a page shows it (`rendering`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from approvals.markdown.parsing import LONGEST, LinkReader, gaps_of, lines_of
from assent_client.text import invisible

Kind = Literal["words", "info", "number"]

#: What lays a line out and says nothing.
_LAYOUT = re.compile(r"(?:[\s>*+\-_=|:`~#]|\d{1,9}[.)](?=\s|$))*+")
_DEFINITIONS = re.compile(r"(?:\[(?:\\.|[^\[\]\\])++\]:\s*+<?[^\s<>]++>?\s*+)++")
_DEFINED = re.compile(r"\[((?:\\.|[^\[\]\\])++)\]:\s*+<?([^\s<>]++)")
#: A text without any of these drops nothing: bars of a table, definitions, titles, fences, numbers, entities.
_MAY_DROP = re.compile(r"\||\]:|\]\(|(?:```|~~~)[^\S\r\n]*+\S|\d\d[.)]|&(?:#|\w++;)")
#: The language of a block of code, in braces for some programs.
_LANGUAGE = re.compile(r"[\w+#./{}-]{1,20}+")
#: Numbers of items that differ by so much from the drawn ones say something else than the order.
_FAR = 10


class Unseen(NamedTuple):
    """A passage of the source.

    Args:
        at: the token in front of which it belongs.
    """

    at: int
    kind: Kind
    text: str


def unseen(text: str, tokens: Sequence[Token]) -> Iterator[Unseen]:
    """Yield what the blocks of a text leave out, in the order of the tokens but for tables, which it follows."""
    lines = lines_of(text)
    at, ends, cells, below = 0, list[int](), list[str](), list[str]()
    for index, token in enumerate(tokens):
        start, stop = token.map or (at, at)
        if token.nesting < 0:
            end = ends.pop()
            if token.type in ("list_item_close", "blockquote_close"):
                yield from _between(index, lines[at:end])
                at = max(at, end)
            elif token.type == "tr_close":
                below += _beside(lines[at], cells, is_row=True)
                at += 1
            elif token.type == "table_close":
                yield from (Unseen(index + 1, "words", each) for each in below)
                below = []
            continue
        yield from _between(index, lines[at:start])
        at = max(at, start)
        if token.nesting > 0:
            ends.append(stop)
            cells = [] if token.type == "tr_open" else cells
        elif token.type == "inline" and token.level and tokens[index - 1].tag in ("th", "td"):
            cells.append(token.content)
        else:
            if token.type == "inline":
                written = zip(lines[at:stop], token.content.split("\n"), strict=False)
                dropped = [each for line, words in written for each in _beside(line, [words.strip()])]
                yield from (Unseen(index + 2, "words", each) for each in dropped)
            elif info := token.info.strip():
                yield Unseen(index, "info", info)
            at = max(at, stop)
    yield from _between(len(tokens), lines[at:])


def _between(index: int, lines: Sequence[str]) -> Iterator[Unseen]:
    """Yield the lines that stand in no block, together."""
    said = [line.lstrip("> \t") for line in lines if not _LAYOUT.fullmatch(line)]
    if said:
        yield Unseen(index, "words", "\n".join(said))


def _beside(line: str, contents: Sequence[str], *, is_row: bool = False) -> Iterator[str]:
    """Yield what a line has beside the contents that were read in it, but for layout."""
    gaps = gaps_of(line, contents, is_row=is_row)
    if gaps is None:
        yield line.strip()
        return
    *before, last = gaps
    if any(not _LAYOUT.fullmatch(gap) for gap in before) or last.strip(" \t|" if is_row else " \t#"):
        yield " ".join(gap.strip() for gap in gaps if not _LAYOUT.fullmatch(gap)) or last.strip()


def numbers(tokens: Sequence[Token]) -> Iterator[tuple[int, str, bool]]:
    """Yield items of lists whose number would not be drawn as it is written.

    Each is the place of the token that opens it, its number, and whether that is far from the drawn one.
    """
    counted: list[int | None] = []
    for index, token in enumerate(tokens):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            counted.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else None)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            counted.pop()
        elif token.type == "list_item_open" and (drawn := counted[-1]) is not None:
            written = int(token.info)
            if written != drawn or token.info != str(written):
                yield index, token.info + token.markup, abs(written - drawn) >= _FAR
            counted[-1] = drawn + 1


def dropped(text: str) -> list[str]:
    """Return the words and numbers that readers of a rendered text do not see; none of a text over `LONGEST`.

    They are not the language of a block of code, addresses that its links name and lead to, or names of signs such as
    `&amp;`.
    """
    if len(text) > LONGEST or not _MAY_DROP.search(text):
        return []
    shown = invisible.plain(text)
    tokens = _parser.parse(shown)
    inline = [child for token in tokens for child in token.children or ()]
    linked = {child.attrs.get("href", child.attrs.get("src")) for child in inline}
    written = " ".join(word for token in tokens if token.type == "inline" for word in token.content.casefold().split())

    def is_used(label: str, address: str) -> bool:
        return unescapeAll(address) in linked and f"[{' '.join(label.casefold().split())}]" in written

    found = [str(child.attrs["title"]) for child in inline if child.attrs.get("title")]
    found += [child.markup for child in inline if child.info == "entity" and _is_disguised(child)]
    found += [written for _at, written, is_far in numbers(tokens) if is_far]
    for _at, kind, said in unseen(shown, tokens):
        if kind == "info":
            found += [] if _LANGUAGE.fullmatch(said) else [said]
        elif not (_DEFINITIONS.fullmatch(said) and all(is_used(*each) for each in _DEFINED.findall(said))):
            found.append(said)
    return found


def _is_disguised(sign: Token) -> bool:
    """Whether an entity stands for a letter or digit that its number does not say, or for what nobody sees."""
    if sign.markup.startswith("&#") and sign.content.isalnum():
        return True
    return any(each.kind not in invisible.HARMLESS for each in invisible.find(sign.content))


_parser = LinkReader()
_parser.core.ruler.disable(["addresses", "text_join"])
