"""What a machine may ask for: the values of a call, the one list of tools, and that of what is asked for by address.

REST, the five formats of `GET /api/v1/tools/`, and the OpenAPI document are made from it. What a
tool does is in `tools/`; running one, with everything around it, in `execution`.
"""

import re
import tomllib
from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from django.conf import settings

from agent_tools import auth
from agent_tools.auth import Caller
from agent_tools.calls import arguments as taken
from agent_tools.calls.foreign_names import nearest, stand_in
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from memory_app.text.sentences import sentences

A = TypeVar("A", bound=taken.Arguments)

_AFTER_A_SENTENCE = re.compile(r"(?<=\.)\s")
#: Names in a text of ours. `recall` is a word of English, too, where it does not stand as a name.
_NAME = re.compile(r"\b[a-z]++(?:_[a-z]++)++\b|(?<=`)[a-z]++(?=`)")
#: Where a sentence begins with a name, which no sentence of a person does.
_BEFORE_A_NAME = re.compile(r"(?<=\. )(?=[a-z]++_[a-z])")


class Effect(StrEnum):
    READ_ONLY = "read_only"
    SIDE_EFFECTING = "side_effecting"


@dataclass(frozen=True)
class Call:
    """Who calls what, about whom.

    Args:
        owner: username, granted to the token; "" where a tool works on all owners the token serves.
        name: of the tool or endpoint.
        called: what a refusal calls it.
        operation: 32 hexadecimal digits that stay the same when the call is repeated with its
            idempotency key; None for a call without one.
    """

    caller: Caller
    owner: str
    name: str
    called: str
    operation: str | None = None

    @property
    def may_apply(self) -> bool:
        """Whether policy and rules may let the caller's changes through; else a person decides about each."""
        return auth.has_scope(self.caller.token, Scope.NOTES_WRITE)

    @property
    def may_read_deleted(self) -> bool:
        """Whether the token may read what people deleted since."""
        return auth.has_scope(self.caller.token, Scope.MEMORY_HISTORY)


@dataclass(frozen=True)
class Answer:
    """A text for the model, and the same as data.

    Args:
        retry_after: seconds after which to ask again, where the call was to wait and could not.
        tells_decisions: it is about what people decided, so that nothing is added about that.
    """

    text: str
    data: dict[str, Any]
    retry_after: int | None = None
    tells_decisions: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the body of a success, as every endpoint sends it."""
        return {"ok": True, "text": self.text, "data": self.data}


@dataclass(frozen=True, kw_only=True)
class ApiOperation(Generic[A]):
    """A function with what has to be known to run it for a caller.

    Args:
        timeout: seconds after which a call is answered with 504 (see `time_limit`).
        returns: the fields of `data`, their types and what they mean; see `answers.fields`.
        or_returns: those of another answer, which an argument asks for.
        failing: begins the text when *we* fail: `Error reading memory block`.
        arguments: whether they are `WriteArguments` decides the effect, so that whatever writes is idempotent.
        or_scope: a scope that does instead of `scope`, with what comes of it waiting for a person.
        owner_optional: works without `user_id` also for a token that serves several owners.
        target: name of the argument that names what the call is about, for the audit row: of `_TARGETS`, if required.
        if_timed_out: what to do when the time was up, where that is more than with other tools.
        called: what a refusal calls it: `the list of notes`.
        is_repeatable: it writes, and the same call again changes nothing more.
        is_exact: it reads what edits quote, or a file: unseen characters stay as they are. Others escape them.
    """

    run: Callable[[Call, A], Answer]
    description: str
    arguments: type[A]
    scope: Scope
    called: str
    failing: str
    returns: dict[str, str]
    or_returns: dict[str, str] | None = None
    timeout: int = 10
    or_scope: Scope | None = None
    owner_optional: bool = False
    target: str = ""
    if_timed_out: str = ""
    is_repeatable: bool = False
    is_exact: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def effect(self) -> Effect:
        return Effect.SIDE_EFFECTING if issubclass(self.arguments, taken.WriteArguments) else Effect.READ_ONLY

    @property
    def text_is_complete(self) -> bool:
        """Whether nothing is added to the text of its answers: programs read it by address."""
        return self.effect is Effect.READ_ONLY

    @property
    def first_sentence(self) -> str:
        """Return the first sentence of the description, which says what it does."""
        return _AFTER_A_SENTENCE.split(self.description, maxsplit=1)[0]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Return the scopes of which a token needs one."""
        return (self.scope, self.or_scope) if self.or_scope else (self.scope,)

    @property
    def time_limit(self) -> float:
        """Return `timeout`, or what this installation allows any tool, if that is less."""
        return min(self.timeout, settings.TOOL_TIMEOUT or self.timeout)

    @property
    def schema(self) -> dict[str, Any]:
        """Return everything that is taken."""
        return taken.json_schema(self.arguments)


