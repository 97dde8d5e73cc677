"""One call, from its arguments to its answer, without input or output.

A call is a generator that yields what has to be done next, a `Request` to send or a `Sleep`, and gets each response.
So the synchronous and the asynchronous client differ in nothing but how they send and sleep (`client`), and tests drive
the same generators by hand. Not here: which calls there are (`_generated`, `resources`).
"""

from __future__ import annotations

import email.utils
import json
import random
import time
import uuid
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, urlencode

import httpx2

from assent_client import errors
from assent_client.answers import Answer, RawResponse

A = TypeVar("A", bound=Answer)
S = TypeVar("S")
T = TypeVar("T")

#: Statuses after which the same call may well succeed.
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
#: The one 409 that is over by itself: the first call with this key is still running.
RUNNING = "idempotency_in_progress"
#: The longest `Retry-After` that is waited for. Asked for more, a caller is told instead.
LONGEST_WAIT = 60.0
#: Lets a proxy send what is about one person to one server (docs/several-machines.md). The server does not read it.
OWNER_HEADER = "X-Assent-User"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0


@dataclass(frozen=True)
class Sleep:
    seconds: float


#: The steps of a call, and what comes of it.
Steps = Generator["Request | Sleep", "httpx2.Response | None", T]


async def driven(steps: Generator[S, Any, T], do: Callable[[S], Any], raised: type[Exception]) -> T:
    """Do what steps ask for, and return what comes of them.

    Args:
        do: returns what comes of one, or an awaitable of it.
        raised: what it raises that the steps are to know of.
    """
    try:
        step = next(steps)
        while True:
            try:
                came = do(step)
                came = await came if isawaitable(came) else came
            except raised as error:
                step = steps.throw(error)
            else:
                step = steps.send(came)
    except StopIteration as done:
        return cast(T, done.value)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return what comes of work in which nothing is awaited."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise TypeError("a synchronous client has to answer at once, and this call has to be awaited")


@dataclass(frozen=True)
class Operation(Generic[A]):
    """What the server can be asked for.

    Args:
        answer: how its answer is read.
        method, path: its address, with `{user_id}` and arguments in braces; else that of the tool of its name.
        defaults: values of arguments that are left out.
        writes: whether it gets an idempotency key, so that a retry is never carried out twice.
        is_about_someone: takes `user_id`.
    """

    name: str
    answer: type[A]
    method: str = "POST"
    path: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    writes: bool = False
    is_about_someone: bool = True

    @property
    def address(self) -> str:
        return self.path or f"/api/v1/tools/{segment('name', self.name)}/"


@dataclass(frozen=True)
class Request:
    """What is sent, for which a response comes back, or what httpx2 raised is thrown."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | httpx2.Timeout | None = None
    idempotency_key: str | None = None

    @property
    def address(self) -> str:
        """Return the path with its query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


