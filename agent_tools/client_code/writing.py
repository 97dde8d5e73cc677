"""The modules of the client that are written from the registry, as source text.

`arguments` has a typed dict for each method, over those of arguments that many take; `resources` the methods with what
is sent where, each written once: the resource of `AsyncAssent` has the same functions.
"""

import textwrap
from collections import defaultdict
from dataclasses import dataclass

from agent_tools.calls.registry import TOOLS, Effect
from agent_tools.client_code.answers import AnswerClasses, ObjectArguments
from agent_tools.client_code.methods import ClientMethod, client_methods

_WRITTEN = "Written by `manage.py client_code`: not edited by hand."
_WIDTH = 120
#: Arguments of every method, which are of the client and not of the server.
_OPTIONS = {
    "user_id": ("str | None", "Whose memory; the client's `user` otherwise."),
    "timeout": ("float | httpx2.Timeout | None", "Seconds; the client's otherwise."),
}
#: Typed dicts that others inherit: from which, and what they add, with `!` where it is required. A method takes the
#: longest of which it has everything.
_SHARED = {
    "CallArguments": ("Options", "session_id"),
    "PageArguments": ("CallArguments", "limit cursor"),
    "BoundedArguments": ("CallArguments", "max_characters"),
    "BoundedPageArguments": ("PageArguments", "max_characters"),
    "WriteArguments": ("CallArguments", "idempotency_key"),
    "ChangeArguments": ("WriteArguments", "evidence proposal_id force"),
    "EditArguments": ("ChangeArguments", "reasoning! confidence expected_sha256"),
    "NoteArguments": ("ChangeArguments", "reasoning"),
    "FileArguments": ("NoteArguments", "confidence expected_sha256"),
}


@dataclass(frozen=True)
class _Argument:
    name: str
    annotation: str
    means: str
    is_required: bool

    @property
    def field(self) -> str:
        kind = f"Required[{self.annotation}]" if self.is_required else f"{self.annotation} | None"
        return f"    {self.name}: {kind}"


