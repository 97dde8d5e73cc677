"""What an agent is told of the talk about its proposals, and why a change of its waits."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from agent_tools.answers.representations import time
from approvals.models import Event, Proposal, ReviewReason
from approvals.pages.talk import threads


def comments(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the thread of a proposal, newest first."""
    return [comment(event) for event in reversed(threads.thread_of(proposal))]


def comment(event: Event) -> dict[str, Any]:
    """Return a comment on a proposal."""
    return {
        "by": event.actor,
        "by_kind": event.actor_kind,
        "text": event.text,
        "change": event.data.get("change"),
        "revision": event.revision,
        "at": time(event.at),
    }


def unanswered(comments: list[dict[str, Any]]) -> str:
    """Return what people wrote since the agent last did, as lines of text; empty when nobody did.

    Args:
        comments: those of `comment`, newest first.
    """
    since = list(takewhile(lambda each: each["by_kind"] != Event.ActorKind.AGENT, comments))
    if not since:
        return ""
    lines = [f"{each['by']} commented: {each['text']}" for each in reversed(since)]
    return "\n".join(["", *lines, "Answer with comment_on_proposal."])


#: Why a change waits although others like it do not, for the agent.
_WHY_IT_WAITS = {
    ReviewReason.SECRETS: (
        "It reads like a key, token, password or card number, so a person has to see it first. "
        "That counts for reasoning and evidence too. Do not keep secrets in the memory: say where they are kept "
        "instead."
    ),
    ReviewReason.LARGE: "A rule of the user applies small changes at once; this one is larger, so it waits.",
    ReviewReason.REPEATED: "A person rejected or undid the same before, so a person decides about it again.",
    ReviewReason.RULE: "A rule of the user asks for a person here.",
}


def why_it_waits(proposal: Proposal | None) -> str:
    """Return a line for an agent whose change waits although a policy or a rule may apply others; empty for others."""
    if proposal is None or proposal.is_decided or not proposal.review_reason:
        return ""
    told = _WHY_IT_WAITS.get(ReviewReason(proposal.review_reason))
    return f"\n{told}" if told else ""
