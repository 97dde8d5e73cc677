"""Comparing two texts word by word, quickly and so that the result reads well: the segments that were kept, removed or
added, the tokens they are made of, and the comparison in order.

Three steps. Long runs of words that occur once in both texts are taken as unchanged (this is what keeps a
long insertion cheap). What is between them is compared word by word as long as it is not too much; what is too
much, by whole lines, and then inside those that differ. The changes found are then tidied for reading.

Each item is coded as one character, and rapidfuzz matches these. The same texts give the same result, always: limits
are on sizes, not on time.
"""

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import add
from typing import Literal, NamedTuple

from rapidfuzz.distance import LCSseq, Postfix, Prefix

from assent_client.text.invisible.tables import MARKS
from memory_app.text.lines import MARKER

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text that is in both texts, only in the one before, or only in the one after.

    Attributes:
        move: the number of the move it is a half of, from 1: whole lines that were taken from one place, `removed`, and
            put in another, `added`, with the same or nearly the same words. 0 for all others.
    """

    kind: Kind
    text: str
    move: int = 0


def joined(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return the segments with neighbours of one kind and one move as one."""
    found: list[Segment] = []
    for segment in segments:
        if found and (found[-1].kind, found[-1].move) == (segment.kind, segment.move):
            found[-1] = Segment(segment.kind, found[-1].text + segment.text, segment.move)
        else:
            found.append(segment)
    return tuple(found)


def side_of(segments: Iterable[Segment], side: Kind) -> str:
    """Return what the segments were (`removed`) or will be (`added`)."""
    return "".join(segment.text for segment in segments if segment.kind in ("same", side))


# -- tokens ---------------------------------------------------------------------------------------

# Scripts written without spaces between words: a "word" of a whole Chinese sentence would make every
# change of one character look like a new sentence. Kana, CJK, Thai to Lao, Myanmar, Khmer.
_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a\u1780-\u17b3"
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)

#: `\\w` lacks them, so Hindi would fall apart.
_MARK = f"[{MARKS}\u200c\u200d]"
_LETTER = rf"[^\W{_UNSPACED}]"
# Possessive: what follows a word is never part of one, and giving letters back would take exponential time.
_LETTERS = f"{_LETTER}++(?:{_MARK}++{_LETTER}*+)*+"
# What prolongs an emoji: marks and variation selectors, skin tones, tags (regional flags), a joiner and the next one.
_PROLONGED = f"(?:\u200d\\S|{_MARK}|[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f])*+"

_PIECE = re.compile(
    "|".join(
        (
            rf"{_LETTERS}(?:['’]{_LETTERS}|(?<=\d)[.,](?=\d){_LETTERS})*+",
            r"\r\n|[\r\n]",
            r"[^\S\r\n]+",
            rf"[\U0001f1e6-\U0001f1ff]{{2}}|[^\s]{_PROLONGED}",
        )
    ),
    re.DOTALL,
)
_UNSPACED_CHAR = re.compile(f"[{_UNSPACED}]")
_LINE_ENDS = frozenset(("\n", "\r\n", "\r"))


def tokens(text: str) -> list[str]:
    """Return `text` cut into words, runs of white space, single line ends, and single other characters."""
    # The same few thousand words come again and again; sharing them makes the comparisons that follow quicker.
    return [sys.intern(piece) for piece in _PIECE.findall(text)]


def is_word(piece: str) -> bool:
    """Whether the piece is a word (or a character of a script without spaces)."""
    return piece[:1].isalnum()


def words(text: str) -> list[str]:
    """Return the words among the tokens."""
    return [piece for piece in tokens(text) if is_word(piece)]


def is_spaced(char: str) -> bool:
    """Whether the character belongs to a script that puts spaces between words."""
    return not _UNSPACED_CHAR.match(char)


def is_line_end(piece: str) -> bool:
    """Whether the piece ends a line."""
    return piece in _LINE_ENDS


# -- common ends ----------------------------------------------------------------------------------

#: Lines of common text that stay on each side, so that a change can be moved to a better place.
_MARGIN = 2