class ClientSource:
    """All modules, by path below `_generated`."""

    def __init__(self) -> None:
        self._answers = AnswerClasses()
        self._objects = ObjectArguments()
        self._methods = list(client_methods())
        self._first: dict[str, list[_Argument]] = {}
        self._rest: dict[str, list[_Argument]] = {}
        for method in self._methods:
            self._first[method.called], self._rest[method.called] = self._arguments(method)
        self._typed_dicts, self._taken = self._shared()

    def modules(self) -> dict[str, str]:
        """Return the source of each module."""
        return {
            "__init__.py": f'"""What follows from the server\'s registry. {_WRITTEN}"""\n',
            "answers.py": self._answers.source,
            "arguments.py": self._arguments_module(),
            "resources.py": self._resources_module(),
        }

    def _arguments(self, method: ClientMethod) -> tuple[list[_Argument], list[_Argument]]:
        """Return the arguments given by position, and the others."""
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
        return first, sorted(given.values(), key=lambda argument: not argument.is_required)

    def _shared(self) -> tuple[dict[str, tuple[str, list[str]]], dict[str, str]]:
        """Return base and fields of each typed dict, and which one a method takes: the same fields are one class."""
        every = {
            f"{each.name}{'!' if each.is_required else ''}": each.field for rest in self._rest.values() for each in rest
        }
        found: dict[str, tuple[str, list[str]]] = {}
        whole: dict[str, set[str]] = {"Options": set()}
        for name, (base, fields) in _SHARED.items():
            added = [every[field] for field in fields.split()]
            found[name], whole[name] = (base, added), whole[base] | {*added}
        taken = {}
        for called, rest in self._rest.items():
            left = [each.field for each in rest]
            base = max((name for name in whole if whole[name] <= {*left}), key=lambda name: len(whole[name]))
            made = base, [field for field in left if field not in whole[base]]
            equal = [name for name, other in found.items() if other == made] if made[1] else [base]
            taken[called] = equal[0] if equal else _title(called.replace(".", "_"))
            if not equal:
                found[taken[called]] = made
        return found, taken

    def _arguments_module(self) -> str:
        parts = [
            f'"""What methods take, but for what is given by position. {_WRITTEN}"""',
            "",
            "# No annotation is a string here: what is required is asked of these classes when a call is made.",
            "from collections.abc import Mapping, Sequence",
            "from typing import Any, Literal, Required, TypedDict",
            "",
            "import httpx2",
            "",
            "_USED: tuple[object, ...] = (Any, Mapping)",
        ]
        for name, schema in self._objects.classes.items():
            parts += _class(name, "TypedDict", schema.get("description", ""))
            required = schema.get("required", ())
            for field, each in schema["properties"].items():
                kind = self._objects.annotation(field, each)
                parts += _wrapped(each.get("description", ""), "    #: ", "    #: ")
                parts.append(f"    {field}: {f'Required[{kind}]' if field in required else kind}")
        parts += _class("Options", "TypedDict", "What every method takes.")
        parts += [f"    {name}: {kind}" for name, (kind, _) in _OPTIONS.items()]
        for name, (base, added) in self._typed_dicts.items():
            parts += [*_class(name, base, ""), *added]
        return "\n".join([*parts, ""])

    def _resources_module(self) -> str:
        read_only = " ".join(name for name, tool in TOOLS.items() if tool.effect is Effect.READ_ONLY)
        parts = [
            f'"""The resources of both clients, as the server\'s registry describes them. {_WRITTEN}"""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Sequence",
            "from typing import Unpack",
            "",
            "from assent_client._generated import answers, arguments",
            "from assent_client.exchange import Operation",
            "from assent_client.resource import Page, Resource, awaited, paged",
            "",
            "#: Tools that change nothing, and so need no idempotency key.",
            f'READ_ONLY_TOOLS = frozenset("{read_only}".split())',
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
        first, rest = self._first[method.called], self._rest[method.called]
        signature = ["self", *(f"{each.name}: {each.annotation}" for each in first)]
        signature.append(f"**given: Unpack[arguments.{self._taken[method.called]}]")
        returns = f"Page[answers.{item}]" if item else answer
        head = f"    def {method.name}({', '.join(signature)}) -> {returns}:"
        if len(head) > _WIDTH:
            head = f"    def {method.name}(\n        {', '.join(signature)}\n    ) -> {returns}:"
        means = {each.name: each.means for each in [*first, *rest]} | {
            name: text for name, (_, text) in _OPTIONS.items()
        }
        passed = [self._operation(method), "given", *(f"{each.name}={each.name}" for each in first)]
        return [
            head,
            *_wrapped(f'"""{_escaped(method.asked.description.strip())}', " " * 8, " " * 8),
            "",
            "        Args:",
            *(
                line
                for name, text in means.items()
                for line in _wrapped(f"{name}: {_escaped(text)}".rstrip(": "), " " * 12, " " * 16)
            ),
            '        """',
            f"        return self.{'_page' if item else '_run'}({', '.join(passed)})",
            "",
        ]

    def _operation(self, method: ClientMethod) -> str:
        """Return what is sent where, as source."""
        answer, taken = self._answers.of[method.operation], self._taken[method.called]
        parts = [f'"{method.operation}"', f"answers.{answer}", f"arguments.{taken}"]
        if method.path:
            parts += [f'"{method.method}"', f'"{method.path}"']
        if method.defaults:
            parts.append(f"defaults={dict(method.defaults)}".replace("'", '"'))
        return f"Operation({', '.join(parts)})"


def _class(name: str, base: str, means: str) -> list[str]:
    total = ", total=False" if base != "Resource" else ""
    head = ["", "", f"class {name}({base}{total}):"]
    return [*head, *_wrapped(f'"""{_escaped(means)}"""', "    ", "    ")] if means else head


def _wrapped(text: str, first: str, following: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=following, break_long_words=False)


def _title(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
