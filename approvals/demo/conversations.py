"""Keeps the conversations the story's evidence comes from, as the agent hands them in."""

from __future__ import annotations

from datetime import datetime, timedelta

from approvals.demo import people
from approvals.demo.steps import AboutNote, Proposed, Step
from memory_app import conversations


def keep_conversation(step: Step, at: datetime) -> None:
    """The turns of a step that names its session; kept once, however often it is asked."""
    if not isinstance(step, Proposed | AboutNote) or not step.session_id:
        return
    names = {person.username: person.first_name for person in people.PEOPLE}
    turns = [
        conversations.Turn(
            role=turn.role,
            content=turn.content,
            id=f"{step.name}-{number}",
            author=names[step.owner] if turn.role == "user" else people.AGENT,
            at=at - timedelta(minutes=turn.before),
        )
        for number, turn in enumerate(step.evidence, 1)
    ]
    conversations.keep(step.owner, step.session_id, turns, agent=people.AGENT)
