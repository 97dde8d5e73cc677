"""Merging texts beside `git merge-file`: how many come out right, and how long it takes. `make bench-merge`.

Three kinds of cases. *Made up*: two people change different sentences, items or cells of the project's documents, do
the same, or contradict each other, so the right result is known. Many scripts, lists and moves: `merge_cases`.
*History*: what became of a document over some commits is dealt to two people place by place; the right result is the
later document. A conflict where none was needed is not right, but only a merge that is not what both meant is wrong.
"""

import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks import merge_cases
from benchmarks.measure import Result, result, timed
from benchmarks.merge_cases import MergeCase
from memory_app.text import edits
from memory_app.text.merge import merge
from memory_app.text.worddiff.compare import differences, tokens

ROOT = Path(__file__).resolve().parent.parent
CASES = 1_000
TARGET = 150.0
SIBLINGS = 50
SIBLINGS_TARGET = 500.0

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_RUN = 0.4


def measure() -> list[Result]:
    """Return how long a text of 10,000 words takes, and comparing 50 proposals with a changed text."""
    chance = random.Random(1)
    pool = _sentences()
    sentences = [chance.choice(pool) for _ in range(10_000 // 15)]
    case = _small_edits(chance, sentences, count=100)
    times = timed(lambda _: merge(*case[:3]), range(12), warm_up=2)
    return [
        result("merge, 10,000 words, 100 edits on each side", times, target=TARGET),
        result("50 proposals compared with a changed text", _siblings(chance, sentences), target=SIBLINGS_TARGET),
    ]


def _siblings(chance: random.Random, sentences: Sequence[str]) -> list[float]:
    from approvals.models import Revision
    from approvals.review.targets import assess
    from memory_app.reads import Block

    base = _laid_out(sentences)
    revisions = []
    for _ in range(SIBLINGS):
        changed = _laid_out([_edited(chance, each) if chance.random() < 0.01 else each for each in sentences])
        applied = edits.apply(base, [edits.Rewrite(changed)])
        revisions.append(
            Revision(
                base_text=base,
                base_sha256=edits.sha256_of(base),
                result_text=changed,
                edits=edits.to_json(applied.edits),
            )
        )
    body = _laid_out([_edited(chance, each) if number % 100 == 0 else each for number, each in enumerate(sentences)])
    now = Block("a", "b", "", "", body, 200_000, False, None, edits.sha256_of(body), *[None] * 2)  # type: ignore[arg-type]
    return timed(lambda _: [assess(each, now) for each in revisions], range(6), warm_up=1)


def main() -> None:
    """Print a table of all kinds of cases."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    kinds: dict[str, Iterator[MergeCase]] = {"made up": _made_up(random.Random(1))}
    kinds |= {kind: _of_kind(kind, random.Random(f"1 {kind}")) for kind in merge_cases.KINDS}
    kinds["history"] = _history(random.Random(1))
    columns = f"{'clean   right   wrong':>26}" * 2
    print(f"{'':20}{'Assent':>24}{'git':>26}\n{'':20}{columns}   of {count}")
    for kind, cases in kinds.items():
        chosen = list(islice(cases, count))
        counts = [_judged(chosen, merged) for merged in (_ours, _git)]
        numbers = "  ".join("".join(f"{each[what]:8}" for what in ("clean", "right", "wrong")) for each in counts)
        print(f"{kind:20}{numbers}", flush=True)


def _of_kind(kind: str, chance: random.Random) -> Iterator[MergeCase]:
    pool = _sentences()
    while True:
        yield merge_cases.cases(kind, pool, chance)


def _judged(cases: Sequence[MergeCase], merged: Callable[[MergeCase], str | None]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in cases:
        found = merged(case)
        counts["clean"] += found is not None
        counts["right" if found == case.expected else "wrong" if found is not None else "needless"] += 1
    return counts


def _ours(case: MergeCase) -> str | None:
    found = merge(*case[:3])
    return found if isinstance(found, str) else None


def _git(case: MergeCase) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in zip(("base", "ours", "theirs"), case[:3], strict=True):
            Path(folder, name).write_bytes(text.encode())
        call = ["git", "merge-file", "-p", "ours", "base", "theirs"]
        done = subprocess.run(call, cwd=folder, capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


# -- made-up cases ----------------------------------------------------------------------------------


def _sentences() -> list[str]:
    """Return the sentences of the documents that stand in plain paragraphs."""
    found = set()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for paragraph in re.split(r"\n\s*\n", path.read_text()):
            if paragraph[:1].isalpha():
                found |= {each for each in _SENTENCE.split(" ".join(paragraph.split())) if each[-1] in ".!?"}
    return sorted(each for each in found if 40 < len(each) < 220)


def _edited(chance: random.Random, sentence: str) -> str:
    """Return the sentence with another word somewhere."""
    words = sentence.split(" ")
    at = chance.randrange(1, len(words) - 1)
    words[at] = "".join(chance.choices("abcdefghijklmnop", k=6)) + words[at][-1:].strip("abcdefghijklmnopqrstuvwxyz")
    return " ".join(words)


def _laid_out(sentences: Sequence[str]) -> str:
    return "\n\n".join(" ".join(sentences[at : at + 4]) for at in range(0, len(sentences), 4)) + "\n"


def _listed(sentences: Sequence[str]) -> str:
    return "# List\n\n" + "".join(f"- {each}\n" for each in sentences)


def _tabled(sentences: Sequence[str]) -> str:
    rows = (f"| {number} | {each.replace('|', '/')} |\n" for number, each in enumerate(sentences))
    return "| # | what |\n|---|---|\n" + "".join(rows)


def _small_edits(chance: random.Random, sentences: Sequence[str], *, count: int) -> MergeCase:
    layout = chance.choice((_laid_out, _laid_out, _listed, _tabled))
    places = chance.sample(range(len(sentences)), 2 * count)
    changed = {place: _edited(chance, sentences[place]) for place in places}

    def text(chosen: Sequence[int]) -> str:
        return layout([changed[at] if at in chosen else each for at, each in enumerate(sentences)])

    return MergeCase(text(()), text(places[:count]), text(places[count:]), text(places))


def _put_in(chance: random.Random, sentences: Sequence[str], pool: Sequence[str]) -> MergeCase:
    """One puts a sentence in or takes one out, the other edits another one."""
    layout = chance.choice((lambda each: " ".join(each) + "\n", _listed))
    first, second = chance.sample(range(len(sentences)), 2)
    text, edited = chance.choice(pool), _edited(chance, sentences[second])
    new = [] if chance.random() < 0.4 else [sentences[first], text]
    versions = []
    for ours, theirs in ((0, 0), (1, 0), (0, 1), (1, 1)):
        made: list[str] = []
        for at, each in enumerate(sentences):
            made += new if ours and at == first else [edited] if theirs and at == second else [each]
        versions.append(layout(made))
    return MergeCase(*versions)


def _contradiction(chance: random.Random, sentences: Sequence[str], pool: Sequence[str]) -> MergeCase:
    """Both do something to one sentence that cannot be had together."""
    layout = chance.choice((_laid_out, _listed))
    at = chance.randrange(len(sentences))
    before, others = list(sentences[:at]), list(sentences[at + 1 :])
    edited = [_edited(chance, sentences[at])]
    one, other = chance.choice(
        (
            ([], edited),
            ([chance.choice(pool)], edited),
            ([sentences[at], chance.choice(pool)], [sentences[at], chance.choice(pool)]),
        )
    )
    if chance.random() < 0.5:
        one, other = other, one
    ours, theirs = (layout([*before, *middle, *others]) for middle in (one, other))
    return MergeCase(layout(sentences), ours, theirs, None if ours != theirs else ours)


def _made_up(chance: random.Random) -> Iterator[MergeCase]:
    pool = _sentences()
    while True:
        sentences = chance.sample(pool, chance.randint(4, 16))
        others = [each for each in pool if each not in sentences]
        kind = chance.random()
        if kind < 0.5:
            case = _small_edits(chance, sentences, count=chance.randint(1, 2))
        elif kind < 0.7:
            case = _put_in(chance, sentences, others)
        elif kind < 0.8:
            alike = _small_edits(chance, sentences, count=1)
            case = MergeCase(alike.base, alike.expected or "", alike.ours, alike.expected)
        else:
            case = _contradiction(chance, sentences, others)
        yield case


# -- cases of the history ---------------------------------------------------------------------------


def _history(chance: random.Random) -> Iterator[MergeCase]:
    files = sorted(set(_output("log", "--name-only", "--format=", "--", "*.md").split("\n")) - {""})
    commits = {name: _output("log", "--format=%h", "--", name).split() for name in files}
    files = [name for name in files if len(commits[name]) > 2]
    while files:
        name = chance.choice(files)
        later = chance.randrange(len(commits[name]) - 1)
        earlier = min(len(commits[name]) - 1, later + chance.choice([1, 2, 3, 5]))
        base, expected = (_output("show", f"{commits[name][at]}:{name}") for at in (earlier, later))
        old, new = tokens(base), tokens(expected)
        places = differences(old, new)
        is_ours = [chance.random() < 0.5]
        for _ in places[1:]:  # neighbouring changes often belong together
            is_ours.append(is_ours[-1] != (chance.random() < _RUN))
        if len(set(is_ours)) < 2 or len(places) < 2:
            continue
        sides = []
        for side in (True, False):
            made: list[str] = []
            at = 0
            for place, mine in zip(places, is_ours, strict=True):
                changed = new[place.new_start : place.new_end] if mine == side else old[place.start : place.end]
                made += (*old[at : place.start], *changed)
                at = place.end
            sides.append("".join((*made, *old[at:])))
        yield MergeCase(base, sides[0], sides[1], expected)


def _output(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False).stdout.decode()


if __name__ == "__main__":
    main()
