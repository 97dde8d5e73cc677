"""Which operation of the registry is which method of the client, as client.toml says.

A tool that is not in there becomes a method of `client.tools`, under its own name: nothing is left out in silence.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry

#: The methods of the client by resource (`methods`), the names of answers and of their items.
CLIENT = tomllib.loads(Path(__file__).with_name("client.toml").read_text(encoding="utf-8"))

#: An argument in an address.
_IN_PATH = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class ClientMethod:
    """One method of a resource: `client.blocks.get` is of `blocks`, by the name of `get`.

    Args:
        operation: its name in the registry. One that is not there (yet) is passed over.
        method, path, leave_out, defaults: see client.toml.
    """

    resource: str
    name: str
    operation: str
    method: str = "POST"
    path: str = ""
    leave_out: frozenset[str] = frozenset()
    defaults: Mapping[str, int] = field(default_factory=dict)

    @property
    def called(self) -> str:
        return f"{self.resource}.{self.name}"

    @property
    def asked(self) -> registry.ApiOperation[Any]:
        return registry.TOOLS.get(self.operation) or registry.ENDPOINTS[self.operation]

    @property
    def in_path(self) -> list[str]:
        """Return the arguments that are part of the address."""
        return [name for name in _IN_PATH.findall(self.path) if name != "user_id"]


def client_methods() -> Iterator[ClientMethod]:
    """Yield the methods of this server, in the order of client.toml; tools that are not in it come last."""
    there, named = registry.TOOLS | registry.ENDPOINTS, set()
    for resource, methods in CLIENT["methods"].items():
        for name, told in methods.items():
            given = {"operation": told} if isinstance(told, str) else told
            leave_out = frozenset(given.get("leave_out", ()))
            method = ClientMethod(resource, name, **given | {"leave_out": leave_out})
            named.add(method.operation)
            if method.operation in there:
                yield method
    yield from (ClientMethod("tools", name, name) for name in registry.TOOLS if name not in named)
