"""The settings of the web server, read from the environment.

`settings` reads them too, so that a wrong value stops whatever else is started (a migration, say) as well. Nothing of
Django is imported but its exceptions: the server's first process must not import sqlite3.
"""

import re
from dataclasses import dataclass

from memory_app.configuration.environment import BadSetting, Environment

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_BIND = re.compile(r"unix:.+|fd://\d+|(?:[\w.-]*|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class Options:
    """The settings of the web server.

    Attributes:
        bind: `host:port`, `unix:/path` or `fd://3`.
        metrics_bind: the same, for `/metrics` alone; empty for none.
        silence: seconds without a byte after which a client is dropped.
        calls_under_way: of one token, at most.
        largest_call: bytes of a call of the agent API, or of /mcp.
    """

    bind: str
    metrics_bind: str
    workers: int
    threads: int
    calls_under_way: int
    silence: int
    log_level: str
    largest_call: int

    @property
    def largest_form(self) -> int:
        """Return the bytes of a form. One with a whole block is over Django's 2.5 MB only by mistake."""
        return max(self.largest_call, 2_621_440)


def read(env: Environment) -> Options:
    """Return the settings. Raise BadSetting for a value that cannot be used."""
    return Options(
        bind=_bind(env, "ASSENT_BIND", "127.0.0.1:8000"),
        metrics_bind=_bind(env, "ASSENT_METRICS_BIND", ""),
        workers=env.whole("ASSENT_WORKERS", default=1, least=1, most=1_000),
        threads=env.whole("ASSENT_THREADS", default=8, least=1, most=1_000),
        calls_under_way=env.whole("ASSENT_CALLS_UNDER_WAY", default=4, least=1, most=100),
        silence=env.whole("ASSENT_READ_TIMEOUT", default=20, least=1, most=3_600),
        log_level=env.choice("ASSENT_LOG_LEVEL", allowed=LOG_LEVELS, default="INFO"),
        largest_call=env.whole("ASSENT_REQUEST_LIMIT", default=1024 * 1024, least=1024),
    )


def _bind(env: Environment, name: str, default: str) -> str:
    value = env.text(name, default=default)
    found = _BIND.fullmatch(value)
    if value and (not found or int(found["port"] or 0) > 65_535):
        raise BadSetting(f"{name} is {value!r}: it has to be host:port (a port up to 65535) or unix:/path.")
    return value
