"""The answer to a call that took longer than its tool may: 504, and what to do now."""

from __future__ import annotations

from typing import Any

from agent_tools.calls.api_operation import ApiOperation, Effect
from agent_tools.errors import ApiError, ErrorCode

#: Seconds after which to try again: what delayed the call seldom ends at once.
_RETRY_AFTER = 5


def timed_out(tool: ApiOperation[Any], key: str | None) -> ApiError:
    """Return the refusal.

    Args:
        key: the call's idempotency key, if it has one.
    """
    seconds = f"{tool.time_limit:g} second{'' if tool.time_limit == 1 else 's'}"
    if tool.effect is Effect.READ_ONLY:
        message = f"it took longer than {seconds} and was stopped. Try again, or ask for less at once."
        help, more = [], {}
    else:
        message = f"it took longer than {seconds} and was stopped; it may have happened all the same."
        if key is not None:
            help = [
                f"Call again with the same arguments and the same idempotency key ({key}): what was begun is "
                "finished and answered, and nothing happens twice."
            ]
        elif not tool.if_timed_out:
            help = [
                "Look first (list_proposals; for notes also recall) and call again only if it is not there; what "
                "was begun may still be finished within a minute. With an idempotency_key you could simply repeat "
                "the call."
            ]
        else:
            help = []
        if tool.if_timed_out:
            help.append(tool.if_timed_out)
        more = {"may_have_happened": True, "idempotency_key": key}
    return ApiError(
        ErrorCode.TIMEOUT,
        message[0].upper() + message[1:],
        text=f"{tool.failing}: {message}",
        help=help,
        details={"timeout": tool.time_limit, "retry_after": _RETRY_AFTER} | more,
        retry_after=_RETRY_AFTER,
    )
