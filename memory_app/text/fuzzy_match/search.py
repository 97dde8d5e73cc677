"""Finding the passage: by folding where only form differs, else by rapidfuzz in the folded text.

rapidfuzz says which places are most similar; of the likeliest few this module finds the exact ends. Sliding a
comparison by difflib over the whole text instead takes up to 21 s on 5,000 lines and finds less; see
`benchmarks/nearest.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from memory_app.text.fuzzy_match.differences import Differences, differences
from memory_app.text.fuzzy_match.folded import Folded, fold, plain_quotes
from memory_app.text.fuzzy_match.places import MatchSpan, best_end, best_start, places
from memory_app.text.worddiff.words import is_spaced

Why = Literal["whitespace", "case", "quotes", "line_numbers", "unicode"]

# Unrelated sentences have up to 0.27 (in nine of ten cases) in common with some passage. Of passages with every third
# word replaced, what reaches 0.6 is the wrong one in 1 of 100; an agent may replace it unread.
WORTH_SHOWING = 0.35
WORTH_OFFERING = 0.6

# How many equal places and how many similar ones are examined.
_MOST_EQUAL = 8
_MOST_PLACES = 4
# White space beyond this at the end of a needle is no help in finding the end of a passage.
_MOST_WHITE_SPACE = 200

# The rest of a line that may be taken in although the needle has other words there.
_MOST_REST = 120
_A_WORD = 5


# "12: ", "  12\t", "12→", "12 | ": what tools put before lines they show.
_LINE_NUMBER = re.compile(r"[ \t]*(\d{1,6})(?:: ?|\t|→|[ ]?\| ?)")


@dataclass(frozen=True, slots=True)
class Nearest:
    """The passage that is most like what was looked for.

    Attributes:
        first_line, last_line: its lines, 1-based.
        passage: the exact text of it.
        similarity: 0 to 1; 1 only when nothing but form (white space, case, quotes, Unicode) differs.
        why: the one thing in which it differs, when there is one.
        differences: all of them, when it is not one thing alone.
        corrected: a text that occurs exactly once and holds the passage: an old_string that would have worked. None
            when the passage is too unlike, or occurs more than once however much of its surroundings is taken in.
        lead, trail: what `corrected` has before and after the passage; a new_string has to keep it.
    """

    first_line: int
    last_line: int
    passage: str
    similarity: float
    why: Why | None
    differences: Differences | None
    corrected: str | None
    lead: str = ""
    trail: str = ""


def nearest(text: str, needle: str, *, context: int = 3) -> Nearest | None:
    """Return the passage of `text` most like `needle`, or None where nothing is like it.

    Args:
        context: how many lines before and after a passage that occurs more than once may be taken in to make
            `corrected` occur once.
    """
    if not fold(needle):
        return None
    folded = Folded(text)
    found = _best(folded, needle)
    bare = without_line_numbers(needle)
    if bare != needle and fold(bare):
        without = _best(folded, bare)
        if without and (not found or without.similarity > found.similarity):
            same = "".join(bare.split()) == "".join(text[without.start : without.end].split())
            result = _described(text, bare, without, "line_numbers" if same else None, context)
            if result.differences:
                forms = ("line_numbers", *result.differences.forms)
                result = replace(result, differences=replace(result.differences, forms=forms))
            return result
    if not found:
        return None
    return _described(text, needle, found, _why(needle, text[found.start : found.end]), context)


def without_line_numbers(text: str) -> str:
    """Return `text` without the numbers a tool put before its lines; unchanged unless every line has one, ascending."""
    lines = text.split("\n")
    numbered = [_LINE_NUMBER.match(line) for line in lines]
    numbers = [int(match[1]) for match in numbered if match]
    is_listing = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if not is_listing or any(line.strip() and not match for line, match in zip(lines, numbered, strict=True)):
        return text
    return "\n".join(line[match.end() :] if match else line for line, match in zip(lines, numbered, strict=True))


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    similarity: float


def _described(text: str, needle: str, found: _Found, why: Why | None, context: int) -> Nearest:
    start, end = found.start, found.end
    wide = _made_single(text, start, end, context) if found.similarity >= WORTH_OFFERING else None
    return Nearest(
        first_line=text.count("\n", 0, start) + 1,
        last_line=text.count("\n", 0, end - 1) + 1,
        passage=text[start:end],
        similarity=found.similarity,
        why=why,
        differences=None if why else differences(needle, text[start:end]),
        corrected=text[wide[0] : wide[1]] if wide else None,
        lead=text[wide[0] : start] if wide else "",
        trail=text[end : wide[1]] if wide else "",
    )


# -- finding it --------------------------------------------------------------------------------------


def _best(folded: Folded, needle: str) -> _Found | None:
    wanted = fold(needle)
    equal = list(_equal(folded, needle, wanted))
    if equal:
        # Nothing but form differs; of several the one with most form in common.
        return max(equal, key=lambda found: _likeness(_grams(needle), _grams(folded.original[found.start : found.end])))
    best: _Found | None = None
    grams = _grams(wanted)
    for place in _likely_places(folded.text, wanted, grams):
        start, end = best_start(folded.text, wanted, place), best_end(folded.text, wanted, place)
        end = min(end, len(folded.text))  # a needle that repeats itself may seem to end after the text
        if start < end:
            span = _to_line_ends(folded.original, *folded.span(start, end), start - place.start, place.end - end)
            span = _as_needle_ends(folded.original, needle, *span)
            found = _Found(*span, _likeness(grams, _grams(fold(folded.original[slice(*span)]))))
            best = max(best or found, found, key=lambda each: each.similarity)
    return best if best and best.similarity >= WORTH_SHOWING else None


def _likely_places(text: str, wanted: str, grams: Counter[str]) -> list[MatchSpan]:
    """Return the places that have most of what is wanted, each passage once."""
    shares = {place: _covered(grams, _grams(text[place.window])) for place in places(text, wanted)}
    likely: list[MatchSpan] = []
    for place in sorted(shares, key=lambda each: -shares[each]):
        if shares[place] >= WORTH_SHOWING / 2 and not any(place.is_near(other) for other in likely):
            likely.append(place)
    return likely[:_MOST_PLACES]


def _equal(folded: Folded, needle: str, wanted: str) -> Iterator[_Found]:
    """Yield passages equal to the needle once folded that begin and end with whole words."""
    at = folded.text.find(wanted)
    looked_at = 0
    while at >= 0 and looked_at < _MOST_EQUAL:
        looked_at += 1
        span = folded.span(at, at + len(wanted))
        if not (_cuts_word(folded.original, span[0]) or _cuts_word(folded.original, span[1])):
            yield _Found(*_with_white_space(folded.original, needle, *span), similarity=1.0)
        at = folded.text.find(wanted, at + 1)


def _grams(text: str) -> Counter[str]:
    """Return the text's trigrams, those at its ends included."""
    padded = f"\n{text}\n"
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))


