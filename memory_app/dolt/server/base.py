"""Django database backend for Dolt sql-server (`ENGINE = "memory_app.dolt.server"`).

Needs the `server` extra (mysqlclient). A branch is a connection to the database `name/branch`; the
only isolation level is REPEATABLE READ.
"""

from __future__ import annotations

import re
from typing import Any

from django.db.backends.mysql.base import DatabaseWrapper as MySQLWrapper
from django.db.utils import Error as DatabaseError
from django.db.utils import OperationalError

from memory_app import deadlines
from memory_app.dolt import errors
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import Author

_UNKNOWN_DATABASE = 1049
_DEADLOCK, _LOCK_TIMEOUT, _OTHER = 1213, 1205, 1105
_GONE, _LOST = 2006, 2013
_UNREACHABLE = {2002, 2003, 2005, _GONE, _LOST}
# Two of Dolt's races come as the catch-all 1105 and are told apart by their words only.
_RACES = re.compile(r"optimistic lock failed|not ancestor|cannot commit on stale|serialization failure", re.I)
_NO_REVISION = re.compile(
    r"branch not found|invalid ref spec|invalid ancestor spec|target commit not found|could not find|"
    r"unknown ref|no such (commit|branch)|ref not found|database not found|not a valid",
    re.I,
)


class DoltServerOperations(DoltOperations):
    hash_pattern = re.compile(r"[0-9a-v]{32}")
    engine = "Dolt"
    collects_by_hand = False

    def version(self) -> str:
        try:
            return str(self._query("SELECT dolt_version()")[0][0])
        except DatabaseError as error:
            raise errors.NotDolt("the server is MySQL or MariaDB, not Dolt") from error

    def _call(self, verb: str, *arguments: str) -> list[tuple[Any, ...]]:
        marks = ", ".join(["%s"] * len(arguments))
        return self._query(f"CALL {verb}({marks})", arguments)

    def _as_of(self, table: str, revision: str) -> tuple[str, list[str]]:
        return f"{self.connection.ops.quote_name(table)} AS OF %s", [revision]

    def _merge(self, head: str, message: str, author: Author) -> str:
        merged, _, conflicts, _ = self._call("dolt_merge", head, "--no-ff", "-m", message, "--author", str(author))[0]
        if conflicts:
            raise errors.MergeConflict(head)
        if not merged:
            raise errors.AlreadyMerged(head)
        return str(merged)

    def translate(self, error: DatabaseError) -> errors.DoltError | None:
        code, text = _code(error), str(error)
        if code in _UNREACHABLE:
            return errors.EngineUnavailable(text)
        if "nothing to commit" in text:
            return errors.NothingToCommit(text)
        if "conflict" in text.lower() and code == _OTHER and not _RACES.search(text):
            return errors.MergeConflict(text)
        if code == _UNKNOWN_DATABASE or (code == _OTHER and _NO_REVISION.search(text)):
            return errors.RevisionNotFound(text)
        return None

    def is_retryable(self, error: BaseException) -> bool:
        if not isinstance(error, DatabaseError):
            return False
        return _code(error) in {_DEADLOCK, _LOCK_TIMEOUT} or (
            _code(error) == _OTHER and bool(_RACES.search(str(error)))
        )

    def lost_connection(self, error: BaseException) -> bool:
        raw = error.__cause__ if isinstance(error, errors.EngineUnavailable) else error
        return isinstance(raw, OperationalError) and _code(raw) in {_GONE, _LOST}

    def database_at(self, revision: str) -> str:
        # Not `name@revision`: with that form Dolt looks for privileges on a database of this very name, and
        # only a user with all privileges on everything gets in.
        return f"{self.connection.settings_dict['NAME']}/{revision}"

    def gc(self) -> None:
        self._call("dolt_gc")


def _code(error: BaseException) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


class DatabaseWrapper(MySQLWrapper):
    """MySQL's wrapper; `dolt` has the verbs, `writable` is the router's permission to write."""

    display_name = "Dolt"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dolt = DoltServerOperations(self)
        self.writable = False

    def get_new_connection(self, conn_params: Any) -> Any:
        deadlines.require()  # a server that hangs would take its seconds to connect to
        at_most = deadlines.at_most(conn_params["connect_timeout"])
        return super().get_new_connection(conn_params | {"connect_timeout": at_most})
