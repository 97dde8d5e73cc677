"""What a line of a plain or Markdown text is: an item of a list, a heading, a row of a table, or the next line of a
paragraph that was wrapped by hand.

Not here: rendering Markdown (`approvals.markdown`). These are guesses that cut texts where people would.
"""

import re
from collections.abc import Iterator, Sequence

#: The sign an item, a heading or a quotation begins with, nested ones too; the blank after it stays outside.
MARKER = re.compile(
    r"(?:[ \t]*(?:(?:[-*+•–]|\d{1,3}[.)]|[a-zA-Z][.)])(?:[ \t]+\[[ xX]\])?(?=[ \t])|\#{1,6}(?=[ \t])|>+(?=[ \t]?)))+"
)
_ORDINAL = re.compile(r"[ \t]*\d{1,3}[.)](?=[ \t])")
_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_TABLE_RULE = re.compile(r"[ \t]*\|[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?")

#: Signs that end a sentence, and what may follow them inside it.
STOPS = ".!?…。！？"
CLOSERS = "\"'”’»)]）」』*_`"

#: A line shorter than this was not wrapped by hand. Lines that end with a sentence are likely wrapped between these.
_SHORTEST_WRAPPED = 45
_WRAPPED_LENGTHS = range(60, 101)
LONGEST_WRAPPED = _WRAPPED_LENGTHS[-1]

_OPENERS = ("|", "```", "~~~", "<", "---", "===", "***")
_ITEM_DEPTH = 8


def with_ends(text: str) -> list[str]:
    """Return the lines with their line feeds; one at the end begins no further line."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def occurrences(text: str, needle: str) -> Iterator[int]:
    """Yield where a needle, which is not empty, begins in the text, without overlaps, like `str.count`."""
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + len(needle))


def common(*texts: Sequence[str]) -> tuple[int, int]:
    """Return how many items all the lists begin and end with alike, none counted twice."""
    most = min(map(len, texts))
    head = next((at for at in range(most) if len({items[at] for items in texts}) > 1), most)
    most -= head
    return head, next((at for at in range(most) if len({items[-1 - at] for items in texts}) > 1), most)


def is_table_row(line: str) -> bool:
    """Whether the line looks like a row of a Markdown table."""
    return line.lstrip().startswith("|")


def is_table_rule(line: str) -> bool:
    """Whether the line is the one between the head of a table and its rows."""
    return bool(_TABLE_RULE.fullmatch(line.rstrip()))


def begins_anew(line: str) -> bool:
    """Whether the line begins something of its own, whatever is above it: an item, a heading, a fence, a table."""
    start = line.lstrip()
    return not start or start.startswith(_OPENERS) or bool(MARKER.match(line))


def without_number(line: str) -> str:
    """Return an item of a numbered list without its number: inserting one renumbers all that follow."""
    ordinal = _ORDINAL.match(line)
    return line[ordinal.end() :] if ordinal else line


def depth(line: str) -> int:
    """Return how deep the line stands below the others: headings by level, then paragraphs, then items by indent."""
    if heading := _HEADING.match(line):
        return len(heading[1])
    if not MARKER.match(line):
        return _ITEM_DEPTH - 1
    expanded = line.expandtabs(4)
    return _ITEM_DEPTH + len(expanded) - len(expanded.lstrip())


def continues(above: str, line: str) -> bool:
    """Whether `line` goes on with the paragraph of the line directly above, because it was wrapped there by hand.

    Both are given without their line ends. A paragraph that was not wrapped is one line however long.
    """
    if len(above) < _SHORTEST_WRAPPED or begins_anew(line) or is_table_row(above) or above.endswith("  "):
        return False
    if above.rstrip(CLOSERS)[-1:] in STOPS + ":":
        return len(above) in _WRAPPED_LENGTHS and not _HEADING.match(above)
    return True


# -- titles and abbreviations ---------------------------------------------------------------------


def first_words(text: str, most: int) -> str:
    """Return the beginning of `text` on one line, in at most `most` characters.

    A longer text ends with "…", after a whole word where one ends in the second half.
    """
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    blank = flat.rfind(" ", most // 2, most)
    return f"{flat[: blank if blank > 0 else most - 1]}…"


#: Only what never ends a sentence: a cut too many does less harm than one that comes and goes with the next word.
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Fr|Hr|Nr|vs|ca|bzw|(?<![\w.])[A-Z]|e\.g|i\.e|z\. ?B|d\. ?h)\.$")
_LONGEST_ABBREVIATION = 8
#: These seldom stand before a capital; there a sentence ended with them.
_EXAMPLE = re.compile(r"(?:e\.g|i\.e)\.$")
_CAPITAL = re.compile(r"\s+[A-Z]")


def is_abbreviated(text: str, start: int, end: int) -> bool:
    """Whether the full stop before `end` is an abbreviation's; `start` is where its sentence begins at the earliest."""
    earliest = max(start, end - _LONGEST_ABBREVIATION)
    if not _ABBREVIATION.search(text, earliest, end):
        return False
    return not (_EXAMPLE.search(text, earliest, end) and _CAPITAL.match(text, end))
