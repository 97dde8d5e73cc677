"""Which passage of a text an agent meant when its old_string is not there.

Belongs here: finding the passage, and saying why it differs when that can be said.
Not here: making edits (`edits` matches exactly, always), the edit that would have worked (`repairs`), and the wording
of answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal, get_args

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from memory_app.text.folding import Folded, fold, plain_quotes
from memory_app.text.lines import MARKER, occurrences
from memory_app.text.worddiff.compare import is_spaced, tokens

# -- differences word by word ---------------------------------------------------------------------

Form = Literal["whitespace", "case", "quotes", "unicode", "words"]

#: Words compared: 300 on either side take 1 ms, and what is longer is read by nobody word by word.
_MOST_WORDS = 300
_WORD = re.compile(r"(\S+)(\s*)")


@dataclass(frozen=True, slots=True)
class Differences:
    """All that differs.

    Attributes:
        forms: `words` among them where words do; the others are about words that are the same otherwise.
        words: what the needle has and what the passage has instead, in order; either may be empty.
    """

    forms: tuple[Form, ...]
    words: tuple[tuple[str, str], ...]


def differences(needle: str, passage: str) -> Differences | None:
    """Compare them word by word; None for texts too long for that, or where it tells nothing."""
    if "".join(needle.split()) == "".join(passage.split()):
        return Differences(("whitespace",), ())
    ours, theirs = _WORD.findall(needle.strip()), _WORD.findall(passage.strip())
    plain, their_plain = ([fold(word) for word, _ in side] for side in (ours, theirs))
    if plain != their_plain and max(len(ours), len(theirs)) > _MOST_WORDS:
        return None
    forms: set[Form] = set()
    words: list[tuple[str, str]] = []
    steps = (
        SequenceMatcher(None, plain, their_plain, autojunk=False).get_opcodes()
        if plain != their_plain
        else [("equal", 0, len(ours), 0, len(theirs))]
    )
    for kind, a, b, c, d in steps:
        if kind == "equal":
            forms |= _forms(ours[a:b], theirs[c:d])
        else:
            words.append((_joined(ours[a:b]), _joined(theirs[c:d])))
    if words:
        forms.add("words")
    return Differences(tuple(form for form in get_args(Form) if form in forms), tuple(words)) if forms else None


def _forms(ours: Sequence[tuple[str, str]], theirs: Sequence[tuple[str, str]]) -> set[Form]:
    """How words differ that fold to the same; the white space after the last of them belongs to what comes next."""
    found: set[Form] = set()
    for place, ((word, space), (other, other_space)) in enumerate(zip(ours, theirs, strict=True), 1):
        if place < len(ours) and space != other_space:
            found.add("whitespace")
        if word == other:
            continue
        if plain_quotes(word) != word or plain_quotes(other) != other:
            word, other = plain_quotes(word), plain_quotes(other)
            found.add("quotes")
        if word.casefold() == other.casefold():
            if word != other:
                found.add("case")
        else:
            found.add("unicode")
    return found


def _joined(words: Sequence[tuple[str, str]]) -> str:
    return " ".join(word for word, _ in words)


# -- places and edges -----------------------------------------------------------------------------

# What the text is searched for: up to 64 letters rapidfuzz compares with 300,000 in 2 ms, longer ones take up to 100.
_PROBE = 64
# Parts of the text, each with its most similar place; they overlap, so that every place is whole in one of them.
_PART = 1_000
_MOST_OF_A_PROBE = 4
# Letters in a row that are no coincidence.
_RUN = 3

# So much of the needle's head and tail is laid on the text to find where the passage begins and ends.
_EDGE = 48
_MOST_SLACK = 120


@dataclass(frozen=True, slots=True)
class MatchSpan:
    """Where a passage should begin and end, each give or take some characters."""

    start: int
    start_slack: int
    end: int
    end_slack: int

    @property
    def window(self) -> slice:
        """The part of the text the passage is in."""
        return slice(max(self.start - self.start_slack, 0), max(self.end + self.end_slack, 0))

    def is_near(self, other: MatchSpan) -> bool:
        """Whether both are about the same passage."""
        return abs(self.start - other.start) <= 12 and abs(self.end - other.end) <= 12


def places(text: str, needle: str) -> Iterator[MatchSpan]:
    """Yield the places most similar to the needle; of a long needle, to its beginning, its middle and its end."""
    parts = [text[at : at + _PART + 2 * _PROBE] for at in range(0, len(text), _PART)]
    last = max(len(needle) - _PROBE, 0)
    for offset in dict.fromkeys((0, last // 2, last)):
        probe = needle[offset : offset + _PROBE]
        for part, _, number in process.extract(probe, parts, scorer=fuzz.partial_ratio, limit=_MOST_OF_A_PROBE):
            found = fuzz.partial_ratio_alignment(probe, part)
            if found is None or found.dest_start == found.dest_end:
                continue
            common = Indel.opcodes(
                probe[found.src_start : found.src_end], part[found.dest_start : found.dest_end]
            ).as_matching_blocks()
            runs = [run for run in common if run.size >= min(max(run.size for run in common), _RUN)]
            before = offset + found.src_start + runs[0].a
            rest = len(needle) - offset - found.src_start - runs[-1].a - runs[-1].size
            start = number * _PART + found.dest_start
            # What the needle has before its first run and after its last may be longer or shorter in the text.
            yield MatchSpan(
                start=start + runs[0].b - before,
                start_slack=min(12 + before // 2, _MOST_SLACK),
                end=start + runs[-1].b + runs[-1].size + rest,
                end_slack=min(12 + rest // 2, _MOST_SLACK),
            )


def best_start(text: str, needle: str, place: MatchSpan) -> int:
    """Return where the passage begins: where the needle's head fits best."""
    low = max(place.start - place.start_slack, 0)
    window = text[low : max(place.start, 0) + _EDGE + place.start_slack]
    from_end = _best_end(window[::-1], needle[:_EDGE][::-1], low + len(window) - place.start)
    return low + len(window) - from_end


