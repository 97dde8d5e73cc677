"""Waiting for what people decide: one proposal until it is decided, and the feed of all decisions.

The server holds a request for up to 20 seconds (`?wait=`), and answers at once, with `Retry-After`, when too many wait.
Both loops are written as steps, so that the two clients share them.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from assent_client import errors, exchange
from assent_client._generated.answers import Proposal
from assent_client.answers import ListAnswer, RawResponse, Record, absent
from assent_client.core import ClientCore
from assent_client.exchange import Operation, Sleep, Steps

if TYPE_CHECKING:
    from assent_client.client import Assent, AsyncAssent

#: Seconds the server is asked to hold a request.
LONG_POLL = 20
#: Seconds an attempt may take beyond that.
_MARGIN = 15.0
#: Seconds between two looks at a server that holds no request.
_PAUSE = 2.0
#: Statuses in which a person, or Assent, has yet to do something. `changes_requested` is the agent's turn.
_UNDECIDED = frozenset({"preparing", "open", "merging"})


class Decision(Record):
    """What became of one of the agent's proposals."""

    proposal_id: int = absent()
    user_id: str = absent()
    target_kind: str = absent()
    block_label: str | None = absent()
    note_id: str | None = absent()
    title: str | None = absent()
    #: approved, rejected, changes_requested, expired, reverted, reopened or commented
    what: str = absent()
    #: username of the person; None for Assent itself
    by: str | None = absent()
    at: str = absent()
    reason: str | None = absent()
    #: what the person wrote with it, or the comment itself
    comment: str | None = absent()
    revision: int | None = absent()
    #: of the proposal as it is today
    status: str = absent()
    approval: str | None = absent()
    #: what was approved, where it is not as proposed
    final_text: str | None = absent()
    difference: list[dict[str, Any]] | None = absent()
    not_accepted: list[dict[str, Any]] | None = absent()
    propose_again: bool = absent()
    #: whether something of the last four was left out for its length: `proposals.get` has it
    is_cut: bool = absent()
    #: all of it in a line for the model
    text: str = absent()
    #: goes on after this one
    cursor: str = absent()


class DecisionPage(ListAnswer[Decision]):
    """A part of the feed of decisions; `next` is always given, `more` says whether to go on at once."""

    more: bool | None = None
    retry_after: float | None = None


_WAIT = Operation("get_proposal", "GET", "/api/v1/proposals/{proposal_id}/", Proposal)
_FEED = Operation("decisions", "GET", "/api/v1/proposals/decisions/", DecisionPage)


def wait_for(
    core: ClientCore, proposal_id: int, timeout: float, *, now: Callable[[], float] = time.monotonic
) -> Steps[RawResponse[Proposal]]:
    """Ask until the proposal is decided. Raise DecisionPending with it when the time is up."""
    end = now() + timeout
    holds = True
    while True:
        held = max(0, min(LONG_POLL, int(end - now()))) if holds else 0
        arguments: dict[str, Any] = {"proposal_id": proposal_id, "wait": held or None}
        began = now()
        try:
            came = yield from core.steps(_WAIT, arguments, timeout=held + _MARGIN)
        except errors.BadRequestError as error:
            if not held or "wait" not in error.details.get("fields", {}):
                raise
            holds = False  # an older server, which is asked again and again
            continue
        if came.answer.status not in _UNDECIDED:
            return came
        if now() >= end:
            raise errors.DecisionPending(came.answer)
        if pause := _pause(came, held, now() - began):
            yield Sleep(min(pause, max(0.0, end - now())))


def _pause(came: RawResponse[Any], held: int, took: float) -> float:
    """Return seconds until to ask again: as many as asked for; none after a request that was held."""
    asked = exchange.retry_after(came.headers)
    if asked is None:
        asked = 0.0 if held and took >= held / 2 else _PAUSE
    return asked * (1 + 0.25 * random.random())  # noqa: S311


def decided(core: ClientCore, since: str | None, wait: int, user_id: str | None) -> Steps[DecisionPage]:
    """Return the decisions after a cursor: one page, for which the server waits where there is none."""
    arguments = {"since": since, "wait": wait or None}
    timeout = wait + _MARGIN if wait else None
    came = yield from core.steps(_FEED, arguments, user_id, timeout)
    if not came.answer.items and (asked := exchange.retry_after(came.headers)):
        yield Sleep(min(asked, exchange.LONGEST_WAIT))  # or a loop around the feed would ask without pause
    return came.answer


class _Feed:
    def __init__(self, since: str | None, wait: int, user_id: str | None) -> None:
        #: Keep it: `decisions(since=cursor)` goes on from here. It moves past a decision when the next one is asked
        #: for, so that none is lost when the program ends over one.
        self.cursor = since
        self._wait = wait
        self._user_id = user_id

    def _is_over(self, page: DecisionPage, before: str | None) -> bool:
        """Move to the end of a page; return whether the feed ends there."""
        self.cursor = page.next or self.cursor
        return not page.more if page.more is not None else not page.items or self.cursor == before


class DecisionFeed(_Feed):
    """The decisions since a cursor; iterating ends when there is none left."""

    def __init__(self, client: Assent, since: str | None, wait: int, user_id: str | None) -> None:
        super().__init__(since, wait, user_id)
        self._client = client

    def __iter__(self) -> Iterator[Decision]:
        wait, is_over = self._wait, False
        while not is_over:
            before = self.cursor
            page = self._client.drive(decided(self._client.core, before, wait, self._user_id))
            for item in page.items:
                yield item
                self.cursor = item.cursor or self.cursor
            is_over, wait = self._is_over(page, before), 0


class AsyncDecisionFeed(_Feed):
    """The decisions since a cursor; iterating ends when there is none left."""

    def __init__(self, client: AsyncAssent, since: str | None, wait: int, user_id: str | None) -> None:
        super().__init__(since, wait, user_id)
        self._client = client

    async def __aiter__(self) -> AsyncIterator[Decision]:
        wait, is_over = self._wait, False
        while not is_over:
            before = self.cursor
            page = await self._client.drive(decided(self._client.core, before, wait, self._user_id))
            for item in page.items:
                yield item
                self.cursor = item.cursor or self.cursor
            is_over, wait = self._is_over(page, before), 0


def answer_of(came: RawResponse[Proposal], raw: bool) -> Proposal:
    """Return the proposal, or the raw response where that was asked for."""
    return cast(Proposal, came) if raw else came.answer
