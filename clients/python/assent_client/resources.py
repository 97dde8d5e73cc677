"""The resources of a client: the generated ones, and what is more than one call.

Written by hand are waiting for a decision and the feed of them (`proposals`), whole files of notes (`notes`), and tools
by their name (`tools`). The server holds a request that waits for up to 20 seconds (`?wait=`), and answers at once,
with `Retry-After`, when too many wait.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

import httpx2

from assent_client import errors, exchange
from assent_client._generated import resources as generated
from assent_client._generated.answers import Proposal
from assent_client.answers import Answer, ListAnswer, RawResponse, Record, ToolAnswer, absent
from assent_client.core import TOKEN, ClientCore, Token
from assent_client.exchange import Operation, Sleep, Steps, call
from assent_client.resource import Resource, awaited

ToolFormat = Literal["native", "openai", "responses", "anthropic", "mcp"]
#: Seconds for a whole memory: the server says that its time is up before.
WHOLE_MEMORY = httpx2.Timeout(660, connect=10)
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


class ToolList(Answer):
    """The tools the token may use; `tools` is ready to hand to that kind of model."""

    format: str = ""
    tools: list[dict[str, Any]] = []


class ImportedFile(Answer):
    """What came of importing a memories.md."""

    status: str = ""
    created: int | None = None
    updated: int | None = None
    unchanged: int | None = None
    skipped: list[dict[str, Any]] = []
    proposal_id: int | None = None
    review_url: str | None = None
    commit: str | None = None
    waits_because: str | None = None


_WAIT = Operation("get_proposal", Proposal, method="GET", path="/api/v1/proposals/{proposal_id}/")
_FEED = Operation("decisions", DecisionPage, method="GET", path="/api/v1/proposals/decisions/")
_TOOLS = Operation("tools", ToolList, method="GET", path="/api/v1/tools/", is_about_someone=False)


# The steps of what is more than one call, which the two clients share.


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


def _exporting(core: ClientCore, portable: bool, user_id: str | None) -> Steps[bytes]:
    path = yield from core.address_of("memories.md", user_id)
    query: Sequence[tuple[str, str]] = [("portable", "true")] if portable else []
    request = core.plain("GET", path, query=query, timeout=WHOLE_MEMORY)
    response, _ = yield from exchange.exchange(request, max_retries=core.max_retries)
    if not response.headers.get("Content-Type", "").startswith("text/markdown"):
        raise exchange.not_understood(response)
    return response.content


def _importing(core: ClientCore, data: bytes, user_id: str | None, *, items: bool) -> Steps[RawResponse[ImportedFile]]:
    path = yield from core.address_of("memories.md?items=true" if items else "memories.md", user_id)
    headers = {"Content-Type": "text/markdown; charset=utf-8", "Idempotency-Key": str(uuid.uuid4())}
    request = core.plain("POST", path, content=data, headers=headers, timeout=WHOLE_MEMORY)
    return (yield from call(request, ImportedFile, max_retries=core.max_retries))


class _Feed:
    """What both feeds are: the steps to a page, and where the next one begins."""

    def __init__(self, client: Any, since: str | None, wait: int, user_id: str | None) -> None:
        #: Keep it: `decisions(since=cursor)` goes on from here. It moves past a decision when the next one is asked
        #: for, so that none is lost when the program ends over one.
        self.cursor = since
        self._client = client
        self._wait = wait
        self._user_id = user_id

    def _ask(self, wait: int) -> Any:
        return self._client.drive(decided(self._client.core, self.cursor, wait, self._user_id))

    def _is_over(self, page: DecisionPage, before: str | None) -> bool:
        """Move to the end of a page; return whether the feed ends there."""
        self.cursor = page.next or self.cursor
        return not page.more if page.more is not None else not page.items or self.cursor == before


class DecisionFeed(_Feed):
    """The decisions since a cursor; iterating ends when there is none left."""

    def __iter__(self) -> Iterator[Decision]:
        wait, is_over = self._wait, False
        while not is_over:
            before = self.cursor
            page = self._ask(wait)
            for item in page.items:
                yield item
                self.cursor = item.cursor or self.cursor
            is_over, wait = self._is_over(page, before), 0


class AsyncDecisionFeed(_Feed):
    """The decisions since a cursor; iterating ends when there is none left."""

    async def __aiter__(self) -> AsyncIterator[Decision]:
        wait, is_over = self._wait, False
        while not is_over:
            before = self.cursor
            page = await self._ask(wait)
            for item in page.items:
                yield item
                self.cursor = item.cursor or self.cursor
            is_over, wait = self._is_over(page, before), 0


class Proposals(generated.Proposals):
    """The agent's own proposals, and what people decided about them."""

    def wait(self, proposal_id: int, *, timeout: float = 600) -> Proposal:
        """Return the proposal once it is decided, or once a reviewer asks for changes (`changes_requested`).

        Args:
            timeout: seconds.

        Raises:
            DecisionPending: nobody decided in this time; its `proposal` is as it is now.
        """
        return self._answer(wait_for(self._client.core, proposal_id, timeout))

    def decisions(self, *, since: str | None = None, wait: int = 0, user_id: str | None = None) -> DecisionFeed:
        """Return what was decided since a cursor, oldest first; its `cursor` is where to go on the next time.

        Args:
            since: the `cursor` of the last time; 'now' for nothing but a cursor; from the beginning otherwise.
            wait: seconds (up to 20) the server waits where nothing was decided yet.
        """
        return DecisionFeed(self._client, since, wait, user_id)


