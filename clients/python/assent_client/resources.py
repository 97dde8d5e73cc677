"""The resources of a client: the generated ones, and what is more than one call.

Written by hand are waiting for a decision and the feed (`proposals`), whole files of notes (`notes`), and tools by
their name (`tools`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import httpx2

from assent_client import following
from assent_client._generated import notes, proposals, tools
from assent_client._generated.answers import Proposal
from assent_client._generated.operations import READ_ONLY_TOOLS
from assent_client._generated.others import AsyncOthers, SyncOthers
from assent_client.answers import Answer, RawResponse, ToolAnswer
from assent_client.core import TOKEN, ClientCore, Token
from assent_client.exchange import Operation, Steps, call, exchange, not_understood, segment
from assent_client.following import AsyncDecisionFeed, DecisionFeed, answer_of
from assent_client.resource import AsyncResource, Resource

if TYPE_CHECKING:
    from assent_client.client import Assent, AsyncAssent

ToolFormat = Literal["native", "openai", "anthropic", "mcp"]
#: Which tools a list has: those of blocks and notes, those that show the memory as files, or both.
ToolFamily = Literal["memory", "files", "all"]

#: Seconds for a whole memory: the server says that its time is up before.
WHOLE_MEMORY = httpx2.Timeout(660, connect=10)


class ToolList(Answer):
    """The tools the token may use; `tools` is ready to hand to that kind of model."""

    format: str = ""
    family: str = ""
    tools: list[dict[str, Any]] = []


_TOOLS = Operation("tools", "GET", "/api/v1/tools/", ToolList, is_about_someone=False)


def _run_tool(name: str) -> Operation[ToolAnswer]:
    path = f"/api/v1/tools/{segment('name', name)}/"
    # A tool this client does not know may change something: with a key, a retry of it never does so twice.
    return Operation(name, "POST", path, ToolAnswer, writes=name not in READ_ONLY_TOOLS)


class Proposals(proposals.Proposals):
    """The agent's own proposals, and what people decided about them."""

    def wait(self, proposal_id: int, *, timeout: float = 600) -> Proposal:
        """Return the proposal once it is decided, or once a reviewer asks for changes (`changes_requested`).

        Args:
            timeout: seconds.

        Raises:
            DecisionPending: nobody decided in this time; its `proposal` is as it is now.
        """
        return answer_of(self._client.drive(following.wait_for(self._client.core, proposal_id, timeout)), self._raw)

    def decisions(self, *, since: str | None = None, wait: int = 0, user_id: str | None = None) -> DecisionFeed:
        """Return what was decided since a cursor, oldest first; its `cursor` is where to go on the next time.

        Args:
            since: the `cursor` of the last time; 'now' for nothing but a cursor; from the beginning otherwise.
            wait: seconds (up to 20) the server waits where nothing was decided yet.
        """
        return DecisionFeed(self._client, since, wait, user_id)


class AsyncProposals(proposals.AsyncProposals):
    """The agent's own proposals, and what people decided about them."""

    async def wait(self, proposal_id: int, *, timeout: float = 600) -> Proposal:
        """Return the proposal once it is decided, or once a reviewer asks for changes (`changes_requested`).

        Args:
            timeout: seconds.

        Raises:
            DecisionPending: nobody decided in this time; its `proposal` is as it is now.
        """
        steps = following.wait_for(self._client.core, proposal_id, timeout)
        return answer_of(await self._client.drive(steps), self._raw)

    def decisions(self, *, since: str | None = None, wait: int = 0, user_id: str | None = None) -> AsyncDecisionFeed:
        """Return what was decided since a cursor, oldest first; its `cursor` is where to go on the next time.

        Args:
            since: the `cursor` of the last time; 'now' for nothing but a cursor; from the beginning otherwise.
            wait: seconds (up to 20) the server waits where nothing was decided yet.
        """
        return AsyncDecisionFeed(self._client, since, wait, user_id)


class ImportedFile(Answer):
    """What came of importing a memories.md; counts are None where the token may not read."""

    status: str = ""
    created: int | None = None
    updated: int | None = None
    unchanged: int | None = None
    skipped: list[dict[str, Any]] = []
    proposal_id: int | None = None
    review_url: str | None = None
    commit: str | None = None
    waits_because: str | None = None


def _exporting(core: ClientCore, portable: bool, user_id: str | None) -> Steps[bytes]:
    path = yield from core.address_of("memories.md", user_id)
    query: Sequence[tuple[str, str]] = [("portable", "true")] if portable else []
    request = core.plain("GET", path, query=query, timeout=WHOLE_MEMORY)
    response, _ = yield from exchange(request, max_retries=core.max_retries)
    if not response.headers.get("Content-Type", "").startswith("text/markdown"):
        raise not_understood(response)
    return response.content


