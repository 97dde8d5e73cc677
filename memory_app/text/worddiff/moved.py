"""Lines that stand elsewhere in the other text: which these are, and how the rest is compared and counted."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise, takewhile
from typing import NamedTuple

from memory_app.text import lines
from memory_app.text.lines import without_number
from memory_app.text.worddiff.compare import diff_in_order
from memory_app.text.worddiff.layout import Paragraph, closed
from memory_app.text.worddiff.segments import Kind, Segment, common_ends, is_word, joined, tokens

# -- How many words a change adds and removes, and how many paragraphs it moves.


def count_words(segments: Sequence[Segment]) -> tuple[int, int]:
    """Return how many words were added and how many removed; of what was moved, those that were changed as well."""
    added = sum(_words(segment.text) for segment in segments if segment.kind == "added" and not segment.move)
    removed = sum(_words(segment.text) for segment in segments if segment.kind == "removed" and not segment.move)
    for was, now in moved_texts(segments):
        if was != now:
            inside = count_words(diff_in_order(was, now))
            added, removed = added + inside[0], removed + inside[1]
    return added, removed


def count_moved(segments: Sequence[Segment]) -> int:
    """Return how many paragraphs were moved: headings, items and rows too, each by itself."""
    return sum(_paragraphs(now) for _was, now in moved_texts(segments))


def count_moved_words(segments: Sequence[Segment]) -> int:
    """Return how many words the moved paragraphs have."""
    return sum(_words(now) for _was, now in moved_texts(segments))


def moved_texts(segments: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return what each move took and what it put elsewhere, without the blank lines around them."""
    if not any(segment.move for segment in segments):
        return []
    was = {segment.move: segment.text for segment in segments if segment.kind == "removed"}
    now = {segment.move: segment.text for segment in segments if segment.kind == "added"}
    return [(was[move].strip("\r\n"), now[move].strip("\r\n")) for move in sorted((was.keys() & now.keys()) - {0})]


def _words(text: str) -> int:
    return sum(map(is_word, tokens(text)))


def _paragraphs(text: str) -> int:
    above = ""
    count = 0
    for line in text.splitlines():
        count += bool(line.strip()) and not (above.strip() and lines.continues(above, line))
        above = line
    return count


# -- Which lines of a text stand elsewhere in the other one: each the same, or with some of its words changed.

#: Words and letters of a line from which on it may have been moved; of one that was also changed, words.
_WORDS, _LETTERS, _WORDS_CHANGED = 3, 12, 5
#: Share of the letters of the longer of two lines that stays when one is the other, changed; and the share from which
#: on a line resembles another one too much for that to be told.
_STAYS, _RESEMBLES = 0.6, 0.5
#: By so many of its rarest words a line is looked for, each in at most so many lines, of which so many are compared.
_LOOKED_FOR, _COMMON, _COMPARED = 8, 20, 6
#: Lines of both texts together that are compared in this way; so many take 100 ms. More are a new text.
_MOST_LINES = 1_000

Pair = tuple[int, int]


class Move(NamedTuple):
    """So many lines from `start` in the text before are as many lines from `new_start` in the text after."""

    start: int
    new_start: int
    length: int


def moved_lines(old: Sequence[str], new: Sequence[str]) -> list[Move]:
    """Return the lines that were moved, in the order of the text before. The same lines give the same moves, always."""
    kept, put = [_said(line) for line in old], [_said(line) for line in new]
    pairs = _equal_pairs(kept, put)
    chain = _heaviest(pairs, kept) if _is_crossing(pairs) else pairs
    in_place, changed = _changed_pairs(kept, put, pairs, chain)
    if in_place or changed:
        pairs = sorted([*pairs, *in_place, *changed])
        chain = _heaviest(pairs, kept) if _is_crossing(pairs) else pairs
    if len(chain) == len(pairs):
        return []
    stays = set(chain)
    # Two lines that were compared only because they lie at the same place are not enough alike to be a move.
    stay_or_differ = stays.union(in_place)
    return _joined([pair for pair in pairs if pair not in stay_or_differ], stays, kept, put)


def _said(line: str) -> str:
    return without_number(line).strip()