#: Fields with a text to quote, or with the names that read one.
_TO_QUOTE = {"body", "content", "text", "items[].content", "items[].label", "items[].path"}

#: Tools and endpoints that are about notes: `MEMORIES_ENABLED` switches them off, and leaves those about blocks.
NOTE_TOOLS = frozenset(
    "memory_search memory_save memory_update memory_delete remember recall forget prime_memories "
    "search note_list note_read import_file export_file".split()
)


#: Tools that show the memory as files, and do what others do.
FILE_TOOLS = frozenset(
    "list_files view_file edit_file append_to_file prepend_to_file update_section write_file".split()
)


class Tool(ApiOperation[A]):
    """What is offered to models, and run by its name."""

    @property
    def title(self) -> str:
        """Return the name as people read it: `Read memory block`."""
        return self.name.replace("_", " ").capitalize()

    @property
    def text_is_complete(self) -> bool:
        """Whether nothing is added to the text of its answers: it is a file, a conversation, or what edits quote."""
        return self.effect is Effect.READ_ONLY and not _TO_QUOTE.isdisjoint(self.returns)


#: What each tool and endpoint says of itself: fields of `ApiOperation`, by name.
SAID: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TOOLS: dict[str, Tool[Any]] = {}
#: What has an address of its own and is offered to no model.
ENDPOINTS: dict[str, ApiOperation[Any]] = {}


Run = Callable[[Call, A], Answer]

#: Arguments that name what a call is about, where they are required.
_TARGETS = frozenset("block_label label path note_id memory_id proposal_id session_id".split())


def tool(**declared: Any) -> Callable[[Run[A]], Tool[A]]:
    """Make a function the tool of its name, with the arguments it is annotated with, and register it.

    What is declared are fields of `ApiOperation` beside those of `SAID`.
    """

    def register(run: Run[A]) -> Tool[A]:
        TOOLS[run.__name__] = made = Tool(run=run, **_declared(run, declared))
        return made

    return register


def endpoint(**declared: Any) -> Callable[[Run[A]], ApiOperation[A]]:
    """Make a function what a view runs by address, and register it, as `tool` does."""

    def register(run: Run[A]) -> ApiOperation[A]:
        ENDPOINTS[run.__name__] = made = ApiOperation(run=run, **_declared(run, declared))
        return made

    return register


