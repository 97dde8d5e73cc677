"""An Agno agent that reads what is known about a person, and proposes changes that the person decides about.

    pip install './clients/python[agno]' openai
    export MEMORY_URL=http://127.0.0.1:8000 MEMORY_TOKEN=$(cat var/demo_token)   # `make run` serves the demo there
    python examples/agno_agent.py "My German exam is in January: please remember that."

With OPENAI_API_KEY a model answers. Without it a script plays the model, so that you see the calls and the proposal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

from assent_client import Assent
from assent_client.adapters.agno import MemoryBlockTools, strip_agno_fields

INSTRUCTIONS = """\
You have access to memory blocks that contain persistent information about the user.

To update memory blocks, use the memory block tools:
1. First, use `read_memory_block` to see the exact current content.
2. Then, use `propose_memory_edit` with exact string matching to suggest changes.
3. Your edits are proposals: the user approves them. Say that you proposed something, never that it is saved.

The `old_string` in your edit must match the block content exactly, including whitespace and newlines. If the string
appears multiple times, provide more surrounding context to make it unique, or use `replace_all=True`."""


def the_agent(memory: Assent, model: Model, user_id: str = "alice") -> Agent:
    return Agent(
        model=model,
        # Some providers refuse tools with the fields that only Agno reads.
        tools=[strip_agno_fields(MemoryBlockTools(memory, user_id=user_id))],
        instructions=INSTRUCTIONS,
        markdown=True,
        telemetry=False,
    )


def the_model() -> Model:
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedModel()
    from agno.models.openai import OpenAIResponses

    return OpenAIResponses(id=os.environ.get("OPENAI_MODEL", "gpt-5.4"))


@dataclass
class ScriptedModel(Model):
    """Plays a model: lists the blocks, reads one, and proposes to add a line under its longest one."""

    id: str = "scripted"

    def _next(self, messages: list[Any]) -> ModelResponse:
        asked = next(str(each.content) for each in messages if each.role == "user")
        answers = [str(each.content) for each in messages if each.role == "tool"]
        if not answers:
            return self._call("list_memory_blocks")
        labels = [line[2:].split(":")[0] for line in answers[0].split("\n") if line.startswith("- ")]
        if not labels or len(answers) == 3:
            return ModelResponse(role="assistant", content=answers[-1])
        label = "goals" if "goals" in labels else labels[0]
        if len(answers) == 1:
            return self._call("read_memory_block", block_label=label)
        old = max(answers[1].split("\n")[1:], key=len, default="") or "(empty)"
        edit = {"old_string": old, "new_string": f"{old}\n\n{asked}", "reasoning": "You asked me to remember this."}
        return self._call("propose_memory_edit", block_label=label, **edit)

    def _call(self, name: str, **arguments: str) -> ModelResponse:
        call = {"name": name, "arguments": json.dumps(arguments)}
        return ModelResponse(
            role="assistant", tool_calls=[{"id": f"call_{name}", "type": "function", "function": call}]
        )

    def invoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        return self._next(messages)

    async def ainvoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        return self._next(messages)

    def invoke_stream(self, messages: list[Any], *args: Any, **more: Any) -> Iterator[ModelResponse]:
        yield self._next(messages)

    async def ainvoke_stream(self, messages: list[Any], *args: Any, **more: Any) -> AsyncIterator[ModelResponse]:
        yield self._next(messages)

    def _parse_provider_response(self, response: Any, **more: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def main() -> None:
    said = " ".join(sys.argv[1:]) or "My German exam is in January: please remember that."
    with Assent() as memory:
        print(the_agent(memory, the_model()).run(said).content)


if __name__ == "__main__":
    main()
