"""A merge as a whole: line ends, numbered lists, and what no part of it can see."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import add

from memory_app.text import lines
from memory_app.text.lines import MARKER, is_table_row, with_ends
from memory_app.text.merge.changes import Conflict, Conflicted, Part, agreed, joined
from memory_app.text.merge.sequence import merged
from memory_app.text.merge.units import paragraphs, rows, sentences
from memory_app.text.worddiff.compare import is_word, tokens

# -- numbered lists -------------------------------------------------------------------------------

_NUMBERED = r"([ \t]*)(0|[1-9]\d{0,2})(?=[.)][ \t])"
_ITS_NUMBER = re.compile(_NUMBERED)
_ANY_ITEM = re.compile(rf"^{_NUMBERED}", re.MULTILINE)


def uncounted(texts: Sequence[str]) -> list[str] | None:
    """Return the texts with the first number of each list before all its items; None if a list does not count on."""
    found = [list(_lists(text)) for text in texts]
    if not any(found) or not all(map(_counts_on, (items for each in found for items in each))):
        return None
    return [
        _with_numbers(text, {place: items[0][1] for items in each for place, _ in items})
        for text, each in zip(texts, found, strict=True)
    ]


def counted(parts: Sequence[Part]) -> list[Part]:
    """Return parts of uncounted texts with lists that count on, whichever side of a conflict is taken.

    After a conflict in which one side has more items, the items that follow count on from those of that side.
    """
    versions = [[part if isinstance(part, str) else part[side] for part in parts] for side in range(3)]
    numbers = [
        {place: items[0][1] + at for items in _lists("".join(version)) for at, (place, _) in enumerate(items)}
        for version in versions
    ]
    found: list[Part] = []
    starts = [0, 0, 0]
    for index, part in enumerate(parts):
        texts = [version[index] for version in versions]
        begun = [index > 0 and not "".join(version[:index]).endswith("\n") for version in versions]
        here = [
            {place - start: number for place, number in each.items() if place > start or not is_begun}
            for each, start, is_begun in zip(numbers, starts, begun, strict=True)
        ]
        if isinstance(part, str):
            most = {place: max(each.get(place, 0) for each in here[1:]) for place in {*here[1], *here[2]}}
            found.append(_with_numbers(part, most))
        else:
            found.append(Conflict(*map(_with_numbers, texts, here)))
        starts = [start + text.count("\n") for start, text in zip(starts, texts, strict=True)]
    return found


def _with_numbers(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with a number for the item on each of the lines."""
    result = text.split("\n")
    for place, number in numbers.items():
        if 0 <= place < len(result) and (item := _ITS_NUMBER.match(result[place])):
            result[place] = f"{item[1]}{number}{result[place][item.end() :]}"
    return "\n".join(result)


def _counts_on(items: list[tuple[int, int]]) -> bool:
    return [number for _, number in items] == list(range(items[0][1], items[0][1] + len(items)))


