"""What the connections of both engines have beyond Django's.

Django knows one alias, `memory`, and one connection to it in each thread. The connections to further databases hang on
that one, so that whatever closes it (the end of a request or a task, `connections.close_all()`) closes them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import FIRST


class MemoryWrapper(BaseDatabaseWrapper):
    """A connection to one memory database, at main, a branch or a commit.

    Attributes:
        dolt: the verbs.
        writable: the router's permission to write.
        database: the name of the memory database.
        server: the server it is on, as in `MemoryDatabase`.
        beside: of the connection to the first database: this thread's connections to the others, by name.
    """

    dolt: DoltOperations
    database = FIRST
    server = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.writable = False
        self.beside: dict[str, MemoryWrapper] = {}
        # Not itself: a circle would keep the connection of a thread that ended.
        self._first: MemoryWrapper | None = None

    @property
    def first(self) -> MemoryWrapper:
        """Return this thread's connection to the first database."""
        return self._first or self

    def another(self, database: str, server: str, settings: dict[str, Any]) -> MemoryWrapper:
        """Return another connection for this thread, not opened yet."""
        made = self.__class__(settings, self.alias)
        made.database, made.server, made._first = database, server, self.first
        return made

    def family(self) -> Iterator[MemoryWrapper]:
        """Yield this thread's connections to all databases, and this one where it is none of them."""
        own = [self.first, *self.first.beside.values()]
        yield from own if self in own else [*own, self]

    def close(self) -> None:
        for each in self.beside.values():
            each.close()
        super().close()

    def close_if_unusable_or_obsolete(self) -> None:
        for each in self.beside.values():
            each.close_if_unusable_or_obsolete()
        super().close_if_unusable_or_obsolete()
