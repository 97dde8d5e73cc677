"""Hear what people decided: one proposal until it is decided, and everything since a cursor."""

from __future__ import annotations

from assent_client import Assent, DecisionPending


def follow(memory: Assent, proposal: int, seconds: float) -> str:
    """Return what became of one proposal."""
    try:
        decided = memory.proposals.wait(proposal, timeout=seconds)
    except DecisionPending:
        return "Nobody has decided yet."
    return f"{decided.status}: {(decided.decision or {}).get('comment', '')}"


def news(memory: Assent, since: str) -> tuple[list[str], str]:
    """Return a line for each decision since a cursor, and the cursor to store."""
    feed = memory.proposals.decisions(since=since)
    return [decision.text for decision in feed], feed.cursor or since