def _lists(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the numbered lists, each as its items' places among the lines and their numbers."""
    open_lists: dict[int, list[tuple[int, int]]] = {}
    above = ""
    if not _ANY_ITEM.search(text):
        return
    for place, line in enumerate(text.split("\n")):
        if line.strip():
            item = _ITS_NUMBER.match(line)
            indent = len(line) - len(line.lstrip())
            if not (above and lines.continues(above, line)):
                for other in [each for each in open_lists if each > indent or (each == indent and not item)]:
                    yield open_lists.pop(other)
            if item:
                open_lists.setdefault(indent, []).append((place, int(item[2])))
        above = line
    yield from open_lists.values()


# -- conflict marks -------------------------------------------------------------------------------

_NONE = Conflict("", "", "")


def marked(result: Conflicted, ours: str, theirs: str) -> tuple[str, int]:
    """Return the text with its conflicts marked, and how many there are: several on one line are marked as one.

    Args:
        ours: the name of our version, for the first mark; `theirs` likewise for the last.
    """
    found: list[str] = []
    count = 0
    for part in _by_lines(result):
        if isinstance(part, str):
            found.append(part)
            continue
        count += 1
        end = "\r\n" if "\r\n" in part.ours + part.theirs else "\n"
        found += (f"<<<<<<< {ours}{end}", _ended(part.ours, end), f"======={end}", _ended(part.theirs, end))
        found.append(f">>>>>>> {theirs}{end}")
    return "".join(found), count


def _by_lines(result: Conflicted) -> Iterator[Part]:
    """Yield the parts, each of whole lines; conflicts with nothing between them are one."""
    pending, is_conflict = _NONE, False
    pieces = (with_ends(part) if isinstance(part, str) else [part] for part in result.parts)
    for part in chain.from_iterable(pieces):
        is_next = isinstance(part, Conflict)
        if not (is_next and is_conflict) and all(not text or text.endswith("\n") for text in pending):
            yield pending if is_conflict else pending.base
            pending, is_conflict = _NONE, False
        is_conflict = is_conflict or is_next
        pending = Conflict(*map(add, pending, part if isinstance(part, Conflict) else [part] * 3))
    yield pending if is_conflict else pending.base


def _ended(text: str, end: str) -> str:
    return text if not text or text.endswith("\n") else text + end


def merge(base: str, ours: str, theirs: str) -> str | Conflicted:
    """Return `base` with the changes of both sides, or Conflicted where they cannot both be taken.

    Ours and theirs may be swapped: the result is the same, with the sides of conflicts swapped. Nothing is in the
    result that no side has, and nothing that a side took out. Texts of 200,000 characters take less than a second.
    """
    end = _common_line_end(base, ours, theirs)
    if end is None:
        return _merge(base, ours, theirs)
    result = _merge(*(text.replace("\r\n", "\n") for text in (base, ours, theirs)))
    if isinstance(result, str):
        return result.replace("\n", end)
    return Conflicted(tuple(_with_line_ends(part, end) for part in result.parts))


def _with_line_ends(part: Part, end: str) -> Part:
    if isinstance(part, str):
        return part.replace("\n", end)
    return Conflict(*(text.replace("\n", end) for text in part))


def _common_line_end(base: str, ours: str, theirs: str) -> str | None:
    """Return the line end of the result where all texts use one throughout and any uses CRLF; None otherwise."""
    ends = [_line_end(text) for text in (base, ours, theirs)]
    before, our, their = (end or "" for end in ends)
    if None in ends or "\r\n" not in ends:
        return None
    return agreed(before, our or before, their or before)


def _line_end(text: str) -> str | None:
    """Return the line end a text uses, an empty one for a single line, None where it has several kinds."""
    all_ends, pairs = text.count("\n"), text.count("\r\n")
    if text.count("\r") != pairs or 0 < pairs < all_ends:
        return None
    return "\r\n" if pairs else "\n" if all_ends else ""


def _merge(base: str, ours: str, theirs: str) -> str | Conflicted:
    if (same := agreed(base, ours, theirs)) is not None:
        return same
    plain = uncounted((base, ours, theirs))
    before, our, their = plain or (base, ours, theirs)
    parts = list(joined(merged(before, our, their)))
    is_clean = not any(isinstance(part, Conflict) for part in parts)
    text = "".join(map(str, parts)) if is_clean else ""
    is_emptied = bool(is_clean and ours.strip() and theirs.strip() and not text.strip())
    if is_emptied or (is_clean and _is_doubtful(before, our, their, text)):
        return Conflicted(tuple(joined(_as_one_conflict(base, ours, theirs))))
    if plain:
        parts = counted(parts)
    return "".join(map(str, parts)) if is_clean else Conflicted(tuple(parts))


def _is_doubtful(base: str, ours: str, theirs: str, text: str) -> bool:
    """Whether a sentence or row is there more often than it can be meant to: both put it in or moved it, each to
    another place, or one moved what the other took out."""
    found = [Counter(paragraphs(each).texts) for each in (base, ours, theirs, text)]
    everywhere = {each for each, count in found[0].items() if all(other[each] == count for other in found)}
    before, our, their, counts = (_counts(each, everywhere) for each in found)
    return any(
        count > _most(before[unit], our[unit], their[unit]) and _has_words(unit)
        for unit, count in counts.items()
        if unit in before or unit in our or unit in their  # others are made of both sides' words
    )


def _has_words(unit: str) -> bool:
    """Whether the unit has words, and is not the number or sign a list item begins with."""
    marker = MARKER.match(f"{unit} ")
    return any(map(is_word, tokens(unit))) and (marker is None or marker.end() < len(unit))


def _most(before: int, our: int, their: int) -> int:
    """Return how often a unit can be in the result, given how often it is in each text."""
    if our > before and their > before:  # both put it in, which counts once
        return max(our, their)
    if our < before == 1 > their:  # both took it out
        return 0
    return our + their - before


def _counts(found: Counter[str], everywhere: Set[str]) -> Counter[str]:
    """Return how often each sentence and row is in the paragraphs, but for those paragraphs that are in all texts."""
    counts: Counter[str] = Counter()
    for paragraph, times in found.items():
        if paragraph not in everywhere:
            for unit in (rows(paragraph) if is_table_row(paragraph) else sentences(paragraph)).texts:
                counts[unit] += times
    return counts


def _as_one_conflict(base: str, ours: str, theirs: str) -> Iterator[Part]:
    """Yield everything between the first and the last line that is not in all three as one conflict."""
    versions = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    start, end = lines.common(*versions)
    yield "".join(versions[0][:start])
    yield Conflict(*("".join(each[start : len(each) - end]) for each in versions))
    yield "".join(versions[0][len(versions[0]) - end :])
