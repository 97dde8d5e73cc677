"""The modules of the client that are written from the registry, as source text.

`arguments` has the objects and choices among arguments; `answers` a class for each answer; `resources` the methods and
what is sent where, each once: the resource of `AsyncAssent` has the same functions.
"""

import json
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from agent_tools.answers import fields
from agent_tools.calls.registry import TOOLS, Effect
from agent_tools.client_code.methods import CLIENT, ClientMethod, client_methods

_WRITTEN = "Written by `manage.py client_code`: not edited by hand."
_WIDTH = 120


@dataclass(frozen=True)
class _Argument:
    name: str
    annotation: str
    means: str
    is_required: bool

    @property
    def parameter(self) -> str:
        """Return it as the head of a method has it."""
        return f"{self.name}: {self.annotation}" + ("" if self.is_required else " | None = None")


#: Arguments of every method, which are of the client and not of the server.
_OPTIONS = (
    _Argument("user_id", "str", "Whose memory; the client's `user` otherwise.", is_required=False),
    _Argument("timeout", "float | httpx2.Timeout", "Seconds; the client's otherwise.", is_required=False),
)


class ClientSource:
    """All modules, by path below `_generated`."""

    def __init__(self) -> None:
        self._answers = AnswerClasses()
        self._objects = ObjectArguments()
        self._methods = list(client_methods())
        self._given = {method.called: self._arguments(method) for method in self._methods}

    def modules(self) -> dict[str, str]:
        """Return the source of each module."""
        return {
            "__init__.py": f'"""What follows from the server\'s registry. {_WRITTEN}"""\n',
            "answers.py": self._answers.source,
            "arguments.py": self._arguments_module(),
            "resources.py": self._resources_module(),
        }

    def _arguments(self, method: ClientMethod) -> tuple[list[_Argument], list[_Argument]]:
        """Return the arguments that may be given by position, and the others."""
        schema = method.asked.schema
        required = {*schema["required"], *method.in_path}
        given = {
            name: _Argument(name, self._objects.annotation(name, each), each.get("description", ""), name in required)
            for name, each in schema["properties"].items()
            if name not in method.leave_out
        }
        if method.method == "DELETE":
            given.pop("idempotency_key", None)  # doing it twice deletes nothing more
        first = [given.pop(name) for name in method.in_path or [name for name in given if name in required][:1]]
        return first, [*sorted(given.values(), key=lambda argument: not argument.is_required), *_OPTIONS]

    def _arguments_module(self) -> str:
        parts = [
            f'"""Objects and choices among the arguments of methods. {_WRITTEN}"""',
            "",
            "from typing import Literal, Required, TypedDict",
        ]
        for name, schema in self._objects.named.items():
            if "choice" in schema:
                parts += ["", f"{name} = {schema['choice']}"]
                continue
            parts += _class(name, "TypedDict", schema.get("description", ""))
            required = schema.get("required", ())
            for field, each in schema["properties"].items():
                kind = self._objects.annotation(field, each)
                parts += _wrapped(each.get("description", ""), "    #: ", "    #: ")
                parts.append(f"    {field}: {f'Required[{kind}]' if field in required else kind}")
        return "\n".join([*parts, ""])

    def _resources_module(self) -> str:
        read_only = [f'"{name}"' for name, tool in TOOLS.items() if tool.effect is Effect.READ_ONLY]
        parts = [
            f'"""The resources of both clients, as the server\'s registry describes them. {_WRITTEN}"""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Mapping, Sequence",
            "from typing import Any, Literal",
            "",
            "import httpx2",
            "",
            "from assent_client._generated import answers",
            *_listed("from assent_client._generated.arguments import (", [*self._objects.named], ")", indent=4),
            "from assent_client.exchange import Operation",
            "from assent_client.resource import Page, Resource, awaited, paged",
            "",
            "#: Tools that change nothing, and so need no idempotency key.",
            *_listed("READ_ONLY_TOOLS = frozenset((", read_only, "))", indent=4),
        ]
        resources: dict[str, list[ClientMethod]] = defaultdict(list)
        for method in self._methods:
            resources[method.resource].append(method)
        resources["tools"]  # there, with or without a method
        for resource, methods in resources.items():
            name = resource.title()
            parts += [*_class(name, "Resource", f"`client.{resource}`."), ""]
            parts += [line for method in methods for line in self._method(method)]
            while not parts[-1]:
                parts.pop()
            parts += [*_class(f"Async{name}", "Resource", f"`client.{resource}` of `AsyncAssent`.")]
            if methods:
                parts.append("")
            for method in methods:
                returned = "paged" if method.operation in self._answers.item_of else "awaited"
                parts.append(f"    {method.name} = {returned}({name}.{method.name})")
        return "\n".join([*parts, ""])

    def _method(self, method: ClientMethod) -> list[str]:
        item = self._answers.item_of.get(method.operation)
        answer = f"answers.{self._answers.of[method.operation]}"
        first, rest = self._given[method.called]
        parameters = ["self", *(each.parameter for each in first), "*", *(each.parameter for each in rest)]
        returns = f"Page[answers.{item}]" if item else answer
        return [
            *_listed(f"    def {method.name}(", parameters, f") -> {returns}:", indent=8),
            *_wrapped(f'"""{_escaped(method.asked.description.strip())}', " " * 8, " " * 8),
            "",
            "        Args:",
            *(
                line
                for each in (*first, *rest)
                for line in _wrapped(f"{each.name}: {_escaped(each.means)}".rstrip(": "), " " * 12, " " * 16)
            ),
            '        """',
            f"        return self.{'_page' if item else '_run'}({self._operation(method)}, locals())",
            "",
        ]

    def _operation(self, method: ClientMethod) -> str:
        """Return what is sent where, as source."""
        parts = [f'"{method.operation}"', f"answers.{self._answers.of[method.operation]}"]
        if method.path:
            parts += [f'"{method.method}"', f'"{method.path}"']
        if method.defaults:
            parts.append(f"defaults={json.dumps(method.defaults)}")
        if any(each.name == "idempotency_key" for each in self._given[method.called][1]):
            parts.append("writes=True")
        return f"Operation({', '.join(parts)})"


