"""Claude as a script: the Anthropic package runs the memory tool, and a transport plays the Messages API."""

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic

from assent_client import Assent, AsyncAssent
from assent_client.adapters.anthropic import AssentMemoryTool, AsyncAssentMemoryTool
from tests.integrations.conftest import RunningServer


@dataclass(frozen=True)
class Result:
    """What the model reads of a tool call."""

    text: str
    is_error: bool

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def proposal(self) -> int:
        """The number of the proposal it speaks of."""
        return int(self.text.split("(#")[1].split(")")[0])


class Messages:
    """The Messages API of a model that runs these commands one by one, and then says that it is done."""

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.inputs = inputs
        self.sent: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        number = len(self.sent)
        self.sent.append(json.loads(request.content))
        content: dict[str, Any] = {"type": "text", "text": "done"}
        if number < len(self.inputs):
            content = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": self.inputs[number]}
        answer = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=answer)

    @property
    def results(self) -> list[Result]:
        found = []
        for each in self.sent[1:]:
            (block,) = each["messages"][-1]["content"]
            content = block["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            found.append(Result(text, bool(block.get("is_error"))))
        return found


GOALS = "/memories/blocks/goals.md"
_ASKED: dict[str, Any] = {"model": "scripted", "max_tokens": 99, "messages": [{"role": "user", "content": "hello"}]}


def ran(tool: Any, *inputs: Any) -> list[Result]:
    """What each command answers, run by the package's tool runner."""
    api = Messages(inputs)
    client = Anthropic(api_key="x", max_retries=0, http_client=httpx2.Client(transport=httpx2.MockTransport(api)))
    client.beta.messages.tool_runner(**_ASKED, tools=[tool], max_iterations=200).until_done()
    return api.results


async def _ran_async(memory: RunningServer, options: dict[str, Any], inputs: tuple[Any, ...]) -> list[Result]:
    api = Messages(inputs)
    transport = httpx2.AsyncClient(transport=httpx2.MockTransport(api))
    async with AsyncAssent(memory.url, memory.token, max_retries=0) as client:
        tool = AsyncAssentMemoryTool(client, **options)
        anthropic = AsyncAnthropic(api_key="x", max_retries=0, http_client=transport)
        await anthropic.beta.messages.tool_runner(**_ASKED, tools=[tool], max_iterations=200).until_done()
    return api.results


Claude = Callable[..., list[Result]]


@pytest.fixture(params=["sync", "async"])
def claude(request: pytest.FixtureRequest, memory: RunningServer, client: Assent) -> Claude:
    """Runs commands of the model, `claude({"command": "view", …}, …)`, in both kinds of program."""

    def does(*inputs: Any, **options: Any) -> list[Result]:
        given = {"user": "alice"} | options
        if request.param == "async":
            return asyncio.run(_ran_async(memory, given, inputs))
        return ran(AssentMemoryTool(client, **given), *inputs)

    return does


@pytest.fixture
def path() -> str:
    """A file that is not there."""
    return f"/memories/blocks/habits_{uuid.uuid4().hex[:8]}.md"


@pytest.fixture
def goals(memory: RunningServer) -> str:
    """The text of the block `goals`, which nobody approves changes of."""
    text: str = memory.call("read_memory_block", block_label="goals", max_characters=100_000)["data"]["body"]
    return text
