"""The tools of a server for any framework: their definitions, and one function that runs one and never raises.

The adapters (`agno`, `openai_agents`, `langchain`) are thin over this: what a tool is called, takes and says is the
server's business alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypedDict, Unpack

from assent_client import Assent, AsyncAssent
from assent_client.errors import APIStatusError, AssentError
from assent_client.exchange import at_once

log = logging.getLogger(__name__)

_UNREACHED, _UNSENT = "unreached", "invalid_arguments"
#: Arguments that whoever builds the agent, or the adapter, says: a model that makes up a key may use one for two calls.
_NOT_THE_MODELS = ("user_id", "idempotency_key")
#: Statuses that say nothing about the call: the server is away, busy, or at fault.
_SERVERS = 500


@dataclass(frozen=True)
class Definition:
    """A tool as the server describes it.

    Args:
        parameters: JSON Schema of an object; optional arguments may be left out or null. Those that are not the
            model's to say are not in it.
        is_read_only: it changes and proposes nothing.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    is_read_only: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a call.

    Args:
        text: for the model; of a refusal it begins with "Error" and says what would work.
        data: of the answer, or the details of the refusal.
        code: of the refusal, empty for a success.
        is_ours: the server or the way to it failed, so the same call may work later.
    """

    text: str
    data: dict[str, Any]
    code: str = ""
    is_ours: bool = False

    @property
    def is_error(self) -> bool:
        return bool(self.code)

    @property
    def is_unreached(self) -> bool:
        """Whether no server answered; a write may have happened all the same."""
        return self.code == _UNREACHED


class Beside(TypedDict, total=False):
    """What goes with a call beside the model's arguments.

    Attributes:
        user: whose memory. Who builds the agent says that: a `user_id` among the arguments is not heard.
        session_id: where the arguments do not name a conversation.
        idempotency_key: see `call_key`; without one the client makes its own for each write.
    """

    user: str | None
    session_id: str | None
    idempotency_key: str | None


class Toolset:
    """The tools that a client's token may use.

    Args:
        client: an `Assent` runs them in a thread where a framework is asynchronous; an `AsyncAssent` cannot be used
            where it is not.
        user: whose memory; may be left out where the token serves one person.
    """

    def __init__(self, client: Assent | AsyncAssent, *, user: str | None = None) -> None:
        if not isinstance(client, Assent | AsyncAssent):
            raise TypeError(f"the tools need an Assent or an AsyncAssent, not {type(client).__name__}")
        self.client = client
        self.user = user

    def definitions(self, names: Sequence[str] | None = None) -> list[Definition]:
        """Return the tools, in the server's order.

        Args:
            names: only these. Raises ValueError for one the token may not use or the server does not know. Otherwise
                what the token says, or the ten that are needed most.
        """
        answer = self._blocking_client().tools.list(toolset="all" if names else None)
        return _chosen(answer.data["tools"], names)

    async def definitions_async(self, names: Sequence[str] | None = None) -> list[Definition]:
        """Return the same without blocking."""
        if isinstance(self.client, Assent):
            return await asyncio.to_thread(self.definitions, names)
        answer = await self.client.tools.list(toolset="all" if names else None)
        return _chosen(answer.data["tools"], names)

    def run(self, name: str, arguments: dict[str, Any], **beside: Unpack[Beside]) -> Outcome:
        """Run a tool and return what came of it; nothing is raised.

        Args:
            arguments: as the model gave them; the server says what is wrong with them.
            beside: see `Beside`.
        """
        self._blocking_client()
        return at_once(self._outcome(name, arguments, beside))

    async def run_async(self, name: str, arguments: dict[str, Any], **beside: Unpack[Beside]) -> Outcome:
        """Return the same without blocking."""
        if isinstance(self.client, Assent):
            return await asyncio.to_thread(self.run, name, arguments, **beside)
        return await self._outcome(name, arguments, beside)

    async def _outcome(self, name: str, arguments: dict[str, Any], beside: Beside) -> Outcome:
        try:
            came: Any = self.client.tools.call(name, **self._given(arguments, beside))
            answer = await came if isawaitable(came) else came
        except _EXPECTED as error:
            return _failure(name, error)
        return Outcome(answer.text, dict(answer.data))

    def _blocking_client(self) -> Assent:
        if not isinstance(self.client, Assent):
            raise TypeError(
                "an AsyncAssent cannot be used where nothing is awaited: give an Assent, or `await amemory_tools(…)`"
            )
        return self.client

    def _given(self, arguments: dict[str, Any], beside: Beside) -> dict[str, Any]:
        fixed = {"user_id": beside.get("user") or self.user, "idempotency_key": beside.get("idempotency_key")}
        given = {name: value for name, value in arguments.items() if value is not None and name not in _NOT_THE_MODELS}
        if session_id := beside.get("session_id"):
            given.setdefault("session_id", session_id)
        return given | {name: value for name, value in fixed.items() if value}


#: What a call raises: the client's own, and what it says of arguments that JSON has no form for (NaN).
_EXPECTED = (AssentError, ValueError, TypeError, RecursionError)


def call_key(call_id: str | None, name: str, arguments: dict[str, Any]) -> str | None:
    """Return the idempotency key of a framework's tool call; None where it has no id.

    A call that is run again, as when a run is resumed, is then carried out once. What is asked is a part of the key,
    because some models number their calls anew in each run: `call_0` is then another call every time.
    """
    if not call_id:
        return None
    asked = json.dumps([call_id, name, arguments], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _chosen(tools: Iterable[dict[str, Any]], names: Sequence[str] | None) -> list[Definition]:
    found = {
        tool["name"]: Definition(
            tool["name"], tool["description"], _for_the_model(tool["parameters"]), tool["effect"] == "read_only"
        )
        for tool in tools
    }
    if names is None:
        return list(found.values())
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"This token may use no {', '.join(missing)}. It may use: {', '.join(found)}.")
    return [found[name] for name in names]


def _for_the_model(schema: dict[str, Any]) -> dict[str, Any]:
    asked = {name: each for name, each in schema["properties"].items() if name not in _NOT_THE_MODELS}
    return schema | {"properties": asked}


def _failure(name: str, error: Exception) -> Outcome:
    if isinstance(error, APIStatusError) and error.code:
        return Outcome(error.text, dict(error.details), error.code, error.status_code >= _SERVERS)
    if not isinstance(error, AssentError):
        return Outcome(f"Error: the arguments of {name} cannot be sent as JSON.", {}, _UNSENT)
    # Nothing answered, or something that is not Assent, such as a proxy. What it says is for the log.
    log.warning("%s was not answered: %s", name, error)
    return Outcome("Error: the memory cannot be reached at the moment. Try again shortly.", {}, _UNREACHED, True)
