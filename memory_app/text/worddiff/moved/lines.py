"""Which lines of a text stand elsewhere in the other one: each the same, or with some of its words changed.

Lines that are in both texts are paired. As many of the pairs as lie in one order in both texts, counted in letters,
stay where they are; the others were moved. Lines with few words are never the reason for a move, since they are the
same by chance, but they go along with those they stand beside in both texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memory_app.text.lines import without_number
from memory_app.text.worddiff.words import is_word, tokens

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