def common_ends(before: str, after: str) -> tuple[int, int]:
    """Return how many characters at the beginning and at the end may be set aside: whole lines, equal in both.

    Finding them is a few comparisons of slices, each at the speed of memory: 18 ms less for one changed
    line among 19,000 characters.
    """
    head = Prefix.similarity(before, after)
    tail = min(Postfix.similarity(before, after), len(before) - head, len(after) - head)
    for _ in range(_MARGIN + 1):
        head = before.rfind("\n", 0, max(head - 1, 0)) + 1
        # The end set aside begins after a line's end that is in both texts and outside the head.
        following = before.find("\n", len(before) - tail, len(before)) if tail else -1
        tail = len(before) - following - 1 if following >= 0 else 0
    return head, tail


_SURROGATES = range(0xD800, 0xE000)


class Difference(NamedTuple):
    """Items `[start:end]` of the old sequence became items `[new_start:new_end]` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def coded(*texts: Sequence[str]) -> list[str]:
    """Return lists as strings with one character per distinct item. No text that is stored has more of them."""
    codes: dict[str, str] = {}
    for item in chain(*texts):
        if item not in codes:
            number = len(codes)
            # Half of a surrogate pair is no character; the codes go on after them.
            codes[item] = chr(number if number < _SURROGATES.start else number + len(_SURROGATES))
    return ["".join(map(codes.__getitem__, text)) for text in texts]


def visible_words(text: str) -> list[str]:
    """Return words and signs, but for those that every item of a list and every row of a table has."""
    marker = MARKER.match(text)
    start = marker.end() if marker and marker.end() < len(text) else 0
    return [piece for piece in tokens(text[start:]) if not piece.isspace() and piece != "|"]


def coded_words(texts: Iterable[str]) -> list[str]:
    """Return each text as a string with a character for each of its words and signs."""
    return coded(*map(visible_words, texts))


def matched(old: str, new: str) -> list[Difference]:
    """Return the changes between two coded texts that leave the longest common subsequence.

    It takes time and memory with the product of the lengths: 35 ms and 31 MB for 2.5e8.
    """
    return [
        Difference(step.src_start, step.src_end, step.dest_start, step.dest_end)
        for step in LCSseq.opcodes(old, new)
        if step.tag != "equal"
    ]


def unchanged(changes: Sequence[Difference], length: int) -> Iterator[tuple[int, int]]:
    """Yield the places of what did not change in both sequences; `length` is that of the old one."""
    at = shift = 0
    for each in [*changes, Difference(length, length, 0, 0)]:
        yield from ((place, place + shift) for place in range(at, each.start))
        at, shift = each.end, each.new_end - each.end


def single_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of what occurs once in each of the two, in the order of the old one."""
    counts, new_counts = Counter(old), Counter(new)
    places = {item: at for at, item in enumerate(new) if new_counts[item] == 1}
    return [(at, places[item]) for at, item in enumerate(old) if item in places and counts[item] == 1]


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many of the pairs as rise in both places, given in the order of the first: the longest increasing
    subsequence of the second."""
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, new_index) in enumerate(pairs):
        length = bisect_left(ends, new_index)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new_index]
        last[length : length + 1] = [index]
    chain = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


#: How many pairs of words may be compared in one diff; so many take 35 ms and 31 MB. Two unrelated texts of 10,000
#: words have more, and are compared by lines first.
MOST_PAIRS = 250_000_000

# Words, spaces and punctuation in a row that identify a place: about four words. Shorter ones tie unrelated
# sentences together by phrases such as "at the end of".
_RUN = 8


def diff_in_order(before: str, after: str) -> tuple[Segment, ...]:
    """Return what `diff` returns of two texts of which no line was moved."""
    head, tail = common_ends(before, after)
    old, new = tokens(before[head : len(before) - tail]), tokens(after[head : len(after) - tail])
    middle = _segments(old, new, _by_lines(differences(old, new), old, new))
    ends = (Segment("same", before[:head]), Segment("same", before[len(before) - tail :]))
    return joined(segment for segment in (ends[0], *middle, ends[1]) if segment.text)


def _by_lines(changes: Iterable[Difference], old: list[str], new: list[str]) -> Iterator[Difference]:
    """Yield the changes; lines that were put in or taken out after a part of a line are a change of their own.

    "a[!⏎b]⏎" and "a[!]⏎[b⏎]" are the same change.
    """
    for change in changes:
        start, end, new_start, new_end = change
        put_in = old[start:end] or new[new_start:new_end]
        kept = "".join(old[end : end + 1])
        is_cut = is_line_end(kept) and kept in put_in[1:] and put_in[0] != kept
        if not is_cut or (start < end and new_start < new_end):
            yield change
            continue
        at = put_in.index(kept)
        by, new_by = (at, 0) if start < end else (0, at)
        yield Difference(start, start + by, new_start, new_start + new_by)
        yield Difference(start + by + 1, end + 1, new_start + new_by + 1, new_end + 1)


def _segments(old: list[str], new: list[str], changes: Iterable[Difference]) -> Iterator[Segment]:
    at = 0
    for change in changes:
        if at < change.start:
            yield Segment("same", "".join(old[at : change.start]))
        if change.start < change.end:
            yield Segment("removed", "".join(old[change.start : change.end]))
        if change.new_start < change.new_end:
            yield Segment("added", "".join(new[change.new_start : change.new_end]))
        at = change.end
    if at < len(old):
        yield Segment("same", "".join(old[at:]))


def differences(old: list[str], new: list[str]) -> list[Difference]:
    """Return everything that differs between two lists of tokens, in order, tidied. No two changes touch."""
    rough = joined_changes(_compared(coded(old, new), old, new))
    return _merge_small_gaps(_shifted(rough, old, new), old, new)


# -- finding what differs ---------------------------------------------------------------------------


def _compared(codes: Sequence[str], old: list[str], new: list[str]) -> list[Difference]:
    coded_old, coded_new = codes
    found: list[Difference] = []
    late: list[Difference] = []
    room = MOST_PAIRS

    def compare(gaps: Iterable[Difference], too_big: list[Difference]) -> None:
        nonlocal room
        # Small ones first, so that one big rewrite does not use up the room of all the others.
        for gap in sorted(gaps, key=lambda each: (_size(each), each)):
            if _size(gap) > room:
                too_big.append(gap)
                continue
            room -= _size(gap)
            changes = matched(coded_old[gap.start : gap.end], coded_new[gap.new_start : gap.new_end])
            found.extend(_moved(change, gap) for change in changes)

    compare(_gaps(coded_old, coded_new), late)
    # Lines are compared within the same limit again, which leaves room for what is inside those that differ.
    compare([inner for gap in late for inner in _differing_lines(old, new, gap)], found)
    return sorted(found)


def _size(gap: Difference) -> int:
    return (gap.end - gap.start) * (gap.new_end - gap.new_start)


def _moved(change: Difference, gap: Difference) -> Difference:
    """Return a change found inside a gap, counted from the start of the texts."""
    shift, new_shift = gap.start, gap.new_start
    return Difference(*map(add, change, (shift, shift, new_shift, new_shift)))


def _lines(items: list[str]) -> list[list[str]]:
    """Return the tokens of each line, its end included."""
    lines: list[list[str]] = [[]]
    for piece in items:
        lines[-1].append(piece)
        if is_line_end(piece):
            lines.append([])
    return lines if lines[-1] else lines[:-1]


def _differing_lines(old: list[str], new: list[str], gap: Difference) -> list[Difference]:
    """Return what differs inside a gap by whole lines, counted in tokens from the start of the texts."""
    lines, new_lines = _lines(old[gap.start : gap.end]), _lines(new[gap.new_start : gap.new_end])
    if len(lines) * len(new_lines) > MOST_PAIRS:
        return [gap]
    codes = coded(["".join(line) for line in lines], ["".join(line) for line in new_lines])
    starts, new_starts = _sums(map(len, lines)), _sums(map(len, new_lines))
    return [
        _moved(
            Difference(starts[each.start], starts[each.end], new_starts[each.new_start], new_starts[each.new_end]), gap
        )
        for each in matched(*codes)
    ]


def _gaps(old: str, new: str) -> Iterator[Difference]:
    """Yield what is between the runs of tokens that occur once in both texts, in the same order."""
    end = new_end = 0
    for start, new_start in (*_anchors(old, new), (len(old), len(new))):
        # Two runs may overlap in one of the texts; then the later one counts from where the earlier one ends.
        late = max(end - start, new_end - new_start, 0)
        if late < _RUN:
            if (end, new_end) != (start + late, new_start + late):
                yield Difference(end, start + late, new_end, new_start + late)
            end, new_end = start + _RUN, new_start + _RUN


def _anchors(old: str, new: str) -> list[tuple[int, int]]:
    """Return where runs of `_RUN` tokens begin that occur once in both texts: as many as are in one order in both."""
    runs, new_runs = ([text[at : at + _RUN] for at in range(len(text) - _RUN + 1)] for text in (old, new))
    return rising(single_pairs(runs, new_runs))


# -- tidying what was found -------------------------------------------------------------------------


def joined_changes(changes: list[Difference]) -> list[Difference]:
    """Return the changes, with those that touch as one."""
    joined: list[Difference] = []
    for change in changes:
        if joined and joined[-1].end == change.start:
            joined[-1] = Difference(joined[-1].start, change.end, joined[-1].new_start, change.new_end)
        else:
            joined.append(change)
    return joined


def _shifted(changes: list[Difference], old: list[str], new: list[str]) -> list[Difference]:
    """Return the changes, with pure additions and removals moved to where they read best.

    "one [two one ]three" and "[one two ]one three" are the same change; a person expects whole lines, then whole
    sentences, then whole words to come and go.
    """
    shifted: list[Difference] = []
    for number, change in enumerate(changes):
        room_before = change.start - (shifted[-1].end if shifted else 0)
        room_after = (changes[number + 1].start if number + 1 < len(changes) else len(old)) - change.end
        if change.start == change.end:
            by = _best_shift(new, change.new_start, change.new_end, room_before, room_after)
        elif change.new_start == change.new_end:
            by = _best_shift(old, change.start, change.end, room_before, room_after)
        else:
            by = 0
        shifted.append(Difference(*(place + by for place in change)))
    return joined_changes(shifted)


def _best_shift(items: list[str], start: int, end: int, room_before: int, room_after: int) -> int:
    """Return how far to move `items[start:end]`, added or removed, so that it begins and ends at a good place."""
    back = 0
    while back < room_before and items[start - back - 1] == items[end - back - 1]:
        back += 1
    ahead = 0
    while ahead < room_after and items[start + ahead] == items[end + ahead]:
        ahead += 1
    # Of equally good ones the latest: "word [word ]word" rather than "word[ word] word".
    return max(
        range(-back, ahead + 1),
        key=lambda by: (_boundary_score(items, start + by) + _boundary_score(items, end + by), by),
    )


def _boundary_score(items: list[str], at: int) -> int:
    """Return how natural it is to cut before `items[at]`; higher is better."""
    if at in (0, len(items)):
        return 6
    left = items[at - 1]
    if is_line_end(left):
        return 5 if at > 1 and is_line_end(items[at - 2]) and not is_line_end(items[at]) else 4
    if left.isspace():
        return 3 if at > 1 and items[at - 2] in ".!?…。！？" else 2
    return 2 if items[at].isspace() else 1 if not (is_word(left) and is_word(items[at])) else 0


def _merge_small_gaps(changes: list[Difference], old: list[str], new: list[str]) -> list[Difference]:
    """Merge changes with hardly anything between them: a reader wants phrases replaced, not every second word.

    The text between is merged when it has at most half as many letters as the change on either side. The end of a
    line is never merged, so that paragraphs stay apart.
    """
    if len(changes) < 2:  # most lines that changed
        return changes
    # Sums up to each piece: a growing change would otherwise be measured again at each step.
    letters, new_letters = _sums(_letters(old)), _sums(_letters(new))
    line_ends = _sums(map(is_line_end, old))

    def weight(change: Difference) -> int:
        removed = letters[change.end] - letters[change.start]
        return max(removed, new_letters[change.new_end] - new_letters[change.new_start])

    def is_confetti(start: int, end: int, left: Difference, right: Difference) -> bool:
        if line_ends[start] != line_ends[end]:
            return False
        between = letters[end] - letters[start]
        return between == 0 or 2 * between <= min(weight(left), weight(right))

    kept: list[Difference] = []
    for change in changes:
        merged = change
        while kept and is_confetti(kept[-1].end, merged.start, kept[-1], merged):
            left = kept.pop()
            merged = Difference(left.start, merged.end, left.new_start, merged.new_end)
        kept.append(merged)
    return kept


def _letters(items: list[str]) -> list[int]:
    # `is_word` is written out: calling it for each piece took a tenth of a diff.
    return [len(piece) if piece[:1].isalnum() else 0 for piece in items]


def _sums(numbers: Iterable[int]) -> list[int]:
    return list(accumulate(numbers, initial=0))
