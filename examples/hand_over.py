"""Hand over from one session to the next: what was said, a summary, and what people decided since."""

from __future__ import annotations

from pathlib import Path

from assent_client import Assent

CURSOR = Path("decisions.cursor")


def end(memory: Assent, session: str, messages: list[dict[str, str]], summary: str) -> str:
    """Keep what was said, and the hand-over; return what the model is told."""
    memory.conversations.keep(session, messages=messages)
    return memory.notes.save(summary, tags=["hand-over"], session_id=session).text


def begin(memory: Assent, cursor: Path = CURSOR) -> str:
    """Return the system prompt of the next session."""
    feed = memory.proposals.decisions(since=cursor.read_text() if cursor.exists() else "now")
    decided = [f"- {decision.text}" for decision in feed]
    cursor.write_text(feed.cursor or "")
    handed_over = memory.notes.prime(tags=["hand-over"], recent=7, budget=1_000).text
    news = ["## Decided since the last session", *decided] if decided else []
    return "\n\n".join([memory.context.get().text, handed_over, "\n".join(news)]).strip()


if __name__ == "__main__":
    said = [{"role": "user", "content": "Ratios tomorrow, please."}]
    with Assent() as memory:
        print(end(memory, "monday", said, "Fractions are done. She asked for ratios next."))
        print(begin(memory))