def _likeness(some: Counter[str], others: Counter[str]) -> float:
    """Return how much two texts have in common, 0 to 1 (Dice)."""
    return 2 * (some & others).total() / max(some.total() + others.total(), 1)


def _covered(some: Counter[str], others: Counter[str]) -> float:
    """Return how much of the first text is in the second, 0 to 1."""
    return (some & others).total() / max(some.total(), 1)


# -- where it begins and ends ------------------------------------------------------------------------


def _to_line_ends(text: str, start: int, end: int, missing_before: int, missing_after: int) -> tuple[int, int]:
    """Return the span with the rest of its first and last line, where the needle has other words for it.

    Without it, an agent that misquotes the last words of a line would leave the real ones behind.

    Args:
        missing_before, missing_after: how many letters the needle has more at either end.
    """
    line_start, line_end = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    if _replaces(missing_before, text[line_start:start]):
        start = line_start + len(text[line_start:start]) - len(text[line_start:start].lstrip())
    if _replaces(missing_after, text[end:line_end]):
        end += len(text[end:line_end].rstrip())
    return start, end


def _replaces(letters: int, rest: str) -> bool:
    """Whether so many letters of a needle may stand for the rest of a line: a word at least, and half as long."""
    return letters >= _A_WORD and len(rest) <= _MOST_REST and len(fold(rest)) <= 2 * letters


