"""Running a tool: scope, owner, arguments, idempotency, the tool, in this order and within its time; and the audit.

REST endpoints and the tool endpoint all come through here, so that a rule holds everywhere or nowhere. The audit is a
row and a log line for each call: who, what about whom, how it ended, how long it took; no texts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from agent_tools import auth
from agent_tools.auth import Caller
from agent_tools.calls import idempotency, registry
from agent_tools.calls.arguments import Arguments, invalid, parse
from agent_tools.calls.idempotency import Finish, StoredAnswer
from agent_tools.calls.registry import Answer, ApiOperation, Call, Effect
from agent_tools.errors import ApiError, ErrorCode, error_because
from agent_tools.models import AgentToken, ToolCall
from approvals import services
from assent_client.text import invisible
from memory_app.databases.prepared import insert_all
from memory_app.reads import EngineUnavailable, OutcomeUnknown
from memory_app.runtime import deadlines
from memory_app.runtime.background import Gatherer

log = structlog.get_logger(__name__)

#: Seconds a row may wait for a busy database.
_SECONDS = 20.0


@dataclass
class Audit:
    """Filled while a call is answered, written when it is."""

    tool: str = ""
    owner: str = ""
    target: str = ""
    session_id: str = ""
    request_bytes: int = 0
    began: float = field(default_factory=time.perf_counter)

    def write(self, token: AgentToken, *, outcome: str, status: int, response_bytes: int) -> None:
        """Write the row and the log line.

        A call over the rate limit is logged only: a row for each would let a loop that ignores 429 fill the database.
        The row is written a moment after the answer, together with those of other calls; a process that is killed
        before that leaves only the log line. A row that cannot be written is logged.
        """
        duration_ms = round((time.perf_counter() - self.began) * 1000, 2)
        ended: dict[str, Any] = {"outcome": outcome, "status": status, "duration_ms": duration_ms}
        log.info(
            "tool_call",
            agent=token.agent.name,
            token=token.prefix,
            user_id=self.owner,
            tool=self.tool,
            target=self.target,
            **ended,
        )
        if outcome == "rate_limited":
            return
        _rows.add(
            ToolCall(
                token_id=token.pk,
                agent_id=token.agent_id,
                owner=self.owner,
                tool=self.tool[:64],
                target=self.target[:64],
                session_id=self.session_id,
                **ended,
                request_bytes=self.request_bytes,
                response_bytes=response_bytes,
                request_id=current_request_id(),
            )
        )


def current_request_id() -> str:
    """Return the id of the request being answered, or an empty text outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def settle() -> None:
    """Wait until the rows of the calls that this process has answered are written."""
    _rows.settle()


def _insert(rows: list[ToolCall]) -> None:
    with deadlines.briefly(_SECONDS, "tool_calls_not_recorded", count=len(rows)), transaction.atomic():
        insert_all(rows)


_rows = Gatherer("tool calls", _insert)


def purge() -> int:
    """Delete rows older than `settings.TOOL_CALL_DAYS` (0 keeps all); return how many there were."""
    if not settings.TOOL_CALL_DAYS:
        return 0
    old = timezone.now() - timedelta(days=settings.TOOL_CALL_DAYS)
    return ToolCall.objects.filter(at__lt=old).delete()[0]


# Monitoring events of an installation: sent after an agent remembered, recalled or forgot something.
remembered = Signal()
recalled = Signal()
forgotten = Signal()

_NAMES = {id(remembered): "memory_remembered", id(recalled): "memory_recalled", id(forgotten): "memory_forgotten"}


def tell(signal: Signal, call: Call, *, began: float, session_id: str, type: str, **more: Any) -> None:
    """Log and send what happened.

    Args:
        began: `time.perf_counter()` when the call came.
    """
    about = {
        "owner": call.owner,
        "agent": call.caller.agent.name,
        "session_id": session_id,
        "type": type,
        "duration": round((time.perf_counter() - began) * 1000, 2),
        **more,
    }
    log.info(_NAMES[id(signal)], **{"user_id" if name == "owner" else name: value for name, value in about.items()})
    for receiver, outcome in signal.send_robust(sender=tell, **about):
        if isinstance(outcome, Exception):
            log.error("signal_receiver_failed", receiver=repr(receiver), exc_info=outcome)


#: What adds to the answers of all tools: asked after each success, it returns a function that does, or None.
#: `decisions.telling` is one; a refusal is there to repair the call, and nothing is added to it.
additions: list[Callable[[ApiOperation[Any], Call, Answer], Finish | None]] = []

#: Where a request says what no model can.
KEY_HEADER, SESSION_HEADER = "Idempotency-Key", "X-Session-ID"

#: Seconds after which to try again: what delayed the call seldom ends at once.
_RETRY_AFTER = 5
#: Seconds for what comes after a call: the idempotency row and the audit.
_AFTERWARDS = 25


def in_session(tool: ApiOperation[Any], given: dict[str, Any], session: str | None) -> dict[str, Any]:
    """Return the arguments with the conversation that the request names beside them, where they name none."""
    is_to_read = tool.arguments.model_fields["session_id"].is_required()
    return {"session_id": session} | given if session and not is_to_read else given


