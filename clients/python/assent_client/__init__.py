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

if TYPE_CHECKING:
    from assent_client.answers import RawResponse
    from assent_client.client import Assent, AsyncAssent
    from assent_client.errors import (
        APIConnectionError,
        APIResponseValidationError,
        APIStatusError,
        APITimeoutError,
        AssentError,
        AuthenticationError,
        BadRequestError,
        ConflictError,
        ContentTooLargeError,
        DecisionPending,
        InternalServerError,
        NotFoundError,
        PermissionDeniedError,
        RateLimitError,
        UnprocessableEntityError,
        WebhookVerificationError,
    )
    from assent_client.paging import AsyncPage, Page
    from assent_client.webhooks import WebhookEvent

#: As in pyproject.toml; a test compares them.
__version__ = "0.1.0"

_WHERE = {
    "client": ("Assent", "AsyncAssent"),
    "answers": ("RawResponse",),
    "paging": ("AsyncPage", "Page"),
    "webhooks": ("WebhookEvent",),
    "errors": (
        "APIConnectionError",
        "APIResponseValidationError",
        "APIStatusError",
        "APITimeoutError",
        "AssentError",
        "AuthenticationError",
        "BadRequestError",
        "ConflictError",
        "ContentTooLargeError",
        "DecisionPending",
        "InternalServerError",
        "NotFoundError",
        "PermissionDeniedError",
        "RateLimitError",
        "UnprocessableEntityError",
        "WebhookVerificationError",
    ),
}

__all__ = [
    "APIConnectionError",
    "APIResponseValidationError",
    "APIStatusError",
    "APITimeoutError",
    "Assent",
    "AssentError",
    "AsyncAssent",
    "AsyncPage",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ContentTooLargeError",
    "DecisionPending",
    "InternalServerError",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "RateLimitError",
    "RawResponse",
    "UnprocessableEntityError",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "webhooks":
        return importlib.import_module(f"{__name__}.webhooks")
    for module, names in _WHERE.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
