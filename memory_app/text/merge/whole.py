"""A merge as a whole: line ends, numbered lists, and what no part of it can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from memory_app.text.lines import MARKER, is_table_row
from memory_app.text.merge.numbering import counted, uncounted
from memory_app.text.merge.sequence import merged
from memory_app.text.merge.units import paragraphs, rows, sentences
from memory_app.text.merge.values import Conflict, Conflicted, Part, agreed, joined, mapped
from memory_app.text.worddiff.words import is_word, tokens


def merge(base: str, ours: str, theirs: str) -> str | Conflicted:
    """Return `base` with the changes of both sides, or Conflicted where they cannot both be taken.

    Ours and theirs may be swapped: the result is the same, with the sides of conflicts swapped. Nothing is in the
    result that no side has, and nothing that a side took out. Texts of 200,000 characters take less than a second.
    """
    end = _common_line_end(base, ours, theirs)
    if end is None:
        return _merge(base, ours, theirs)
    result = _merge(*(text.replace("\r\n", "\n") for text in (base, ours, theirs)))
    if end == "\n":
        return result
    if isinstance(result, str):
        return result.replace("\n", end)
    return Conflicted(tuple(mapped(part, lambda text: text.replace("\n", end)) for part in result.parts))


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
    fewest = min(map(len, versions))
    start = next((at for at in range(fewest) if len({lines[at] for lines in versions}) > 1), fewest)
    left = fewest - start
    end = next((at for at in range(left) if len({lines[-1 - at] for lines in versions}) > 1), left)
    yield "".join(versions[0][:start])
    yield Conflict(*("".join(lines[start : len(lines) - end]) for lines in versions))
    yield "".join(versions[0][len(versions[0]) - end :])