def _class(name: str, base: str, means: str) -> list[str]:
    total = ", total=False" if base != "Resource" else ""
    head = ["", "", f"class {name}({base}{total}):"]
    return [*head, *_wrapped(f'"""{_escaped(means)}"""', "    ", "    ")] if means else head


def _wrapped(text: str, first: str, following: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=following, break_long_words=False)


def _listed(first: str, items: list[str], last: str, *, indent: int) -> list[str]:
    """Return a list in brackets: on one line where it fits, else below its head, as many of it on a line as fit."""
    whole = f"{first}{', '.join(items)}{last}"
    if len(whole) <= _WIDTH:
        return [whole]
    kept_whole = ", ".join(each.replace(" ", "\xa0") for each in items) + ","
    pad = " " * indent
    lines = textwrap.wrap(
        kept_whole, _WIDTH, initial_indent=pad, subsequent_indent=pad, break_long_words=False, break_on_hyphens=False
    )
    return [first, *(line.replace("\xa0", " ") for line in lines), f"{pad[4:]}{last}"]


def _title(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', r"\"\"\"")


# -- The classes of answers, and the Python types of what a method takes and is answered: arguments have a JSON Schema,
# the fields of answers a type in the registry.

#: Characters of a choice that has no name of its own.
_LONG = 80
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def of_field(text: str) -> str:
    """Return the annotation of a field of an answer, from its row in the registry."""
    kind, may_be_absent, _ = fields.read(text)
    options = [_annotated(each) for each in kind.split(" | ")]
    if len(set(options) - {"None"}) > 1:
        return "Any"
    return " | ".join(dict.fromkeys([*options, *(["None"] if may_be_absent else [])]))


def _annotated(kind: str) -> str:
    """Return the annotation of a type as `answers.fields` writes it; objects are plain dicts."""
    if kind.endswith("[]"):
        return f"list[{_annotated(kind.removesuffix('[]'))}]"
    if kind.endswith("{}"):
        return f"dict[str, {_annotated(kind.removesuffix('{}'))}]"
    return "None" if kind == "null" else _SIMPLE.get(kind, "dict[str, Any]")


class ObjectArguments:
    """The annotations of arguments; objects and long choices among them have a name, collected in `named`."""

    def __init__(self) -> None:
        self.named: dict[str, dict[str, Any]] = {}

    def annotation(self, name: str, schema: dict[str, Any]) -> str:
        """Return the type of an argument."""
        if "enum" in schema:
            choice = f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
            return choice if len(choice) <= _LONG else self._name(f"{name}_choice", {"choice": choice})
        if "anyOf" in schema:
            return " | ".join(self.annotation(name, form) for form in schema["anyOf"])
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items", {})
            return f"Sequence[{self.annotation(name.removesuffix('s'), items)}]"
        if kind == "object":
            return self._name(f"{name}_param", schema) if schema.get("properties") else "Mapping[str, Any]"
        return _SIMPLE.get(str(kind), "Any")

    def _name(self, name: str, schema: dict[str, Any]) -> str:
        called = (f"{_title(name)}{number}" for number in ("", *range(2, 9)))
        return next(each for each in called if self.named.setdefault(each, schema) == schema)


#: Attributes of every answer: a field of that name is in `data` alone.
_TAKEN = frozenset({"text", "data", "request_id", "decisions"})

_HEAD = '''\
"""The answers of the server, as its registry describes them. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from typing import Any

from assent_client.answers import Answer, ListAnswer, Record, absent
'''


_Typed = dict[str, tuple[str, str]]


class AnswerClasses:
    """The classes of all answers; operations with equal fields share one.

    What has every field of an item inherits them: a proposal in full is one of a list, and more.
    """

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.item_of: dict[str, str] = {}
        self._named: dict[tuple[tuple[str, str], ...], str] = {}
        self._records: dict[str, _Typed] = {}
        self._source: list[str] = [_HEAD]
        self._write("WrittenChange", "Record", _typed(fields.WRITTEN), "What became of a change.")
        for method in client_methods():
            if method.operation not in self.of:
                self.of[method.operation] = self._answer(method.operation, method.asked.returns)

    @property
    def source(self) -> str:
        return "\n".join(self._source)

    def _answer(self, operation: str, returns: dict[str, str]) -> str:
        key = tuple(returns.items())
        if key in self._named:
            name = self._named[key]
            if name in self.item_of:
                self.item_of[operation] = self.item_of[name]
            return name
        name = CLIENT["answers"].get(operation) or _title(operation) + "Answer"
        plain, nested = fields.split(returns)
        lists = {field: self._item(name, field, inner) for field, inner in nested.items()}
        if "items" in lists and "next" in plain:
            del plain["next"]
            self.item_of[operation] = self.item_of[name] = lists["items"]
            base = f"ListAnswer[{lists.pop('items')}]"
        else:
            base = "Answer"
        typed = _typed({field: text for field, text in plain.items() if field not in _TAKEN})
        typed |= {field: (f"list[{item}]", "") for field, item in lists.items()}
        self._write(name, base, typed, f"What `{operation}` answers.")
        self._named[key] = name
        return name

    def _item(self, owner: str, field: str, returns: dict[str, str]) -> str:
        key = ("item", ""), *returns.items()
        if key in self._named:
            return self._named[key]
        singular = _title(field.removesuffix("s"))
        name = CLIENT["items"].get(f"{owner}.{field}") or f"{owner}{singular}"
        self._write(name, "Record", _typed(returns), f"An item of `{owner}.{field}`.")
        self._named[key] = name
        return name

    def _write(self, name: str, base: str, typed: _Typed, says: str) -> None:
        is_item = base == "Record"
        kinds = {(field, kind) for field, (kind, _) in typed.items()}
        parts = [
            record
            for record, inner in self._records.items()
            if {(field, kind) for field, (kind, _) in inner.items() if is_item or field not in _TAKEN} <= kinds
        ]
        inherited: _Typed = {}
        if parts:
            record = max(parts, key=lambda each: len(self._records[each]))
            base, inherited = record if is_item else f"{base}, {record}", self._records[record]
        own = {field: each for field, each in typed.items() if inherited.get(field) != each}
        lines = ["", f"class {name}({base}):", f'    """{says}"""']
        for field, (annotation, means) in own.items():
            lines += textwrap.wrap(means, 113, initial_indent="    #: ", subsequent_indent="    #: ")
            lines.append(f"    {field}: {annotation} = absent()")
        if is_item:
            self._records[name] = typed
        self._source.append("\n".join([*lines, ""]))


def _typed(returns: fields.Fields) -> _Typed:
    """Return the annotation of each field, and what it means."""
    return {field: (of_field(text), fields.read(text)[2]) for field, text in returns.items()}