def _equal_pairs(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Return the places of lines with enough words that are in each text once."""
    counts, new_counts = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    return [
        (index, places[line])
        for index, line in enumerate(old)
        if line in places and counts[line] == 1 and _is_long(line, _WORDS)
    ]


def _is_long(line: str, words: int) -> bool:
    if len(line) < _LETTERS:
        return False
    found = [piece for piece in tokens(line[:200]) if is_word(piece)]
    return len(found) >= words and sum(map(len, found)) >= _LETTERS


def _is_crossing(pairs: Sequence[Pair]) -> bool:
    return any(one[1] > other[1] for one, other in pairwise(pairs))


def _heaviest(pairs: Sequence[Pair], lines: Sequence[str]) -> list[Pair]:
    """Return those of the pairs that rise in both places and have most letters together; of several the earliest."""
    size = max(new for _, new in pairs) + 1
    best = [(0, -1)] * (size + 1)  # a Fenwick tree of the heaviest chains by the place where they end
    previous: list[int] = []
    for number, (index, new_index) in enumerate(pairs):
        weight, last = _heaviest_before(best, new_index)
        previous.append(last)
        total = (weight + len(lines[index]), number)
        at = new_index + 1
        while at <= size:
            if total[0] > best[at][0]:
                best[at] = total
            at += at & -at
    chain = []
    number = _heaviest_before(best, size)[1]
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _heaviest_before(best: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    found = (0, -1)
    while at:
        if best[at][0] > found[0]:
            found = best[at]
        at -= at & -at
    return found


# -- lines that were changed as well -----------------------------------------------------------------


def _changed_pairs(
    old: Sequence[str], new: Sequence[str], pairs: list[Pair], chain: list[Pair]
) -> tuple[list[Pair], list[Pair]]:
    """Return pairs of lines that differ: those at the same place, and those elsewhere that no other one resembles."""
    taken, new_taken = {index for index, _ in pairs}, {index for _, index in pairs}
    left = [index for index, line in enumerate(old) if line and index not in taken]
    new_left = [index for index, line in enumerate(new) if line and index not in new_taken]
    if not left or not new_left:
        return [], []
    in_place = list(_in_place(old, new, (left, new_left), chain))
    taken, new_taken = {index for index, _ in in_place}, {index for _, index in in_place}
    left = [index for index in left if index not in taken and _is_long(old[index], _WORDS_CHANGED)]
    new_left = [index for index in new_left if index not in new_taken and _is_long(new[index], _WORDS_CHANGED)]
    if not left or not new_left or len(left) + len(new_left) > _MOST_LINES:
        return in_place, []
    return in_place, _alike(old, new, left, new_left)


def _in_place(
    old: Sequence[str], new: Sequence[str], left: tuple[Sequence[int], Sequence[int]], chain: Sequence[Pair]
) -> Iterator[Pair]:
    """Yield the pairs of similar lines between two that stay, where there are as many of both."""
    at = new_at = 0
    mine, its = left
    for index, new_index in (*chain, (len(old), len(new))):
        start, new_start = at, new_at
        while at < len(mine) and mine[at] < index:
            at += 1
        while new_at < len(its) and its[new_at] < new_index:
            new_at += 1
        if at - start == new_at - new_start:
            for one, other in zip(mine[start:at], its[new_start:new_at], strict=True):
                if _have_words_in_common(old[one], new[other]):
                    yield one, other


def _have_words_in_common(one: str, other: str) -> bool:
    words, others = set(one.split()), set(other.split())
    return 2 * len(words & others) >= max(len(words), len(others))


def _alike(old: Sequence[str], new: Sequence[str], left: Sequence[int], new_left: Sequence[int]) -> list[Pair]:
    bags = {index: _bag(old[index]) for index in left}
    new_bags = {index: _bag(new[index]) for index in new_left}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for index, bag in bags.items():
        for word in bag:
            having[word].append(index)
    resembling: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for new_index, bag in new_bags.items():
        rarest = sorted((word for word in bag if word in having), key=lambda word: (len(having[word]), word))
        looked_for = [word for word in rarest[:_LOOKED_FOR] if len(having[word]) <= _COMMON]
        votes = Counter(index for word in looked_for for index in having[word])
        likely = sorted(votes, key=lambda index: (-votes[index], index))[:_COMPARED]
        shares = ((_share(bags[index], bag), index) for index in likely)
        resembling[new_index] = [each for each in shares if each[0] >= _RESEMBLES]
    times = Counter(index for some in resembling.values() for _share_, index in some)
    return [
        (some[0][1], new_index)
        for new_index, some in resembling.items()
        if len(some) == 1 and some[0][0] >= _STAYS and times[some[0][1]] == 1
    ]


def _bag(line: str) -> Counter[str]:
    return Counter(piece for piece in tokens(line) if is_word(piece))


def _share(one: Counter[str], other: Counter[str]) -> float:
    longer = max(_letters(one), _letters(other))
    return _letters(one & other) / longer if longer else 0.0


def _letters(bag: Counter[str]) -> int:
    return sum(len(word) * count for word, count in bag.items())


# -- lines that were moved together ------------------------------------------------------------------


def _joined(moved: Sequence[Pair], stays: set[Pair], old: Sequence[str], new: Sequence[str]) -> list[Move]:
    """Return the moved lines with those that went along: equal ones between them, and above the first of them."""
    partner = dict(moved)
    taken, new_taken = {index for index, _ in stays}, {index for _, index in stays}
    moves: list[Move] = []
    seen: set[int] = set()
    for index, new_index in moved:
        if index in seen:
            continue
        start, new_start = index, new_index
        while _goes_along(old, new, start - 1, new_start - 1) and not (
            start - 1 in taken or new_start - 1 in new_taken or start - 1 in partner or start - 1 in seen
        ):
            start, new_start = start - 1, new_start - 1
        end = index + 1
        ahead = end
        while ahead < len(old):
            beside = new_start + ahead - start
            if partner.get(ahead) == beside:
                end = ahead + 1
            elif ahead in taken or ahead in partner or beside in new_taken or not _goes_along(old, new, ahead, beside):
                break
            elif old[ahead]:
                end = ahead + 1
            ahead += 1
        while not old[start]:  # blank lines are with what they are beside, on either side
            start, new_start = start + 1, new_start + 1
        seen.update(range(start, end))
        moves.append(Move(start, new_start, end - start))
    return _apart(moves)


def _goes_along(old: Sequence[str], new: Sequence[str], index: int, new_index: int) -> bool:
    return 0 <= index < len(old) and 0 <= new_index < len(new) and old[index] == new[new_index]


def _apart(moves: Sequence[Move]) -> list[Move]:
    """Return the moves without those whose lines another one has already."""
    found: list[Move] = []
    taken: set[int] = set()
    new_taken: set[int] = set()
    for move in moves:
        mine = range(move.start, move.start + move.length)
        its = range(move.new_start, move.new_start + move.length)
        if taken.isdisjoint(mine) and new_taken.isdisjoint(its):
            found.append(move)
            taken.update(mine)
            new_taken.update(its)
    return sorted(found)


# -- Comparing two texts of which lines may have been moved: the others are compared in order, and these put back.


def diff(before: str, after: str) -> tuple[Segment, ...]:
    """Return the segments that lead from `before` to `after`, in reading order.

    Between two that are the same, what was moved stands first, then what was removed, then what was added. The same
    and removed segments joined are `before`; the same and added ones joined are `after`; none is empty and no two
    neighbours are of one kind and one move. A move has one segment of either kind, which is whole lines. The same texts
    always give the same segments.
    """
    head, tail = common_ends(before, after)
    old, new = _lines(before[head : len(before) - tail]), _lines(after[head : len(after) - tail])
    moves = moved_lines(old, new) if len(old) > 1 and len(new) > 1 else []
    if not moves:
        return diff_in_order(before, after)
    gone = [_Lines(move.start, move.length, number) for number, move in enumerate(moves, 1)]
    come = sorted(_Lines(move.new_start, move.length, number) for number, move in enumerate(moves, 1))
    rest, taken = _taken_out(old, gone, head, "removed")
    new_rest, put = _taken_out(new, come, head, "added")
    ends = before[:head], before[len(before) - tail :]
    segments = diff_in_order(rest.join(ends), new_rest.join(ends))
    return _with_whole_moves(_put_back(segments, taken, put))


class _Lines(NamedTuple):
    first: int
    length: int
    move: int


class _Piece(NamedTuple):
    """Moved lines, and where they stood among those that were not: before which character."""

    at: int
    segment: Segment


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; the last one has none when the text ends without."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _taken_out(lines: Sequence[str], moved: Sequence[_Lines], head: int, kind: Kind) -> tuple[str, list[_Piece]]:
    """Return the text of the lines that were not moved, and those that were; `head` characters stand in front."""
    rest: list[str] = []
    pieces: list[_Piece] = []
    at = 0
    for first, length, move in moved:
        rest += lines[at:first]
        head += sum(map(len, lines[at:first]))
        at = first + length
        pieces.append(_Piece(head, Segment(kind, "".join(lines[first:at]), move)))
    return "".join((*rest, *lines[at:])), pieces


def _put_back(segments: Iterable[Segment], gone: Sequence[_Piece], come: Sequence[_Piece]) -> tuple[Segment, ...]:
    """Return the segments with the moved lines where they were and where they are."""
    found: list[Segment] = []
    removed, added = _Run(gone), _Run(come)
    for segment in segments:
        if segment.kind == "removed":
            removed.add(segment)
        elif segment.kind == "added":
            added.add(segment)
        else:
            length = len(segment.text)
            cuts = sorted({0, length, *removed.cuts(length), *added.cuts(length)})
            for start, end in pairwise(cuts):
                found += (*_in_order(removed.taken(), added.taken()), Segment("same", segment.text[start:end]))
                removed.at += end - start
                added.at += end - start
    return joined((*found, *_in_order(removed.taken(), added.taken())))


def _in_order(removed: Sequence[Segment], added: Sequence[Segment]) -> Iterator[Segment]:
    """Yield what was moved from and to the beginning of a run first: the line after it may be changed inside."""
    for first in (removed, added):
        yield from takewhile(lambda part: part.move, first)
    for rest in (removed, added):
        yield from dropwhile(lambda part: part.move, rest)


class _Run:
    """What was removed, or what was added, between two stretches that are the same.

    Attributes:
        at: how many characters of the text without the moved lines were seen.
    """

    def __init__(self, moved: Sequence[_Piece]) -> None:
        self.at = 0
        self._moved = deque(moved)
        self._parts: list[Segment] = []

    def add(self, segment: Segment) -> None:
        """Add a part, with the lines that were moved from or to places in it."""
        cuts = [*self.cuts(len(segment.text)), len(segment.text)]
        start = 0
        for end in cuts:
            self._put_in()
            self._parts.append(Segment(segment.kind, segment.text[start:end]))
            self.at += end - start
            start = end

    def cuts(self, length: int) -> list[int]:
        """Return the places inside the next characters from or to which lines were moved."""
        near = takewhile(lambda piece: piece.at < self.at + length, self._moved)
        return sorted({piece.at - self.at for piece in near} - {0})

    def taken(self) -> Sequence[Segment]:
        """Return the parts up to here, blank lines as part of the move beside them, and forget them."""
        self._put_in()
        parts = joined(self._parts)
        self._parts = []
        for number, part in enumerate(parts):
            if not part.move and part.text.endswith("\n") and not part.text.strip():
                beside = (*parts[:number][-1:], *parts[number + 1 : number + 2])
                move = next((each.move for each in beside if each.move), 0)
                parts = (*parts[:number], replace(part, move=move), *parts[number + 1 :])
        return joined(parts)

    def _put_in(self) -> None:
        while self._moved and self._moved[0].at <= self.at:
            self._parts.append(self._moved.popleft().segment)


def _with_whole_moves(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the segments with those moves only of which both halves stand on lines of their own, apart.

    The others are removals and additions: one could not be taken without what stands on the same line. Where nothing is
    left between both halves, since the lines there were added or removed themselves, the line was changed in its place.
    """
    torn: set[int] = set()
    at_start = {"removed": True, "added": True}
    for paragraph in closed(segments)[0]:
        if not (paragraph.move and all(at_start.values())):
            torn.update(segment.move for segment in paragraph.segments)
        for segment in paragraph.segments:
            for side in at_start:
                if segment.kind in ("same", side):
                    at_start[side] = segment.text.endswith("\n")
    in_place = {one.move for one, other in pairwise(segments) if one.move == other.move} - {0}
    torn -= {0}
    if not torn and not in_place:
        return segments
    found: list[Segment] = []
    for segment in segments:
        if segment.move not in torn | in_place:
            found.append(segment)
        elif segment.move in in_place and found and segment.kind == "added" and found[-1].kind == "removed":
            found += diff_in_order(found.pop().text, segment.text)
        else:
            found.append(replace(segment, move=0))
    return joined(found)


# -- What changed inside the lines that were moved.


@dataclass(frozen=True, slots=True)
class MovedLine:
    """A line of a move, as it was and as it is. Line numbers are from 1.

    Attributes:
        segments: from the one text to the other, without line ends.
    """

    move: int
    before_line: int
    after_line: int
    segments: tuple[Segment, ...]


def moved_lines_of(items: Sequence[Paragraph]) -> tuple[MovedLine, ...]:
    """Return the lines with something to read that a redline's moves took and put elsewhere, in order of the moves."""
    gone: defaultdict[int, list[Paragraph]] = defaultdict(list)
    come: defaultdict[int, list[Paragraph]] = defaultdict(list)
    for item in items:
        if item.move and not item.is_blank:
            (come if item.before_line is None else gone)[item.move].append(item)
    return tuple(
        MovedLine(
            move, was.before_line or 0, now.after_line or 0, diff_in_order(*map(_text_without_line_end, (was, now)))
        )
        for move in sorted(gone)
        for was, now in zip(gone[move], come[move], strict=True)
    )


def _text_without_line_end(item: Paragraph) -> str:
    return item.text.rstrip("\r\n")