def _declared(run: Run[A], declared: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a function, with its arguments, and which scopes a token needs for what takes these.

    What a call is about is in the first of `_TARGETS` that is required, for the audit row.
    """
    arguments = get_type_hints(run)["arguments"]
    required = (name for name, field in arguments.model_fields.items() if field.is_required())
    target = next((name for name in required if name in _TARGETS), "")
    if issubclass(arguments, taken.NoteWriteArguments):
        scopes = {"scope": Scope.NOTES_WRITE, "or_scope": Scope.MEMORY_PROPOSE}
    else:
        scopes = {"scope": Scope.MEMORY_PROPOSE if issubclass(arguments, taken.WriteArguments) else Scope.MEMORY_READ}
    said = {"called": run.__name__, **SAID[run.__name__], **declared}
    said["returns"] = SAID[run.__name__].get("returns", {}) | declared.get("returns", {})
    return {"arguments": arguments, "target": target, **scopes, **said}


def switched_on() -> list[Tool[Any]]:
    """Return the tools of this installation."""
    return [tool for tool in TOOLS.values() if is_on(tool)]


def is_on(asked: ApiOperation[Any]) -> bool:
    """Whether this installation offers it."""
    return settings.MEMORIES_ENABLED or asked.name not in NOTE_TOOLS


#: Names of the tools that the caller of this call sees; None for all. Set around each call.
LISTED: ContextVar[frozenset[str] | None] = ContextVar("LISTED", default=None)


def _unlisted() -> frozenset[str]:
    """Return the names of the tools that the caller of this call does not see."""
    return _not_among(LISTED.get(), settings.MEMORIES_ENABLED)


@lru_cache(maxsize=256)  # asked for some times by each call: 500 function calls of a save's 6,700
def _not_among(listed: frozenset[str] | None, has_notes: bool) -> frozenset[str]:
    there = frozenset(TOOLS) - (frozenset() if has_notes else NOTE_TOOLS)
    return frozenset(TOOLS) - (there if listed is None else there & listed)


def is_listed(name: str) -> bool:
    """Whether the caller of this call sees the tool of this name."""
    return name not in _unlisted()


def in_list(name: str) -> str:
    """Return the name, or where the caller of this call does not see that tool the one it has instead."""
    gone = _unlisted()
    return name if name not in gone else stand_in(name, TOOLS.keys() - gone) or name


def for_list(text: str, *, or_nearest: bool = False) -> str:
    """Return a text of ours for the caller of this call: without the sentences that name a tool it does not see.

    So each sentence has to stand without the others.

    Args:
        or_nearest: first put the tools that come nearest of those it sees in place of the others.
    """
    if or_nearest:
        text = _NAME.sub(lambda found: in_list(found[0]) if found[0] in TOOLS else found[0], text)
    missing = _unlisted()
    if missing.isdisjoint(_NAME.findall(text)):
        return text
    kept: list[str] = []
    for sentence in (each for cut in sentences(text) for each in _BEFORE_A_NAME.split(cut)):
        if missing.isdisjoint(_NAME.findall(sentence)):
            kept.append(sentence)
        elif kept and "\n" in (after := sentence[len(sentence.rstrip()) :]):
            kept[-1] = kept[-1].rstrip() + after  # where a paragraph or an item ends, it ends still
    return "".join(kept)


def described(tool: Tool[Any]) -> str:
    """Return a tool's description for the caller of this call: what it does, and the rest `for_list`."""
    first = tool.first_sentence
    return (first + for_list(tool.description.removeprefix(first))).rstrip()


def require_on(tool: ApiOperation[Any]) -> None:
    """Raise ApiError (`notes_disabled`) for what is switched off."""
    if tool.name in NOTE_TOOLS:
        require_notes(f"{tool.name} is switched off")


def require_notes(so: str) -> None:
    """Raise ApiError (`notes_disabled`), and what follows for the call, where this installation keeps no notes."""
    if not settings.MEMORIES_ENABLED:
        message = f"This installation keeps no notes (MEMORIES_ENABLED is off), so {so}."
        help = for_list("Memory blocks are there as ever. list_memory_blocks names them.", or_nearest=True)
        raise ApiError(ErrorCode.NOTES_DISABLED, message, help=[help])


def find(name: str, *, listed: Collection[Tool[Any]]) -> Tool[Any]:
    """Return the tool of this name. Raise ApiError (`unknown_tool`) with the nearest one of the caller's list."""
    if name in TOOLS:
        return TOOLS[name]
    there = [tool.name for tool in listed]
    near = nearest(name, there)
    hint = f" Did you mean {near}?" if near else ""
    message, help = f"There is no tool '{name[:100]}'.{hint}", f"There are: {', '.join(there)}."
    raise ApiError(ErrorCode.UNKNOWN_TOOL, message, help=[help], details={"nearest": near, "tools": there})


def definition(tool: Tool[Any], form: str, *, is_strict: bool = False) -> dict[str, Any]:
    """Return a tool as makers of models want it.

    Args:
        form: native, openai (Chat Completions), responses, anthropic or mcp.
        is_strict: with `strict_schema`, and marked so where the form has a mark for it.
    """
    shown = taken.shown_schema(tool.arguments)
    schema = taken.strict_schema(shown) if is_strict else shown
    named = {"name": tool.name, "description": described(tool)}
    function: dict[str, Any] = named | {"parameters": schema} | ({"strict": True} if is_strict else {})
    match form:
        case "openai":
            return {"type": "function", "function": function}
        case "responses":  # takes a definition as strict unless it says that it is not
            return {"type": "function", "strict": False} | function
        case "anthropic":
            return named | {"input_schema": schema} | ({"strict": True} if is_strict else {})
        case "mcp":
            return named | {"title": tool.title, "inputSchema": schema, "annotations": _annotations(tool)}
    return function | {
        "scope": tool.scope.value,
        "effect": tool.effect.value,
        "timeout": tool.time_limit,
        "url": f"/api/v1/tools/{tool.name}/",
    }


def _annotations(tool: Tool[Any]) -> dict[str, Any]:
    """Return what MCP has beside a definition. Nothing a tool does destroys: a person decides, or can take it back."""
    read_only = tool.effect is Effect.READ_ONLY
    return {
        "title": tool.title,
        "readOnlyHint": read_only,
        "destructiveHint": False,
        "idempotentHint": read_only or tool.is_repeatable,
        "openWorldHint": False,
    }
