"""The modules of the client that are written from the registry, as source text."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from typing import Any

from agent_tools.calls.api_operation import Effect
from agent_tools.client_code.answers import AnswerClasses
from agent_tools.client_code.methods import ClientMethod, client_methods
from agent_tools.client_code.types import Parameters

_WRITTEN = "Written by `manage.py client_code`: not edited by hand."
_RESOURCE_HEAD = '''\
"""`client.{resource}`, as the server's registry describes it. {written}"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["Async{name}", "{name}"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)
'''
_OPTIONS = {
    "user_id": ("str | None", "Whose memory; the client's `user` otherwise."),
    "timeout": ("float | httpx2.Timeout | None", "Seconds; the client's otherwise."),
}
_MANY = 113
#: Resources that the client adds methods to by hand.
EXTENDED = frozenset({"notes", "proposals", "tools"})


class ClientSource:
    """All modules, by path below `_generated`."""

    def __init__(self) -> None:
        self._answers = AnswerClasses()
        self._parameters = Parameters()
        self._methods: dict[str, list[ClientMethod]] = defaultdict(list)
        for method in client_methods():
            self._methods[method.resource].append(method)
        self._methods["tools"]  # there, with or without a method

    def modules(self) -> dict[str, str]:
        """Return the source of each module."""
        made = {f"{resource}.py": self._resource(resource) for resource in self._methods}
        # The typed dicts are known once all methods are written.
        return {
            "__init__.py": f'"""What follows from the server\'s registry. {_WRITTEN}"""\n',
            **made,
            "answers.py": self._answers.source,
            "operations.py": self._operations(),
            "others.py": self._others(),
            "params.py": self._params(),
        }

    # -- resources --------------------------------------------------------------------------------

    def _resource(self, resource: str) -> str:
        name = resource.title()
        parts = [_RESOURCE_HEAD.format(resource=resource, name=name, written=_WRITTEN)]
        for asynchronous in (False, True):
            prefix, base = ("Async", "AsyncResource") if asynchronous else ("", "Resource")
            methods = "\n".join(self._method(method, asynchronous) for method in self._methods[resource])
            parts.append(f"\nclass {prefix}{name}({base}):\n{methods or '    pass'}\n".replace("\n\n\n", "\n\n"))
        return "\n".join(parts)

    def _method(self, method: ClientMethod, asynchronous: bool) -> str:
        item = self._answers.item_of.get(method.operation)
        answer = f"answers.{self._answers.of[method.operation]}"
        first, rest = self._arguments(method)
        given = {**first, **rest}
        signature = ["self", *(f"{name}: {kind}" for name, (kind, _) in first.items()), "*"]
        signature += [f"{name}: {kind}" for name, (kind, _) in rest.items()]
        signature += [f"{name}: {kind} = None" for name, (kind, _) in _OPTIONS.items()]
        page = f"AsyncPager[answers.{item}]" if asynchronous else f"Page[answers.{item}]"
        returns = page if item else answer
        does = "async def" if asynchronous and not item else "def"
        run = "self._page" if item else "await self._run" if asynchronous else "self._run"
        lines = [f"    {does} {method.name}("]
        lines += [f"        {part}," for part in signature]
        lines.append(f"    ) -> {returns}:")
        lines += self._docstring(method, {name: means for name, (_, means) in given.items()})
        lines += [
            "        arguments: dict[str, Any] = {",
            *(f'            "{name}": {name},' for name in given),
            "        }",
            f"        return {run}(operations.{_constant(method)}, arguments, user_id, timeout)",
            "",
        ]
        return "\n".join(lines)

    def _arguments(self, method: ClientMethod) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return name → (annotation with default, meaning) of those given by position, and of the others."""
        schema = method.asked.schema
        required = {*schema["required"], *method.in_path}
        defaults = dict(method.defaults)
        properties = {name: each for name, each in schema["properties"].items() if name not in method.leave_out}
        if method.method == "DELETE":
            properties.pop("idempotency_key", None)  # doing it twice deletes nothing more
        first = method.in_path or [name for name in properties if name in required][:1]
        made: dict[str, tuple[str, str]] = {}
        for name in [*first, *(each for each in properties if each in required), *properties]:
            kind = self._parameters.annotation(name, properties[name])
            written = kind if name in required else f"{kind} | None = {defaults.get(name)}"
            made.setdefault(name, (written, properties[name].get("description", "")))
        return {name: made[name] for name in first}, {name: each for name, each in made.items() if name not in first}

    def _docstring(self, method: ClientMethod, meanings: dict[str, str]) -> list[str]:
        description = method.asked.description.strip()
        lines = textwrap.wrap(description, _MANY - 4, break_long_words=False)
        out = [f'        """{_escaped(lines[0])}', *(f"        {_escaped(line)}" for line in lines[1:])]
        out += ["", "        Args:"]
        for name, means in (meanings | {name: means for name, (_, means) in _OPTIONS.items()}).items():
            wrapped = textwrap.wrap(
                f"{name}: {_escaped(means)}".rstrip(": "),
                _MANY,
                initial_indent=" " * 12,
                subsequent_indent=" " * 16,
                break_long_words=False,
            )
            out += wrapped
        return [*out, '        """']

    # -- what resources rest on -------------------------------------------------------------------

    def _operations(self) -> str:
        lines = [
            f'"""The operations of the server. {_WRITTEN}"""',
            "",
            "from __future__ import annotations",
            "",
            "from assent_client._generated import answers",
            "from assent_client.exchange import Operation",
            "",
        ]
        reading: list[str] = []
        for method in (each for methods in self._methods.values() for each in methods):
            writes = method.asked.effect is Effect.SIDE_EFFECTING
            if not writes and method.operation not in reading and not method.path:
                reading.append(method.operation)
            lines += [
                f"{_constant(method)} = Operation(",
                f'    name="{method.operation}",',
                f'    method="{method.method}",',
                f'    path="{method.address}",',
                f"    answer=answers.{self._answers.of[method.operation]},",
                f"    writes={writes and method.method != 'DELETE'},",
                ")",
            ]
        lines += ["", "#: Tools that change nothing, and so need no idempotency key.", "READ_ONLY_TOOLS = frozenset("]
        return "\n".join([*lines, "    {", *(f'        "{name}",' for name in reading), "    }", ")", ""])

    def _others(self) -> str:
        names = sorted(set(self._methods) - EXTENDED)
        lines = [
            f'"""The resources that are as generated. {_WRITTEN}"""',
            "",
            "from __future__ import annotations",
            "",
            "from functools import cached_property",
            "from typing import Any",
            "",
            f"from assent_client._generated import {', '.join(names)}",
        ]
        for prefix, owner in (("", "SyncOthers"), ("Async", "AsyncOthers")):
            lines += ["", "", f"class {owner}:"]
            for name in names:
                lines += [
                    "    @cached_property",
                    f"    def {name}(self) -> {name}.{prefix}{name.title()}:",
                    "        client: Any = self",
                    f"        return {name}.{prefix}{name.title()}(client)",
                    "",
                ]
            lines.pop()
        return "\n".join([*lines, ""])

    def _params(self) -> str:
        lines = [
            f'"""Objects that are arguments. {_WRITTEN}"""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Mapping, Sequence",
            "from typing import Any, Literal, Required, TypedDict",
            "",
            "_USED: tuple[object, ...] = (Any, Literal, Mapping, Required, Sequence)",
        ]
        for name, schema in self._parameters.classes.items():
            lines += ["", "", f"class {name}(TypedDict, total=False):"]
            if means := schema.get("description"):
                lines += [f'    """{_escaped(means)}"""', ""]
            for field, each in schema["properties"].items():
                kind = self._parameters.annotation(field, each)
                lines += textwrap.wrap(
                    each.get("description", ""), _MANY, initial_indent="    #: ", subsequent_indent="    #: "
                )
                required = field in schema.get("required", ())
                lines.append(f"    {field}: {f'Required[{kind}]' if required else kind}")
        return "\n".join([*lines, ""])


def _constant(method: ClientMethod) -> str:
    return method.called.replace(".", "_").upper()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
