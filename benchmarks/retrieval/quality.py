"""Recall on LoCoMo's development conversations (Maharana et al. 2024), when they lie beside the project.

The data is CC BY-NC 4.0: read from `../shared/data/locomo_dev.json`, never copied into the project. Each conversation
is an owner; its turns are indexed as messages (author, time, session), its observations as notes, and every question
with evidence is asked of each.

Two ways to count, since figures of both kinds are quoted. *any*: a question is found at k when one of its evidence
turns (or an observation made from one) is among the first k. *share*: the part of its evidence turns that the first k
cover; questions of several hops count in parts. MRR is over the first hit.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_app.search.ranking.chunking import (
    TextChunk,
    chunks_of_message,
    chunks_of_note,
    row_of,
)
from memory_app.search.ranking.dense import stored, wordllama
from memory_app.search.ranking.index import OwnerIndex

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "locomo_dev.json"

#: R@5, R@10 and MRR that the ranking has to reach.
GOALS = {"turns": "goal: R@5 .70  R@10 .79  MRR .58", "observations": "goal: R@5 .58  R@10 .64  MRR .545"}

_DEPTH = 100


@dataclass(frozen=True)
class Figures:
    """Means over questions; `any` and `share` at 1, 5 and 10."""

    any: tuple[float, float, float]
    share: tuple[float, float, float]
    mrr: float
    questions: int


def report(only: str | None = None) -> str:
    """The table, or a line that says what is missing."""
    if not DATA.is_file():
        return f"recall was not measured: {DATA.name} is not there"
    conversations = json.loads(DATA.read_text("utf-8"))["conversations"]
    if only is not None:
        conversations = [each for each in conversations if str(each["id"]) == only]
    lines = [
        f"LoCoMo, {len(conversations)} conversations, {wordllama().name}",
        f"{'':24} {'any @1':>7} {'@5':>6} {'@10':>6} {'share @1':>9} {'@5':>6} {'@10':>6} {'MRR':>6}  questions",
    ]
    units: list[tuple[str, Callable[[Any], list[tuple[TextChunk, set[str]]]]]] = [
        ("turns", turns),
        ("observations", observations),
        ("observations, undated", lambda each: observations(each, dated=False)),
    ]
    for name, unit in units:
        figures = measured(conversations, unit)
        cells = [f"{value:.3f}".lstrip("0") for value in (*figures.any, *figures.share, figures.mrr)]
        widths = (7, 6, 6, 9, 6, 6, 6)
        columns = " ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{name:24} {columns}  {figures.questions:9}  {GOALS.get(name, '')}".rstrip())
    return "\n".join([*lines, ""])


def measured(conversations: Iterable[Any], unit: Callable[[Any], list[tuple[TextChunk, set[str]]]]) -> Figures:
    """Ask every question of its own conversation."""
    rows: list[list[float]] = []
    for conversation in conversations:
        pairs = unit(conversation)
        chunks, covered = [chunk for chunk, _ in pairs], [turns for _, turns in pairs]
        embedder = wordllama()
        vectors = embedder.embed([chunk.meaning for chunk in chunks])
        index = OwnerIndex([row_of(i, chunk, stored(vectors[i])) for i, chunk in enumerate(chunks)], embedder)
        for question in conversation["questions"]:
            if evidence := set(question["evidence"]):
                hits = index.search(question["question"], top_k=_DEPTH).hits
                rows.append(_judged([covered[hit.chunk_id] for hit in hits], evidence))
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return Figures(
        any=(means[0], means[1], means[2]), share=(means[3], means[4], means[5]), mrr=means[6], questions=len(rows)
    )


def _judged(found: list[set[str]], evidence: set[str]) -> list[float]:
    """One question: any and share at 1, 5, 10, and the reciprocal rank of the first hit."""
    first = next((rank for rank, turns in enumerate(found, 1) if turns & evidence), None)
    shares = [len(set().union(*found[:k]) & evidence) / len(evidence) for k in (1, 5, 10)]
    return [*(float(first is not None and first <= k) for k in (1, 5, 10)), *shares, 1 / first if first else 0.0]


def turns(conversation: Any) -> list[tuple[TextChunk, set[str]]]:
    """The turns as messages, each with its own id as what it covers."""
    chunks = [
        chunk
        for session in conversation["sessions"]
        for sequence, turn in enumerate(session["turns"])
        for chunk in chunks_of_message(
            f"session-{session['session']}",
            turn["id"],
            turn["text"],
            sequence=sequence,
            author=turn["speaker"],
            at=_time(session),
        )
    ]
    return [(chunk, {chunk.item_id}) for chunk in chunks]


def observations(conversation: Any, *, dated: bool = True) -> list[tuple[TextChunk, set[str]]]:
    """The observations as notes, saved at the time of their session (or at no time), with the turns behind each."""
    times = {session["session"]: _time(session) for session in conversation["sessions"]}
    return [
        (chunk, set(each["turns"]))
        for number, each in enumerate(conversation["observations"])
        for chunk in chunks_of_note(
            note_id=f"note-{number}", content=each["text"], at=times[each["session"]] if dated else None
        )
    ]


def _time(session: Any) -> datetime:
    return datetime.strptime(session["date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
