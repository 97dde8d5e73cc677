"""How values are stored in Redis: counts as Redis's own numbers, anything else as JSON, which runs no code when read.

And how they are counted: in one round trip, since every call of an agent is counted.
"""

import json
from typing import Any

from django.core.cache.backends import redis


class JsonSerializer:
    """Replaces `django.core.cache.backends.redis.RedisSerializer`. Tuples come back as lists."""

    def __init__(self, protocol: int | None = None) -> None:
        """`protocol` is pickle's; nothing here has one."""

    def dumps(self, value: Any) -> bytes | int:
        # Redis increments only numbers that are kept as such.
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        """Return the value. Raises ValueError where another program wrote something that is not JSON."""
        return json.loads(data)


_COUNT = "if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('INCRBY', KEYS[1], ARGV[1]) end return false"


class _Client(redis.RedisCacheClient):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept: dict[bool, Any] = {}

    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        """Return one client for all commands: Django makes one for each, which takes longer than the command."""
        if write not in self._kept:
            self._kept[write] = super().get_client(key, write=write)
        return self._kept[write]

    def incr(self, key: Any, delta: int) -> int:
        """Increment and return the count. Raises ValueError where there is no such key; Django asks in another trip."""
        count = self.get_client(key, write=True).eval(_COUNT, 1, key, delta)
        if count is None:
            raise ValueError(f"no key {key!r}")
        return int(count)


class RedisCache(redis.RedisCache):
    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