def _as_needle_ends(text: str, needle: str, start: int, end: int) -> tuple[int, int]:
    """Return the span moved to whole words where the needle has them, with its white space at both ends."""
    stripped = needle.strip()
    if stripped[0].isalnum() and _cuts_word(text, start):
        start = min((at for at in _word_ends(text, start) if at < end), key=lambda at: (abs(at - start), at))
        start += len(text[start:end]) - len(text[start:end].lstrip())
    if stripped[-1].isalnum() and _cuts_word(text, end):
        end = min((at for at in _word_ends(text, end) if at > start), key=lambda at: (abs(at - end), -at))
        end = start + len(text[start:end].rstrip())
    return _with_white_space(text, needle, start, end)


def _cuts_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_letter(text[at - 1]) and _is_letter(text[at])


def _is_letter(char: str) -> bool:
    # Chinese or Thai letters are no part of a word that could be cut.
    return char.isalnum() and (char.isascii() or is_spaced(char))


def _word_ends(text: str, at: int) -> tuple[int, int]:
    """Return where the word around `at` begins and ends."""
    before = after = at
    while before > 0 and _is_letter(text[before - 1]):
        before -= 1
    while after < len(text) and _is_letter(text[after]):
        after += 1
    return before, after


def _with_white_space(text: str, needle: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with as much of the white space around it as the needle has at its ends."""
    leading = needle[: len(needle) - len(needle.lstrip())]
    trailing = needle[len(needle.rstrip()) :]
    if leading:
        before = text[:start][-_MOST_WHITE_SPACE:]
        before = before[len(before.rstrip()) :]
        start -= len(_as_much(before[::-1], leading[::-1]))
    if trailing:
        after = text[end : end + _MOST_WHITE_SPACE]
        end += len(_as_much(after[: len(after) - len(after.lstrip())], trailing))
    return start, end


def _as_much(available: str, wanted: str) -> str:
    """Return as many line ends of `available` as wanted, else as many spaces, reading away from the passage."""
    lines = wanted.count("\n")
    if not lines:
        return available.partition("\n")[0][: len(wanted)]
    whole = available.split("\n")[:-1][:lines]
    return "".join(f"{line}\n" for line in whole) or available


def _made_single(text: str, start: int, end: int, context: int) -> tuple[int, int] | None:
    """Return the smallest wider span whose text occurs once: the span itself, whole lines, then lines around it."""
    if text.count(text[start:end]) == 1:
        return start, end
    start = text.rfind("\n", 0, start) + 1
    end = _line_end(text, end if text[end - 1] != "\n" else end - 1)
    for step in range(2 * context + 1):
        if text.count(text[start:end]) == 1:
            return start, end
        if step % 2:
            end = _line_end(text, end + 1) if end < len(text) else end
        else:
            start = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return None


def _line_end(text: str, at: int) -> int:
    """Return where the line of `at` ends."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


# -- why it differs ----------------------------------------------------------------------------------


def _why(needle: str, passage: str) -> Why | None:
    if "".join(needle.split()) == "".join(passage.split()):
        return "whitespace"
    if needle.casefold() == passage.casefold():
        return "case"
    if plain_quotes(needle) == plain_quotes(passage):
        return "quotes"
    if _composed(needle) == _composed(passage):
        return "unicode"
    return None


def _composed(text: str) -> str:
    """Return the text with each character decomposed, without invisible characters."""
    return text.translate({ord(char): _taken_apart(char) for char in set(text)})


def _taken_apart(char: str) -> str:
    if char in "\n\t":
        return char
    is_unseen = unicodedata.category(char) in ("Cf", "Cc") or "\ufe00" <= char <= "\ufe0f"
    return "" if is_unseen else unicodedata.normalize("NFKD", char)