def best_end(text: str, needle: str, place: MatchSpan) -> int:
    """Return where the passage ends: where the needle's tail fits best."""
    low = max(place.end - _EDGE - place.end_slack, 0)
    window = text[low : max(place.end + place.end_slack, 0)]
    return low + _best_end(window, needle[-_EDGE:], place.end - low)


def _best_end(window: str, wanted: str, expected: int) -> int:
    """Return where in `window` the substring ends that takes fewest edits to become `wanted` (Sellers' algorithm).

    Of equally good ends, one where the last letters agree, and the closest to `expected`.
    """
    previous = [0] * (len(window) + 1)
    for row, char in enumerate(wanted, start=1):
        left = row
        current = [left]
        for column, other in enumerate(window, start=1):
            best = previous[column - 1] + 2 * (char != other)
            if previous[column] < best:
                best = previous[column] + 1
            if left < best:
                best = left + 1
            left = best
            current.append(best)
        previous = current
    return min(
        range(len(previous)),
        key=lambda at: (previous[at], at == 0 or window[at - 1] != wanted[-1], abs(at - expected)),
    )


# -- the nearest passage --------------------------------------------------------------------------

# Unrelated sentences have up to 0.27 (in nine of ten cases) in common with some passage. Of passages with every third
# word replaced, what reaches 0.6 is the wrong one in 1 of 100; an agent may replace it unread.
WORTH_SHOWING = 0.35
WORTH_OFFERING = 0.6

# How many equal places and how many similar ones are examined.
_MOST_EQUAL = 200
_MOST_PLACES = 4
# White space beyond this at the end of a needle is no help in finding the end of a passage.
_MOST_WHITE_SPACE = 200

# The rest of a line that may be taken in although the needle has other words there.
_MOST_REST = 120
_A_WORD = 5


# "12: ", "  12\t", "12→", "12 | ", "L12: ", "[12] ": what tools put before lines they show.
_LINE_NUMBER = re.compile(r"[ \t]*[L\[]?(\d{1,6})(?:: ?|\] ?|\t|→|[ ]?\| ?)")


@dataclass(frozen=True, slots=True)
class Nearest:
    """The passage that is most like what was looked for.

    Attributes:
        start: where it begins, in characters.
        first_line, last_line: its lines, 1-based.
        passage: the exact text of it.
        similarity: 0 to 1; 1 only when nothing but form (white space, case, quotes, Unicode) differs.
        differences: all that differs; None where that cannot be said.
    """

    start: int
    first_line: int
    last_line: int
    passage: str
    similarity: float
    differences: Differences | None

    def with_lines(self, text: str) -> str:
        """Return the passage with all of its first and last line."""
        end = self.start + len(self.passage.rstrip("\r\n"))
        return text[text.rfind("\n", 0, self.start) + 1 : _line_end(text, end)].removesuffix("\r")


def likeness(text: str, needle: str) -> float:
    """Return the similarity of the passage most like `needle`; 0 where nothing is like it."""
    return max((each.similarity for each in nearest(Folded(text), needle)), default=0.0)


def passages(text: str, needle: str) -> list[Nearest]:
    """Return the passage most like `needle`, and all that are as like it, in the order of the text.

    Whether a passage is as like is a matter of its words: a quotation with a word or two of another row is as near to
    that one as to the row it was taken from.
    """
    folded = Folded(text)
    found = nearest(folded, needle)
    if len(found) == 1 and found[0].similarity < 1:
        found += _rivals(folded, needle, found[0])
    wide = [_with_marks(text, needle, each) for each in found]
    return [_described(text, needle, each) for each in sorted(wide, key=lambda each: each.start)]


