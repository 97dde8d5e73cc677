"""How values lie in Redis: counts as Redis counts them, anything else as JSON, which runs no code when it is read."""

from __future__ import annotations

import json
from typing import Any


class JsonSerializer:
    """Takes the place of `django.core.cache.backends.redis.RedisSerializer`. Tuples come back as lists."""

    def __init__(self, protocol: int | None = None) -> None:
        """`protocol` is pickle's; nothing here has one."""

    def dumps(self, value: Any) -> bytes | int:
        # Redis increments only numbers that are kept as such.
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        """Raises ValueError where somebody else wrote what is no JSON."""
        return json.loads(data)
