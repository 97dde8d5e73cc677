"""Word-level differences of two texts of 10,000 words; pure computing, the same on every engine."""

import random
import re

from approvals.demo import story
from benchmarks.measure import Result, result, timed
from memory_app.text import worddiff

TARGET = 100.0
WORDS = 10_000
ROUNDS = 12


def measure() -> list[Result]:
    before = long_text()
    return [
        _case("diff, 10,000 words, 200 small edits", before, edited(before), target=TARGET),
        _case("diff, 10,000 words, sections moved", before, _moved(before), target=TARGET),
        _case("diff, 10,000 words, 200 paragraphs moved", before, moved(before), target=TARGET),
        _case("diff, 10,000 words, nothing in common", before, _reworded(before), target=TARGET),
    ]


def _case(case: str, before: str, after: str, *, target: float) -> Result:
    times = timed(lambda _: worddiff.diff(before, after), range(ROUNDS + 2), warm_up=2)
    return result(case, times, target=target)


def long_text() -> str:
    """The demo's study log, journal and vocabulary, over and over, with their numbers made different."""
    sources = [("alice", "study_log"), ("alice", "lerntagebuch"), ("ben", "study_log"), ("alice", "vocabulary")]
    bodies = [story.block_fields(owner, label).body for owner, label in sources]
    words: list[str] = []
    turn = 0
    while len(words) < WORDS:
        turn += 1
        for body in bodies:
            words += re.sub(r"\d+", lambda match: str(int(match[0]) + turn), body).split(" ")  # noqa: B023
    return " ".join(words[:WORDS])


def edited(text: str, places: int = 200) -> str:
    chance = random.Random(1)
    words = text.split(" ")
    for at in chance.sample(range(len(words)), places):
        words[at] = chance.choice(["", "perhaps", f"{words[at]} again", words[at].upper()])
    return " ".join(words)


def moved(text: str, places: int = 200) -> str:
    """Put lines elsewhere, one after the other."""
    chance = random.Random(4)
    lines = text.split("\n")
    for _ in range(places):
        lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
    return "\n".join(lines)


def _moved(text: str) -> str:
    chance = random.Random(2)
    sections = text.split("\n\n## ")
    for _ in range(6):
        sections.insert(chance.randrange(len(sections)), sections.pop(chance.randrange(len(sections))))
    return "\n\n## ".join(sections)


def _reworded(text: str) -> str:
    chance = random.Random(3)
    return " ".join("".join(chance.sample(word, len(word))) + "x" for word in text.split(" "))
