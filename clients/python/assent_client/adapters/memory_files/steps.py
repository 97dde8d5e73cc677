"""A command of the memory tool as steps, and what all commands say and check.

A step is a call to make; the adapters make it, waiting for it or not. Not here: which steps a command takes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assent_client.adapters.memory_files import paths
from assent_client.adapters.memory_files.paths import BadPath, MemoryPath
from assent_client.errors import APIStatusError

_FORCE_ADVICE = ("If it has, make the call with force=true", "force needs a reasoning")


class CommandRefused(Exception):
    """The command cannot be done; the text is for the model."""


class Answered(Protocol):
    """What a call answers: a text for the model, and data."""

    @property
    def text(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Step:
    """A call to make: `client.tools.call("read_memory_block", block_label="goals")`."""

    resource: str
    method: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)


Steps = Generator[Step, Answered, str]


@dataclass(frozen=True)
class Provenance:
    """What goes with every write.

    Args:
        reasoning: shown to the person who decides; the path is added where it is left empty.
        session_id: of the conversation, at most 128 characters.
    """

    reasoning: str = ""
    session_id: str = ""

    def of(self, what: str) -> dict[str, Any]:
        given = {"reasoning": self.reasoning or what}
        return given | ({"session_id": self.session_id} if self.session_id else {})


def tool(name: str, arguments: dict[str, Any]) -> Step:
    return Step("tools", "call", (name,), arguments)


def told(done: str, answer: Answered, *, is_new: bool = False) -> str:
    """Return a command's own text, and what became of the write; `is_new` as for `waits`."""
    data = answer.data
    parts = [done]
    if data.get("status") in ("applied", "withdrawn"):
        parts.append(f"Applied at once (#{data['proposal_id']}); the person sees it and can revert it.")
    else:
        parts.append(waits(data["proposal_id"], is_new=is_new))
    return "\n".join(parts)


def with_decisions(steps: Steps, told: set[str]) -> Steps:
    """Return the steps, their text followed by what people decided about this agent's proposals.

    Any answer may tell that: also one that a command asks for on its way, or before it refuses.

    Args:
        told: cursors of what this tool told before, to which what is told now is added. Answers to reading say it
            again each time, since a program that reads may show no model what they carry.
    """
    lines: list[str] = []
    try:
        step = next(steps)
        while True:
            try:
                answer = yield step
            except APIStatusError as error:
                step = steps.throw(error)
            else:
                decisions = answer.data.get("decisions") or {}
                news = [each for each in decisions.get("items", ()) if each["cursor"] not in told]
                told |= {each["cursor"] for each in news}
                lines += [f"- {each['text']}" for each in news]
                step = steps.send(answer)
    except StopIteration as done:
        return _followed(str(done.value), lines)
    except CommandRefused as error:
        raise CommandRefused(_followed(str(error), lines)) from error
    except APIStatusError as error:
        if not lines:
            raise
        raise CommandRefused(_followed(refusal(error), lines)) from error


def refusal(error: APIStatusError) -> str:
    """Return a refusal's text without the word that an error flag says already, and without advice to give `force`:
    the memory tool has no such argument."""
    lines = error.text.removeprefix("Error: ").split("\n")
    if error.code == "rejected_before":
        lines = [line for line in lines if not line.startswith(_FORCE_ADVICE)]
    return "\n".join(lines)


def _followed(text: str, lines: list[str]) -> str:
    return "\n".join([text, "", "Decided since you were last told:", *lines]) if lines else text


def waits(proposal_id: int, *, is_new: bool = False) -> str:
    """Return that a person is asked, and how the file reads until then.

    Args:
        is_new: it is not there yet; this agent sees what it proposed.
    """
    if is_new:
        return (
            f"Proposed (#{proposal_id}): a person will be asked to approve this change. "
            "Until then it is not in the memory, and only you see it here."
        )
    return (
        f"Proposed (#{proposal_id}): a person will be asked to approve this change. "
        "Until then the file reads as before."
    )


def path_of(path: object) -> MemoryPath:
    if not isinstance(path, str) or not path:
        raise CommandRefused("Missing required parameter: path")
    try:
        return paths.parse(path)
    except BadPath as error:
        raise CommandRefused(str(error)) from error


def file_of(path: object, *, is_changed: bool = False) -> MemoryPath:
    target = path_of(path)
    if target.is_folder:
        raise CommandRefused(
            f"The path {target.given} is not a file." if is_changed else f"File {target.given} already exists"
        )
    return target


def text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise CommandRefused(f"Missing required parameter: {name}" if value is None else f"{name} must be a string")
    return value


def view_range_of(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, Sequence) and len(value) == 2 and all(type(each) is int for each in value):
        return value[0], value[1]
    raise CommandRefused("Invalid `view_range` parameter: give two line numbers, [first, last]; -1 is the last line.")
