"""Finding the passage an agent meant: how often the right one is found, and how long it takes.

`python -m benchmarks.nearest` prints both for texts of 300 and 5,000 lines, with a sliding difflib comparison (what one
would write first) beside them on a few of the same cases.
"""

import difflib
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from memory_app.text.folding import Folded
from memory_app.text.fuzzy_match import nearest, without_line_numbers

_BLOCKS = Path(__file__).resolve().parent.parent / "approvals" / "demo" / "blocks"
_CASES = 200
_REFERENCE_CASES = 8
_TARGET_MS = 120


@dataclass(frozen=True)
class Case:
    """A passage `text[start:end]`, and how an agent might misquote it."""

    kind: str
    start: int
    end: int
    needle: str


def main() -> None:
    for lines in (300, 5_000):
        text = demo_text(lines)
        cases = misquoted(text, _CASES, seed=lines)
        print(f"{lines} lines, {len(text):,} characters, {len(cases)} misquoted passages (target ≤ {_TARGET_MS} ms)")
        report("nearest", text, cases, ours)
        report("difflib, sliding", text, cases[:_REFERENCE_CASES] if lines < 1_000 else cases[:2], sliding)


def report(name: str, text: str, cases: list[Case], find: Callable[[str, str], tuple[int, int] | None]) -> None:
    times, missed, exact = [], [], 0
    for case in cases:
        began = time.perf_counter()
        found = find(text, case.needle)
        times.append((time.perf_counter() - began) * 1000)
        # The same words may stand in several places; each of them is right.
        is_same = found is not None and text[slice(*found)] == text[case.start : case.end]
        exact += is_same
        if not found or not (is_same or overlaps(found, case)):
            missed.append(case.kind)
    cuts = quantiles(times, n=20, method="inclusive")
    print(
        f"  {name:17} found {1 - len(missed) / len(cases):6.1%}  exactly {exact / len(cases):6.1%}  "
        f"p50 {cuts[9]:8.1f} ms  p95 {cuts[18]:8.1f} ms  longest {max(times):8.1f} ms"
        + (f"  missed: {', '.join(sorted(missed))}" if missed else "")
    )


def overlaps(found: tuple[int, int], case: Case) -> bool:
    """Whether at least half of what is found or meant is both."""
    shared = min(found[1], case.end) - max(found[0], case.start)
    return 2 * shared >= max(found[1], case.end) - min(found[0], case.start)


def ours(text: str, needle: str) -> tuple[int, int] | None:
    found = next(iter(nearest(Folded(text), without_line_numbers(needle))), None)
    return (found.start, found.end) if found else None


def sliding(text: str, needle: str) -> tuple[int, int] | None:
    """Every window of as many lines as the needle has, compared by difflib; the first of the best."""
    lines = text.splitlines(keepends=True)
    height = needle.count("\n") + 1
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(needle)
    best, place = 0.0, None
    for first in range(len(lines) - height + 1):
        matcher.set_seq1("".join(lines[first : first + height]))
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, place = matcher.ratio(), (starts[first], starts[first + height])
    return place


# -- the texts ---------------------------------------------------------------------------------------


def demo_text(lines: int) -> str:
    """The demo's blocks, over and over, each time with other numbers and some other words."""
    chance = random.Random(1)
    sources = [path.read_text("utf-8").split("---\n", 2)[2] for path in sorted(_BLOCKS.glob("*/*.md"))]
    vocabulary = sorted(set(re.findall(r"\w{4,}", " ".join(sources))))
    found: list[str] = []
    while len(found) < lines:
        for source in sources:
            changed = re.sub(r"\d+", lambda _: str(chance.randrange(10_000)), source)
            changed = re.sub(
                r"\w{4,}", lambda match: chance.choice(vocabulary) if chance.random() < 0.2 else match[0], changed
            )
            found += changed.splitlines()
    return "\n".join(found[:lines]) + "\n"


def misquoted(text: str, count: int, *, seed: int) -> list[Case]:
    chance = random.Random(seed)
    cases: list[Case] = []
    line_starts = [match.start() for match in re.finditer(r"^", text, re.MULTILINE)]
    while len(cases) < count:
        start = chance.choice(line_starts)
        end = start
        for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
            end = text.find("\n", end + 1)
            if end < 0:
                break
        if end < 0 or len(text[start:end].strip()) < 20 or text[start:end] != text[start:end].strip():
            continue
        if chance.random() < 0.4:  # part of a line, from word to word
            words = [match.span() for match in re.finditer(r"\w+", text[start:end])]
            if len(words) < 7:
                continue
            first = chance.randrange(len(words) - 5)
            last = min(first + chance.randint(4, 12), len(words) - 1)
            start, end = start + words[first][0], start + words[last][1]
        kind = chance.choice(sorted(_WAYS))
        needle = _WAYS[kind](text[start:end], chance)
        if needle not in text:
            cases.append(Case(kind, start, end, needle))
    return cases


def _typos(passage: str, chance: random.Random) -> str:
    letters = list(passage)
    for at in chance.sample(range(len(letters) - 1), max(len(letters) // 25, 1)):
        letters[at] = chance.choice(("", letters[at] * 2, chance.choice("aeinrst")))
    return "".join(letters)


def _misspelt(passage: str, chance: random.Random) -> str:
    def wrong(match: re.Match[str]) -> str:
        at = chance.randrange(len(match[0]))
        return match[0][:at] + chance.choice("aeinrst") + match[0][at + 1 :]

    return re.sub(r"\w{4,}", wrong, passage)


def _words(passage: str, chance: random.Random) -> str:
    words = passage.split(" ")
    for _ in range(max(len(words) // 8, 1)):
        at = chance.randrange(len(words))
        words[at : at + 1] = chance.choice(([], ["another"], [words[at], "rather"], ["quite", words[at]]))
    return " ".join(words)


def _line(passage: str, chance: random.Random) -> str:
    lines = passage.split("\n")
    if len(lines) > 2:
        del lines[chance.randrange(1, len(lines) - 1)]
        return "\n".join(lines)
    return _words(passage, chance)


def _start(passage: str, _: random.Random) -> str:
    return "something else " + passage.partition(" ")[2]


def _end(passage: str, _: random.Random) -> str:
    return passage.rpartition(" ")[0] + " and so on"


def _numbered(passage: str, chance: random.Random) -> str:
    first = chance.randrange(1, 900)
    return "\n".join(f"{first + number}: {line}" for number, line in enumerate(passage.split("\n")))


_WAYS: dict[str, Callable[[str, random.Random], str]] = {
    "typos": _typos,
    "every word misspelt": _misspelt,
    "other words": _words,
    "a line missing": _line,
    "another start": _start,
    "another end": _end,
    "line numbers": _numbered,
    "another case": lambda passage, _: passage.swapcase(),
    "rewrapped": lambda passage, _: re.sub(r"\s+", "\n", passage, count=3),
    "quotes": lambda passage, _: f"“{passage}”".replace("-", "–"),
}

if __name__ == "__main__":
    main()
