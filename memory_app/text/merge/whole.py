"""A merge as a whole: line ends, numbered lists, and what no part of it can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memory_app.text.merge.numbering import renumbered
from memory_app.text.merge.sequence import merged
from memory_app.text.merge.units import paragraphs, sentences
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
    parts = tuple(joined(merged(base, ours, theirs)))
    if any(isinstance(part, Conflict) for part in parts):
        return Conflicted(parts)
    text = "".join(map(str, parts))
    if text in (base, ours, theirs):
        return text
    if _says_twice(base, ours, theirs, text):
        return Conflicted(tuple(joined(_as_one_conflict(base, ours, theirs))))
    return renumbered(ours, theirs, text)


def _says_twice(base: str, ours: str, theirs: str, text: str) -> bool:
    """Whether a sentence is in the result more often than in any side: both moved it, each to another place."""
    counted = [Counter(paragraphs(version).texts) for version in (base, ours, theirs, text)]
    # What all four have is cut into sentences only where it matters: that was two thirds of the time of a merge.
    common = counted[0] & counted[1] & counted[2] & counted[3]
    before, our, their, counts = (_sentence_counts(each - common) for each in counted)
    repeated = [
        sentence
        for sentence, count in counts.items()
        if count > before[sentence] >= max(our[sentence], their[sentence]) and any(map(is_word, tokens(sentence)))
    ]
    if any(our[sentence] or their[sentence] for sentence in repeated):
        return True
    elsewhere = _sentence_counts(common) if repeated else Counter[str]()
    return any(elsewhere[sentence] for sentence in repeated)


def _sentence_counts(paragraph_counts: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for paragraph, times in paragraph_counts.items():
        for sentence in sentences(paragraph).texts:
            counts[sentence] += times
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