def without_line_numbers(text: str, *, is_listing: bool = False) -> str:
    """Return `text` without the numbers a tool put before its lines; unchanged unless every line has one, ascending.

    Args:
        is_listing: it is known to have them; lines that have none are new.
    """
    lines = text.split("\n")
    numbered = [_LINE_NUMBER.match(line) for line in lines]
    numbers = [int(match[1]) for match in numbered if match]
    if not is_listing:
        counts_on = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        if not counts_on or any(line.strip() and not match for line, match in zip(lines, numbered, strict=True)):
            return text
    return "\n".join(line[match.end() :] if match else line for line, match in zip(lines, numbered, strict=True))


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """A passage, `[start:end]` of the text, and how like the needle it is."""

    start: int
    end: int
    similarity: float


def _described(text: str, needle: str, found: FoundSpan) -> Nearest:
    start, end = found.start, found.end
    return Nearest(
        start=start,
        first_line=text.count("\n", 0, start) + 1,
        last_line=text.count("\n", 0, end - 1) + 1,
        passage=text[start:end],
        similarity=found.similarity,
        differences=differences(needle, text[start:end]),
    )


# -- finding it --------------------------------------------------------------------------------------


def nearest(folded: Folded, needle: str) -> list[FoundSpan]:
    """Return the passage most like the needle; all, the likest first, where nothing but form differs."""
    wanted = fold(needle)
    if not wanted:
        return []
    equal = list(_equal(folded, needle, wanted)) or _spread(folded, needle)
    if equal:
        grams = _grams(needle)
        return sorted(equal, key=lambda found: -_likeness(grams, _grams(folded.original[found.start : found.end])))
    best: FoundSpan | None = None
    grams = _grams(wanted)
    for place in _likely_places(folded.text, wanted, grams):
        start, end = best_start(folded.text, wanted, place), best_end(folded.text, wanted, place)
        end = min(end, len(folded.text))  # a needle that repeats itself may seem to end after the text
        if start < end:
            span = _to_line_ends(folded.original, *folded.span(start, end), start - place.start, place.end - end)
            span = _as_needle_ends(folded.original, needle, *span)
            found = FoundSpan(*span, _likeness(grams, _grams(fold(folded.original[slice(*span)]))))
            best = max(best or found, found, key=lambda each: each.similarity)
    return [best] if best and best.similarity >= WORTH_SHOWING else []


# What may stand for text that a quotation leaves out, and how many letters each part has that is looked for.
_DOTS = re.compile(r"\.{3,}|…")
_ELISION = re.compile(rf"[\[(]?(?:{_DOTS.pattern})[\])]?")
_LEAST_PART = 8
#: Characters on each side of "..." that tell whether the text has it too.
_BESIDE = 4


def _spread(folded: Folded, needle: str) -> list[FoundSpan]:
    """Return the passage of a needle that leaves out a part of it, from the beginning of the first to the last one."""
    parts = [part for part in map(fold, _ELISION.split(needle)) if part]
    if len(parts) < 2 or any(len(part) < _LEAST_PART for part in parts):
        return []
    start = at = folded.text.find(parts[0])
    for part in parts:
        at = folded.text.find(part, at) + len(part) if at >= 0 and part in folded.text[at:] else -1
    return [FoundSpan(*folded.span(start, at), similarity=1.0)] if start >= 0 <= at else []


def is_elided(needle: str, passage: str) -> bool:
    """Whether the needle has "..." for words of the passage: the passage has it neither after nor before the same."""
    there = fold(passage)
    for sign in _DOTS.finditer(needle):
        before, after = needle[max(sign.start() - _BESIDE, 0) : sign.start()], needle[sign.end() :][:_BESIDE]
        sides = [fold(side) for side, words in ((before + sign[0], before), (sign[0] + after, after)) if fold(words)]
        if not any(side in there for side in sides):
            return True
    return False


# A passage is as near as the best one with so many words more that differ, or so much less in common.
_AS_MANY_WORDS = 1
_AS_MUCH = 0.03
_MOST_RIVALS = 4


