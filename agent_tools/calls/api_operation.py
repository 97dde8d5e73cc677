"""What a machine may ask for, who asks, and what is answered: the plain values of a call.

Not here: which operations there are (`registry`), and running one (`execution`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django.conf import settings

from agent_tools.auth import grants
from agent_tools.auth.authentication import Caller
from agent_tools.calls.arguments import Arguments, WriteArguments, json_schema
from agent_tools.models import Scope

A = TypeVar("A", bound=Arguments)

_AFTER_A_SENTENCE = re.compile(r"(?<=\.)\s")


class Effect(StrEnum):
    READ_ONLY = "read_only"
    SIDE_EFFECTING = "side_effecting"


@dataclass(frozen=True)
class Call:
    """Who calls what, about whom.

    Args:
        owner: username, granted to the token; "" where a tool works on all owners the token serves.
        name: of the tool or endpoint.
        called: what a refusal calls it.
        operation: 32 hexadecimal digits that stay the same when the call is repeated with its
            idempotency key; None for a call without one.
    """

    caller: Caller
    owner: str
    name: str
    called: str
    operation: str | None = None

    @property
    def may_apply(self) -> bool:
        """Whether policy and rules may let the caller's changes through; else a person decides about each."""
        return grants.has_scope(self.caller.token, Scope.NOTES_WRITE)

    @property
    def may_read_deleted(self) -> bool:
        """Whether the token may read what people deleted since."""
        return grants.has_scope(self.caller.token, Scope.MEMORY_HISTORY)


@dataclass(frozen=True)
class Answer:
    """A text for the model, and the same as data.

    Args:
        retry_after: seconds after which to ask again, where the call was to wait and could not.
        tells_decisions: it is about what people decided, so that nothing is added about that.
    """

    text: str
    data: dict[str, Any]
    retry_after: int | None = None
    tells_decisions: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the body of a success, as every endpoint sends it."""
        return {"ok": True, "text": self.text, "data": self.data}


@dataclass(frozen=True, kw_only=True)
class ApiOperation(Generic[A]):
    """A function with what has to be known to run it for a caller.

    Args:
        timeout: seconds after which a call is answered with 504 (see `time_limit`).
        returns: the fields of `data` and what they mean.
        failing: begins the text when *we* fail: `Error reading memory block`.
        arguments: whether they are `WriteArguments` decides the effect, so that whatever writes is idempotent.
        or_scope: a scope that does instead of `scope`, with what comes of it waiting for a person.
        owner_optional: works without `user_id` also for a token that serves several owners.
        target: name of the argument that names what the call is about, for the audit row.
        if_timed_out: what to do when the time was up, where that is more than with other tools.
        called: what a refusal calls it: `the list of notes`.
        is_repeatable: it writes, and the same call again changes nothing more.
        text_is_complete: nothing is added to the text of its answers: it is a file, or goes into a prompt as it is.
    """

    run: Callable[[Call, A], Answer]
    description: str
    arguments: type[A]
    scope: Scope
    called: str
    failing: str
    returns: dict[str, str]
    timeout: int = 10
    or_scope: Scope | None = None
    owner_optional: bool = False
    target: str = ""
    if_timed_out: str = ""
    is_repeatable: bool = False
    text_is_complete: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def effect(self) -> Effect:
        return Effect.SIDE_EFFECTING if issubclass(self.arguments, WriteArguments) else Effect.READ_ONLY

    @property
    def first_sentence(self) -> str:
        """Return the first sentence of the description, which says what it does."""
        return _AFTER_A_SENTENCE.split(self.description, maxsplit=1)[0]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Return the scopes of which a token needs one."""
        return (self.scope, self.or_scope) if self.or_scope else (self.scope,)

    @property
    def time_limit(self) -> float:
        """Return `timeout`, or what this installation allows any tool, if that is less."""
        return min(self.timeout, settings.TOOL_TIMEOUT or self.timeout)

    @property
    def schema(self) -> dict[str, Any]:
        return json_schema(self.arguments)
