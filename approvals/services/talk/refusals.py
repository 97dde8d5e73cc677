"""Refusals of comments, assigning and snoozing. The message of each is a sentence for people."""

from __future__ import annotations

from approvals.services.errors import DecisionRefused, Refused


class CommentInvalid(Refused):
    """A comment is empty or too long."""

    code = "comment_invalid"


class TalkClosed(DecisionRefused):
    """The thread of a proposal takes no more comments."""

    code = "talk_closed"


class NotAssignable(DecisionRefused):
    """This person may not decide about this memory, so the proposal cannot be theirs."""

    code = "not_assignable"


class SnoozeInvalid(DecisionRefused):
    """A time until which a proposal cannot be put off."""

    code = "snooze_invalid"