def _rivals(folded: Folded, needle: str, best: FoundSpan) -> list[FoundSpan]:
    """Return the passages that are as near as the best one, which is not quite equal."""
    text = folded.original
    words = Counter(map(fold, tokens(needle)))
    rivals: list[FoundSpan] = []

    def others(found: FoundSpan) -> int:
        there = Counter(map(fold, tokens(text[found.start : found.end])))
        return ((words - there) + (there - words)).total()

    fewest = others(best)
    last = best
    while len(rivals) < _MOST_RIVALS:
        text = f"{text[: last.start]}{_TAKEN * (last.end - last.start)}{text[last.end :]}"
        found = nearest(Folded(text), needle)
        if not found or _TAKEN in text[found[0].start : found[0].end]:
            break
        last = found[0]
        if last.similarity < best.similarity - _AS_MUCH and others(last) > fewest + _AS_MANY_WORDS:
            break
        rivals.append(last)
    return rivals


#: No text has it, and it folds to itself.
_TAKEN = "\0"


def _likely_places(text: str, wanted: str, grams: Counter[str]) -> list[MatchSpan]:
    """Return the places that have most of what is wanted, each passage once."""
    shares = {place: (grams & _grams(text[place.window])).total() for place in places(text, wanted)}
    likely: list[MatchSpan] = []
    for place in sorted(shares, key=lambda each: -shares[each]):
        if shares[place] >= grams.total() * WORTH_SHOWING / 2 and not any(place.is_near(other) for other in likely):
            likely.append(place)
    return likely[:_MOST_PLACES]


def _equal(folded: Folded, needle: str, wanted: str) -> Iterator[FoundSpan]:
    """Yield passages equal to the needle once folded that begin and end with whole words."""
    for at in islice(occurrences(folded.text, wanted), _MOST_EQUAL):
        span = folded.span(at, at + len(wanted))
        if not (_cuts_word(folded.original, span[0]) or _cuts_word(folded.original, span[1])):
            yield FoundSpan(*_with_white_space(folded.original, needle, *span), similarity=1.0)


def _grams(text: str) -> Counter[str]:
    """Return the text's trigrams, those at its ends included."""
    padded = f"\n{text}\n"
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))


def _likeness(some: Counter[str], others: Counter[str]) -> float:
    """Return how much two texts have in common, 0 to 1 (Dice)."""
    return 2 * (some & others).total() / max(some.total() + others.total(), 1)


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
    if _cuts_word(text, start):
        start = min((at for at in _word_ends(text, start) if at < end), key=lambda at: (abs(at - start), at))
        start += len(text[start:end]) - len(text[start:end].lstrip())
    if _cuts_word(text, end):
        end = min((at for at in _word_ends(text, end) if at > start), key=lambda at: (abs(at - end), -at))
        end = start + len(text[start:end].rstrip())
    return _with_white_space(text, needle, start, end)


_EMPHASIS = re.compile(r"[*_`~]{1,3}")
# So much of a line, after the mark of an item, may be missing in a needle that begins with the mark.
_MOST_OF_AN_ITEM = 24


def _with_marks(text: str, needle: str, found: FoundSpan) -> FoundSpan:
    """Return it with the other half of bold text, and the mark of an item where the needle begins with one."""
    start, end = found.start, found.end
    line_start = text.rfind("\n", 0, start) + 1
    for mark in _EMPHASIS.findall(text, max(start - 3, line_start), start)[-1:]:
        if text.startswith(mark, start - len(mark)) and text.count(mark, start, end) % 2:
            start -= len(mark)
    after = _EMPHASIS.match(text, end)
    if after and text.count(after[0], start, end) % 2:
        end = after.end()
    marker = MARKER.match(text, line_start)
    if marker and MARKER.match(needle) and start - _MOST_OF_AN_ITEM <= marker.end():
        start = min(start, line_start if needle[0].isspace() else marker.end() - len(marker[0].lstrip()))
    return FoundSpan(start, end, found.similarity)


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
        line_start = text.rfind("\n", 0, start) + 1
        is_indent = "\n" not in leading and line_start >= start - len(before)
        start = line_start if is_indent else start - len(_as_much(before[::-1], leading[::-1]))
    if trailing:
        after = text[end : end + _MOST_WHITE_SPACE]
        end += len(_as_much(after[: len(after) - len(after.lstrip())], trailing))
    return _whole_line_end(text, start, -1), _whole_line_end(text, end, 1)


def _whole_line_end(text: str, at: int, step: int) -> int:
    """Return the place, or the one beside it where it is inside of a line end."""
    return at + step if text[max(at - 1, 0) : at + 1] == "\r\n" else at


def _as_much(available: str, wanted: str) -> str:
    """Return as many line ends of `available` as wanted, else as many spaces, reading away from the passage."""
    lines = wanted.count("\n")
    if not lines:
        return available.partition("\n")[0][: len(wanted)]
    whole = available.split("\n")[:-1][:lines]
    return "".join(f"{line}\n" for line in whole) or available


def _line_end(text: str, at: int) -> int:
    """Return where the line of `at` ends."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found