def build(
    operation: Operation[Any],
    arguments: Mapping[str, Any],
    *,
    user_id: str | None,
    timeout: float | httpx2.Timeout | None,
) -> Request:
    """Return the request of a call; None stands for an argument left out."""
    given = {**operation.defaults, **{name: value for name, value in arguments.items() if value is not None}}
    key = given.pop("idempotency_key", None)
    path = operation.address
    for name in [name for name in given if f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", segment(name, given.pop(name)))
    if "{user_id}" in path:
        if user_id is None:
            raise errors.AssentError(f"{operation.name} needs to know whose memory: give user_id.")
        path = path.replace("{user_id}", segment("user_id", user_id))
    elif user_id is not None and operation.is_about_someone:
        given["user_id"] = user_id
    headers = {"Accept": "application/json"} | ({OWNER_HEADER: quote(user_id)} if user_id else {})
    if operation.writes:
        key = key or str(uuid.uuid4())
        headers["Idempotency-Key"] = key
    if operation.method in ("GET", "DELETE"):
        return Request(operation.method, path, query_of(given), None, headers, timeout, key)
    headers["Content-Type"] = "application/json"
    return Request(operation.method, path, (), body_of(given), headers, timeout, key)


def body_of(given: Mapping[str, Any]) -> bytes:
    """Return arguments as JSON. Raise ValueError for NaN, TypeError for what JSON has no form for."""
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: the server names the argument that has it
        return json.dumps(given, allow_nan=False).encode()


def segment(name: str, value: Any) -> str:
    """Return one part of a path. Raise ValueError for what would lead to another address."""
    text = str(value)
    if text in ("", ".", ".."):
        raise ValueError(f"{name} cannot be {text!r}")
    return quote(text, safe="")


def query_of(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return arguments as the query of an address: each item of a list by itself."""
    return [
        (name, str(each).lower() if isinstance(each, bool) else str(each))
        for name, value in given.items()
        for each in (value if isinstance(value, list | tuple) else [value])
    ]


# -- attempts -------------------------------------------------------------------------------------


def exchange(request: Request, *, max_retries: int) -> Steps[tuple[httpx2.Response, int]]:
    """Send a request until it is answered with success; return the response and how often it was sent again.

    Raises:
        APIConnectionError: not reached, on the last attempt too.
        APIStatusError: refused, or refused on the last attempt.
    """
    attempt = 0
    while True:
        send = replace(request, headers={**request.headers, "X-Retry-Count": str(attempt)})
        failure: errors.AssentError
        cause: Exception | None = None
        try:
            response = yield send
        except httpx2.RequestError as error:
            failure, cause = not_reached(error, request), error
            wait: float | None = pause(attempt)
        else:
            assert response is not None
            if response.is_success:
                return response, attempt
            failure = refused = refusal(response, request)
            wait = wait_before_retry(refused, attempt)
        if wait is None or attempt >= max_retries:
            raise failure from cause
        yield Sleep(wait)
        attempt += 1


def wait_before_retry(failure: errors.APIStatusError, attempt: int) -> float | None:
    """Return seconds to wait before a refused call is sent again; None when the refusal is final."""
    if failure.status_code not in RETRIED and failure.code != RUNNING:
        return None
    if failure.retry_after is None:
        return pause(attempt)
    # Sent earlier than asked, it would be refused again; waited for longer, the caller would seem to hang.
    return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None


def pause(attempt: int) -> float:
    """Return seconds: 0.5, 1, 2 … 8, each less up to a quarter, so that many clients do not come back at once."""
    return min(_FIRST_PAUSE * 2.0 ** min(attempt, 16), _LONGEST_PAUSE) * (1 - 0.25 * random.random())  # noqa: S311


def retry_after(headers: httpx2.Headers) -> float | None:
    """Return the seconds of a `Retry-After`, whether it is a number or a date; None without one."""
    given = headers.get("Retry-After", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
        except (ValueError, OverflowError):  # the latter for a year of twenty digits
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def not_reached(error: httpx2.RequestError, request: Request) -> errors.APIConnectionError:
    """Return the error of a request that got no answer."""
    key = request.idempotency_key
    if isinstance(error, httpx2.TimeoutException):
        return errors.APITimeoutError("The server did not answer in time.", idempotency_key=key)
    return errors.APIConnectionError(
        f"{_site(error)} cannot be reached ({error}). Is the server running, and MEMORY_URL its address?",
        idempotency_key=key,
    )


def _site(error: httpx2.RequestError) -> str:
    """Return where a request was sent, without path and password."""
    try:
        url = error.request.url
    except RuntimeError:  # raised without a request, by a transport of the caller's own
        return "The server"
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def refusal(response: httpx2.Response, request: Request) -> errors.APIStatusError:
    """Return the error of an answer that is no success."""
    status = response.status_code
    payload = _json(response)
    given = payload.get("error") if isinstance(payload, dict) else None
    message, code, text = f"{response.url} answered {status}, but not as Assent does.", "", ""
    details: dict[str, Any] = {}
    if isinstance(given, dict):
        message, code = str(given.get("message", "")), str(given.get("code", ""))
        text = str(payload.get("text", ""))
        details = given["details"] if isinstance(given.get("details"), dict) else {}
    elif response.is_redirect:
        # Not followed: the token is for this address.
        message = f"{response.url} has moved to {response.headers.get('Location')}."
    return errors.class_for(status)(
        message,
        status_code=status,
        code=code,
        text=text,
        details=details,
        request_id=response.headers.get("X-Request-ID"),
        retry_after=retry_after(response.headers),
        idempotency_key=request.idempotency_key,
    )


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def read(response: httpx2.Response, answer: type[A]) -> A:
    """Return a success as its answer. Raise APIResponseValidationError when it is not one of Assent's."""
    payload = _json(response)
    data, text = (payload.get("data"), payload.get("text")) if isinstance(payload, dict) else (None, None)
    if not isinstance(data, dict) or not isinstance(text, str):
        raise not_understood(response)
    made: A = answer.from_payload(payload, response.headers.get("X-Request-ID"))
    return made


def not_understood(response: httpx2.Response) -> errors.APIResponseValidationError:
    """Return the error of a success that is none of Assent's."""
    return errors.APIResponseValidationError(f"{response.url} answered {response.status_code}, but not as Assent does.")


def call(request: Request, answer: type[A], *, max_retries: int) -> Steps[RawResponse[A]]:
    """Send a request and read its answer."""
    response, retries = yield from exchange(request, max_retries=max_retries)
    return RawResponse(response, read(response, answer), retries)
