"""Django's backend for SQLite, whose transactions of one process take turns.

SQLite has one writer. The next one polls for the lock, after 1, 2, 5 ms and so on up to 100, although most transactions
end within one: with eight clients that write, most of their time went by in these sleeps.
"""

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteWrapper
from django.db.backends.sqlite3.base import SQLiteCursorWrapper

from memory_app.runtime import deadlines

_writing = threading.Lock()
#: Seconds to wait for a turn. An import writes for longer; SQLite's own lock is what excludes others.
_TURN = 0.25


#: Characters of a statement that is kept as SQLite reads it. Longer ones have hundreds of parameters, and are rare.
_LONGEST_KEPT = 4_000


class _Cursor(SQLiteCursorWrapper):
    """Rewrites `%s` to `?` once for each statement, and not each time: that was a thirtieth of the time of a call."""

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is not None or len(query) > _LONGEST_KEPT:
            return str(super().convert_query(query, param_names=param_names))
        return _with_question_marks(query)


@lru_cache(maxsize=1_000)
def _with_question_marks(query: str) -> str:
    return str(SQLiteCursorWrapper.convert_query(None, query))  # type: ignore[arg-type]  # it uses nothing of it


class QuietSQLiteWrapper(SQLiteWrapper):
    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=_Cursor)

    @property
    def queries_logged(self) -> bool:
        """Whether statements are recorded: where a test asks for it. Django records all in debug mode, which `make run`
        is in."""
        return self.force_debug_cursor


class DatabaseWrapper(QuietSQLiteWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._has_turn = False

    def _start_transaction_under_autocommit(self) -> None:
        self._has_turn = _writing.acquire(timeout=max(0.0, min(_TURN, deadlines.remaining())))
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._end_turn()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            _writing.release()
