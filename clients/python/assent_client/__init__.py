"""Client of Assent, where what an AI agent remembers about a person is kept and people approve every change.

    from assent_client import Assent

    with Assent() as memory:  # MEMORY_URL, MEMORY_TOKEN
        print(memory.blocks.get("goals").body)

Belongs here: the client, the `memory` command (`cli`), what keeps an agent's own context within its limits (`context`).
Not here: anything of the server; nothing of it is imported.

Names are imported when they are first asked for: `context` and the command's help need no HTTP client.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assent_client import errors
from assent_client._version import __version__
from assent_client.errors import *  # noqa: F403 - what it names in `__all__`, each an exception

if TYPE_CHECKING:
    from assent_client.answers import RawResponse
    from assent_client.client import Assent, AsyncAssent
    from assent_client.resource import AsyncPage, Page
    from assent_client.webhooks import WebhookEvent

_WHERE = {
    "Assent": "client",
    "AsyncAssent": "client",
    "AsyncPage": "resource",
    "Page": "resource",
    "RawResponse": "answers",
    "WebhookEvent": "webhooks",
}

__all__ = ["Assent", "AsyncAssent", "AsyncPage", "Page", "RawResponse", "WebhookEvent", "__version__"]
__all__ += errors.__all__


def __getattr__(name: str) -> Any:
    if name == "webhooks":
        return importlib.import_module(f"{__name__}.webhooks")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
