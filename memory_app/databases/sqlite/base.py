"""Django's backend for SQLite, whose transactions of one process take turns.

SQLite has one writer. The next one polls for the lock, after 1, 2, 5 ms and so on up to 100, although most transactions
end within one: with eight clients that write, most of their time went by in these sleeps.
"""

import threading
from typing import Any

from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteWrapper

from memory_app.runtime import deadlines

_writing = threading.Lock()
#: Seconds to wait for a turn. An import writes for longer; SQLite's own lock is what excludes others.
_TURN = 0.25


class QuietSQLiteWrapper(SQLiteWrapper):
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