def execute(
    tool: ApiOperation[Any], caller: Caller, given: dict[str, Any], *, key: str | None, audit: Audit
) -> StoredAnswer:
    """Run `tool` for `caller`.

    Args:
        given: the arguments as they came, with `user_id` among them.
        key: the header Idempotency-Key, if there was one; only calls that change something use it.

    Raises:
        ApiError: any refusal; `timeout` once the tool's time is up.
    """
    deadlines.allow(tool.time_limit + _AFTERWARDS)
    with deadlines.within(tool.time_limit) as deadline:
        try:
            return _execute(tool, caller, given, key=key, audit=audit)
        except (DatabaseError, EngineUnavailable, OutcomeUnknown) as error:
            if not deadline.has_passed:
                raise
            log.warning("tool_timed_out", tool=tool.name, seconds=tool.time_limit, error=type(error).__name__)
            # A call that got far enough to be stopped has a valid key, or none.
            raise _timed_out(tool, key or given.get("idempotency_key")) from error


def _execute(
    tool: ApiOperation[Any], caller: Caller, given: dict[str, Any], *, key: str | None, audit: Audit
) -> StoredAnswer:
    registry.require_on(tool)
    auth.require_scope(caller.token, *tool.scopes)
    given = dict(given)
    user_id = given.pop("user_id", None)
    owner = "" if user_id is None and tool.owner_optional else auth.owner_for(caller.token, user_id)
    audit.owner = owner
    arguments = parse(tool.arguments, given, called=tool.called)
    audit.session_id = arguments.session_id
    audit.target = str(getattr(arguments, tool.target)) if tool.target else ""

    if tool.effect is Effect.READ_ONLY:
        services.recover_on_read()

    done: list[tuple[Call, Answer]] = []

    def run(operation: str | None) -> dict[str, Any]:
        call = Call(caller=caller, owner=owner, name=tool.name, called=tool.called, operation=operation)
        answer: Answer = tool.run(call, arguments)
        if not tool.is_exact:
            answer = replace(answer, text=invisible.escaped(answer.text))
        audit.owner = audit.owner or str(answer.data.get("user_id", ""))
        done.append((call, answer))
        return answer.payload()

    def finish() -> Finish | None:
        return _finish_of(tool, *done[-1])

    key = _key(tool, arguments, key)
    if key is None:
        payload = run(None)
        completed = finish()
        return StoredAnswer(200, completed(payload) if completed else payload, retry_after=done[-1][1].retry_after)
    asked = arguments.model_dump(exclude={"idempotency_key"})
    fingerprint = idempotency.fingerprint(tool.name, owner, asked)
    seconds = tool.time_limit + deadlines.GRACE
    kept = idempotency.once(caller.token, key, fingerprint, run, seconds=seconds, finish=finish)
    if kept.replayed and not owner and (about := _owner_in(kept.payload)):
        auth.owner_for(caller.token, about)  # whom the token served then, it may serve no more
    return kept


def _finish_of(tool: ApiOperation[Any], call: Call, answer: Answer) -> Finish | None:
    """Return what completes the answer, if anything does. A success stays one where that cannot be asked."""
    try:
        return next((finish for add in additions if (finish := add(tool, call, answer))), None)
    except DatabaseError as error:
        log.warning("nothing_added", tool=tool.name, error=type(error).__name__)
        return None


def _owner_in(payload: dict[str, Any]) -> str | None:
    """Return whose memory a kept answer is about, where the call did not say."""
    about = payload["data"] if payload["ok"] else payload["error"]["details"].get("proposal", {})
    user_id: str | None = about.get("user_id")
    return user_id


def _key(tool: ApiOperation[Any], arguments: Arguments, header: str | None) -> str | None:
    """Return the idempotency key, from the header or the argument of that name."""
    if tool.effect is Effect.READ_ONLY:
        return None
    given: str | None = getattr(arguments, "idempotency_key", None)
    if header is None:
        return given
    if given is not None and given != header:
        reason = "differs from the header Idempotency-Key"
        raise invalid({"idempotency_key": reason}, called=tool.called)
    if not 1 <= len(header) <= 200 or not header.isprintable():
        raise invalid({"Idempotency-Key": "must be 1 to 200 printable characters"}, called=tool.called)
    return header


def _timed_out(tool: ApiOperation[Any], key: str | None) -> ApiError:
    """Return the answer to a call that took longer than its tool may: what to do now.

    Args:
        key: the call's idempotency key, if it has one.
    """
    seconds = f"{tool.time_limit:g} second{'' if tool.time_limit == 1 else 's'}"
    help: list[str] = []
    more: dict[str, Any] = {}
    if tool.effect is Effect.READ_ONLY:
        message = f"it took longer than {seconds} and was stopped. Try again, or ask for less at once."
    else:
        message = f"it took longer than {seconds} and was stopped; it may have happened all the same."
        more = {"may_have_happened": True, "idempotency_key": key}
        if key is not None:
            help.append(
                f"Call again with the same arguments and the same idempotency key ({key}): what was begun is "
                "finished and answered, and nothing happens twice."
            )
        elif not tool.if_timed_out:
            where = "; ".join(filter(None, map(registry.for_list, ("list_proposals", "for notes also memory_search"))))
            help.append(
                f"Look first ({where or 'read what is there'}) and call again only if it is not there; "
                "what was begun may still be finished within a minute."
            )
        if tool.if_timed_out:
            help.append(tool.if_timed_out)
    details = {"timeout": tool.time_limit} | more
    return error_because(ErrorCode.TIMEOUT, tool.failing, message, help=help, details=details, retry_after=_RETRY_AFTER)