def _importing(core: ClientCore, data: bytes, user_id: str | None) -> Steps[RawResponse[ImportedFile]]:
    path = yield from core.address_of("memories.md", user_id)
    headers = {"Content-Type": "text/markdown; charset=utf-8", "Idempotency-Key": str(uuid.uuid4())}
    request = core.plain("POST", path, content=data, headers=headers, timeout=WHOLE_MEMORY)
    return (yield from call(request, ImportedFile, max_retries=core.max_retries))


class Notes(notes.Notes):
    """Notes one by one, and all of them as a memories.md."""

    def export_file(self, *, portable: bool = False, user_id: str | None = None) -> bytes:
        """Return all notes as a memories.md.

        Args:
            portable: in the four sections and with the ids that every reader of the format knows.
        """
        return self._client.drive(_exporting(self._client.core, portable, user_id))

    def import_file(self, data: bytes, *, user_id: str | None = None) -> ImportedFile:
        """Import a memories.md as one change; notes that are there already are updated, never doubled."""
        return self._client.drive(_importing(self._client.core, data, user_id)).answer


class AsyncNotes(notes.AsyncNotes):
    """Notes one by one, and all of them as a memories.md."""

    async def export_file(self, *, portable: bool = False, user_id: str | None = None) -> bytes:
        """Return all notes as a memories.md.

        Args:
            portable: in the four sections and with the ids that every reader of the format knows.
        """
        return await self._client.drive(_exporting(self._client.core, portable, user_id))

    async def import_file(self, data: bytes, *, user_id: str | None = None) -> ImportedFile:
        """Import a memories.md as one change; notes that are there already are updated, never doubled."""
        return (await self._client.drive(_importing(self._client.core, data, user_id))).answer


class Tools(tools.Tools):
    """Tools by their name: what adapters for agent frameworks use."""

    def list(self, *, format: ToolFormat = "native", family: ToolFamily = "memory") -> ToolList:
        """Return the tools this token may use, described for this kind of model."""
        return self._run(_TOOLS, {"format": format, "family": family}, None, None)

    def call(self, name: str, /, **arguments: Any) -> ToolAnswer:
        """Run a tool: `text` of the answer is for the model.

        Args:
            arguments: the tool's own, and `user_id` and `idempotency_key` where they are wanted.
        """
        return self._run(_run_tool(name), arguments, arguments.pop("user_id", None), None)


class AsyncTools(tools.AsyncTools):
    """Tools by their name: what adapters for agent frameworks use."""

    async def list(self, *, format: ToolFormat = "native", family: ToolFamily = "memory") -> ToolList:
        """Return the tools this token may use, described for this kind of model."""
        return await self._run(_TOOLS, {"format": format, "family": family}, None, None)

    async def call(self, name: str, /, **arguments: Any) -> ToolAnswer:
        """Run a tool: `text` of the answer is for the model.

        Args:
            arguments: the tool's own, and `user_id` and `idempotency_key` where they are wanted.
        """
        return await self._run(_run_tool(name), arguments, arguments.pop("user_id", None), None)


class TokenResource(Resource):
    """The token itself."""

    def get(self) -> Token:
        """Return what the token may do, and for whom."""
        return self._run(TOKEN, {}, None, None)


class AsyncTokenResource(AsyncResource):
    """The token itself."""

    async def get(self) -> Token:
        """Return what the token may do, and for whom."""
        return await self._run(TOKEN, {}, None, None)


class SyncResources(SyncOthers):
    """The resources of `Assent`."""

    @cached_property
    def notes(self) -> Notes:
        return Notes(cast("Assent", self))

    @cached_property
    def proposals(self) -> Proposals:
        return Proposals(cast("Assent", self))

    @cached_property
    def tools(self) -> Tools:
        return Tools(cast("Assent", self))

    @cached_property
    def token(self) -> TokenResource:
        return TokenResource(cast("Assent", self))


class AsyncResources(AsyncOthers):
    """The resources of `AsyncAssent`."""

    @cached_property
    def notes(self) -> AsyncNotes:
        return AsyncNotes(cast("AsyncAssent", self))

    @cached_property
    def proposals(self) -> AsyncProposals:
        return AsyncProposals(cast("AsyncAssent", self))

    @cached_property
    def tools(self) -> AsyncTools:
        return AsyncTools(cast("AsyncAssent", self))

    @cached_property
    def token(self) -> AsyncTokenResource:
        return AsyncTokenResource(cast("AsyncAssent", self))
