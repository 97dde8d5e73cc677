"""A call that waits for a decision: how long it may, and what it holds while it does.

It holds a thread of the web server and nothing else: its database connections are closed. What is decided in this
process wakes it (`memory_app.runtime.waits`); what other processes decide it sees within a second. A call that finds no
place is answered at once, with the seconds after which to ask again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import connections

from agent_tools.auth import grants, tokens
from agent_tools.calls.api_operation import Call
from agent_tools.errors import invalid_token
from agent_tools.models import Scope
from approvals.services.events import told_to
from memory_app.runtime import deadlines, waits

#: Seconds a call may ask to wait: by address, and through a tool, whose callers give up after ten.
LONGEST = 20
LONGEST_OF_TOOL = 8
#: Seconds after which to ask again where there was no place, and where the process was to end.
_RETRY_AFTER = 5
_RETRY_AFTER_RESTART = 1
#: Seconds between two looks for what other processes decided.
_LOOK = 1.0


@dataclass(frozen=True)
class Waited:
    """A call after it waited.

    Args:
        call: with its token as it is now.
        retry_after: seconds after which to ask again, where it could not wait as long as it was to.
    """

    call: Call
    retry_after: int | None = None


def until(is_over: Callable[[Call], bool], call: Call, seconds: int, *, work: float) -> Waited:
    """Wait until it is over or the time is up; look before each wait.

    Args:
        is_over: asks the databases, in one or two queries, with the token as it is then.
        seconds: 0 looks for nothing and waits for nothing.
        work: seconds that the call may take beside waiting.

    Raises:
        ApiError: `invalid_token` or `missing_scope` when the token may no longer be used.
    """
    if not seconds or is_over(call):
        return Waited(call)
    deadlines.allow(seconds + work)
    end = time.monotonic() + seconds
    token = call.caller.token
    with waits.place(token.original_id, told_to(token.agent_id), most=settings.MOST_WAITING) as place:
        if place is None:
            return Waited(call, _RETRY_AFTER_RESTART if waits.is_closed() else _RETRY_AFTER)
        while True:
            seen = place.news
            call = _as_now(call)
            left = end - time.monotonic()
            if is_over(call) or left <= 0 or call.caller.is_gone():
                return Waited(call)
            if waits.is_closed():
                return Waited(call, _RETRY_AFTER_RESTART)
            connections.close_all()
            place.wait(seen, min(left, _LOOK), is_gone=call.caller.is_gone)


def _as_now(call: Call) -> Call:
    """Return the call with its token as it is now: it may have been revoked while the call waited."""
    token = tokens.find_again(call.caller.token)
    if token is None:
        raise invalid_token()
    grants.require_scope(token, Scope.MEMORY_READ)
    return replace(call, caller=replace(call.caller, token=token))
