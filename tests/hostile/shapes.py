"""Texts that make a regular expression backtrack, made from the expression itself.

A matcher is slow on a text where a repetition can begin or end in many places and what should follow is missing. So
for each repetition of a pattern: what leads to it, what it repeats (again and again), and something that fits nowhere.
"""

import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from re import _constants as op  # type: ignore[attr-defined]  # how the library itself sees a pattern
from re import _parser  # type: ignore[attr-defined]
from typing import Any

#: A repetition of at most so many costs a constant.
_BOUNDED = 64
_SAMPLES = 3
#: Pieces put together in pairs, for patterns of which none of the above makes a hostile text.
_PAIRED = 12
MOST_SHAPES = 160

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_ENDS = ("\x00", "", " x", "x")
_CATEGORIES = {
    op.CATEGORY_DIGIT: "07",
    op.CATEGORY_NOT_DIGIT: "a-",
    op.CATEGORY_SPACE: " \n\t",
    op.CATEGORY_NOT_SPACE: "a-",
    op.CATEGORY_WORD: "a_0é",
    op.CATEGORY_NOT_WORD: "-. ",
}
_ELSEWHERE = "a0 _-.\n\t\"'<>[](){}|*#:/!é漢\x00"

Shape = Callable[[int], str]


def shapes(pattern: re.Pattern[str]) -> Iterator[tuple[str, Shape]]:
    """Hostile texts for `pattern`, as a description and a function from a length to a text."""
    seen: set[tuple[str, str, str]] = set()
    for prefix, pump, end in islice(_parts(pattern), 40 * MOST_SHAPES):
        if pump and (prefix, pump, end) not in seen:
            seen.add((prefix, pump, end))
            yield f"{prefix!r} + {pump!r} * n + {end!r}", _shape(prefix, pump, end)
            if len(seen) == MOST_SHAPES:
                return


def _shape(prefix: str, pump: str, end: str) -> Shape:
    return lambda length: prefix + (pump * length)[: max(length // len(pump), 1) * len(pump)] + end


def _parts(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    tree = _parser.parse(pattern.pattern, pattern.flags)
    alphabet = "".join(dict.fromkeys(_alphabet(tree)))
    rng = random.Random(ascii(pattern.pattern))
    repeats = list(_repeats([*tree]))
    rng.shuffle(repeats)
    for samples in zip(*([_samples(*repeat, alphabet, rng) for repeat in repeats] or [iter(())]), strict=False):
        for prefix, body, tail in samples:
            for end in _ENDS:
                yield prefix, body, end
                yield "", prefix + body, end
                yield prefix, body + tail, end
                yield "", prefix + body * 3 + tail[:-1], end
            yield "", prefix, "\x00"
    pieces = [*dict.fromkeys((*alphabet[:_PAIRED], "a", " ", "\n"))]
    for piece in pieces:
        yield from (("", piece, "\x00"), ("", piece, "x"), ("a", piece, "a"), (" ", piece, " "))
    rng.shuffle(pieces)
    for first in pieces:
        yield from (("", first + second, "\x00") for second in pieces)


def _samples(
    before: list[Any], body: list[Any], after: list[Any], alphabet: str, rng: random.Random
) -> Iterator[tuple[str, str, str]]:
    for _ in range(_SAMPLES):
        yield _one(before, alphabet, rng), _one(body, alphabet, rng), _one(after, alphabet, rng)
    # What a repetition takes and what leads to it may be the same.
    lead = _one(before, alphabet, rng)
    if lead:
        yield lead, lead, ""


def _inner(code: Any, value: Any) -> list[list[Any]]:
    """The sequences of nodes that a node is made of."""
    if code in _REPEATS:
        return [[*value[2]]]
    if code is op.SUBPATTERN:
        return [[*value[3]]]
    if code is op.BRANCH:
        return [[*branch] for branch in value[1]]
    if code is op.ATOMIC_GROUP:
        return [[*value]]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [[*value[1]]]
    return []


def _repeats(nodes: list[Any], before: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Each long repetition: what stands before it, what it repeats, what comes after."""
    for at, (code, value) in enumerate(nodes):
        lead = [*before, *nodes[:at]]
        if code in _REPEATS and (value[1] is op.MAXREPEAT or value[1] > _BOUNDED):
            yield lead, [*value[2]], nodes[at + 1 :]
        for each in _inner(code, value):
            yield from _repeats(each, tuple(lead))


def _alphabet(nodes: Any) -> Iterator[str]:
    """Every character a pattern names."""
    for code, value in nodes:
        if code in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif code is op.IN:
            yield from _alphabet(item for item in value if item[0] is not op.NEGATE)
        elif code is op.RANGE:
            yield chr(value[0])
        elif code is op.CATEGORY:
            yield from _CATEGORIES[value]
        for each in _inner(code, value):
            yield from _alphabet(each)


def _one(nodes: Any, alphabet: str, rng: random.Random) -> str:
    """A text that `nodes` match, or nearly: what assertions say is taken for text or left out."""
    return "".join(_sample(code, value, alphabet, rng) for code, value in nodes)


def _sample(code: Any, value: Any, alphabet: str, rng: random.Random) -> str:
    if code is op.LITERAL:
        return chr(value)
    if code is op.NOT_LITERAL:
        return str(rng.choice([char for char in alphabet + _ELSEWHERE if char != chr(value)]))
    if code is op.ANY:
        return str(rng.choice([*alphabet, "a"]))
    if code is op.IN:
        return _member(value, alphabet, rng)
    if code is op.BRANCH:
        return _one(rng.choice(value[1]), alphabet, rng)
    if code in (op.SUBPATTERN, op.ATOMIC_GROUP):
        return _one(_inner(code, value)[0], alphabet, rng)
    if code in _REPEATS:
        least, most, body = value
        count = least if least or rng.random() < 0.5 else min(int(most), 1)
        return "".join(_one(body, alphabet, rng) for _ in range(count))
    if code is op.ASSERT and value[0] < 0:  # what has to stand before
        return _one(value[1], alphabet, rng)
    return ""


def _member(items: Any, alphabet: str, rng: random.Random) -> str:
    """One of a set of characters, preferably one that stands elsewhere in the pattern too."""
    negated = items[0][0] is op.NEGATE
    named = re.compile("[" + "".join(map(_as_written, items)) + "]")
    among = alphabet + _ELSEWHERE + "".join(_alphabet(item for item in items if item[0] is not op.NEGATE))
    fitting = [char for char in among if named.match(char)]
    assert negated or fitting
    return rng.choice(fitting or ["\u2603"])


def _as_written(item: Any) -> str:
    code, value = item
    if code is op.NEGATE:
        return "^"
    if code is op.LITERAL:
        return re.escape(chr(value))
    if code is op.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    letter = str(value).rsplit("_", 1)[-1][0].lower()
    return f"\\{letter.upper() if '_NOT_' in str(value) else letter}"