class AsyncProposals(generated.AsyncProposals):
    """The agent's own proposals, and what people decided about them."""

    wait = awaited(Proposals.wait)

    def decisions(self, *, since: str | None = None, wait: int = 0, user_id: str | None = None) -> AsyncDecisionFeed:
        """Return what was decided since a cursor, as `Proposals.decisions` does, for `async for`."""
        return AsyncDecisionFeed(self._client, since, wait, user_id)


class Notes(generated.Notes):
    """Notes one by one, and all of them as a memories.md."""

    def export_file(self, *, portable: bool = False, user_id: str | None = None) -> bytes:
        """Return all notes as a memories.md.

        Args:
            portable: in the four sections and with the ids that every reader of the format knows.
        """
        return self._drive(_exporting(self._client.core, portable, user_id))

    def import_file(self, data: bytes, *, user_id: str | None = None, items: bool = False) -> ImportedFile:
        """Import a memories.md as one change; notes that are there already are updated, never doubled.

        Args:
            items: take the list items and dated lines of another file, as notes tagged with their heading.
        """
        return self._answer(_importing(self._client.core, data, user_id, items=items))


class AsyncNotes(generated.AsyncNotes):
    """Notes one by one, and all of them as a memories.md."""

    export_file = awaited(Notes.export_file)
    import_file = awaited(Notes.import_file)


class Tools(generated.Tools):
    """Tools by their name: what adapters for agent frameworks use."""

    def list(
        self, *, format: ToolFormat = "native", toolset: str | None = None, tools: Sequence[str] | None = None
    ) -> ToolList:
        """Return tools this token may use, described for this kind of model.

        Args:
            toolset: names of sets with commas between them, such as "blocks", "notes", "files" or "all"; otherwise
                what the token says, or the ten that are needed most.
            tools: only these, or these beside the sets.
        """
        return self._run(_TOOLS, {"format": format, "toolset": toolset, "tools": tools})

    def call(self, name: str, /, **arguments: Any) -> ToolAnswer:
        """Run a tool: `text` of the answer is for the model.

        Args:
            arguments: the tool's own, and `user_id` and `idempotency_key` where they are wanted.
        """
        # A tool this client does not know may change something: with a key, a retry of it never does so twice.
        operation = Operation(name, ToolAnswer, writes=name not in generated.READ_ONLY_TOOLS)
        return self._run(operation, arguments)


class AsyncTools(generated.AsyncTools):
    """Tools by their name: what adapters for agent frameworks use."""

    list = awaited(Tools.list)
    call = awaited(Tools.call)


class TokenResource(Resource):
    """The token itself."""

    def get(self) -> Token:
        """Return what the token may do, and for whom."""
        return self._run(TOKEN, {})


class AsyncTokenResource(Resource):
    """The token itself."""

    get = awaited(TokenResource.get)


class Resources:
    """The resources of `Assent`."""

    def _settle_resources(self) -> None:
        self.blocks = generated.Blocks(self)
        self.context = generated.Context(self)
        self.conversations = generated.Conversations(self)
        self.files = generated.Files(self)
        self.notes = Notes(self)
        self.proposals = Proposals(self)
        self.token = TokenResource(self)
        self.tools = Tools(self)


class AsyncResources:
    """The resources of `AsyncAssent`."""

    def _settle_resources(self) -> None:
        self.blocks = generated.AsyncBlocks(self)
        self.context = generated.AsyncContext(self)
        self.conversations = generated.AsyncConversations(self)
        self.files = generated.AsyncFiles(self)
        self.notes = AsyncNotes(self)
        self.proposals = AsyncProposals(self)
        self.token = AsyncTokenResource(self)
        self.tools = AsyncTools(self)
