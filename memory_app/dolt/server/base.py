"""Django database backend for Dolt sql-server (`ENGINE = "memory_app.dolt.server"`).

Needs the `server` extra (mysqlclient). A branch is a connection to the database `name/branch`; the
only isolation level is REPEATABLE READ.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import structlog
from django.db.backends.mysql.base import DatabaseWrapper as MySQLWrapper
from django.db.utils import Error as DatabaseError
from django.db.utils import OperationalError

from memory_app.databases.backups import CopyFailed
from memory_app.dolt import errors
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import MAIN, Author
from memory_app.dolt.wrapper import MemoryWrapper
from memory_app.runtime import deadlines

log = structlog.get_logger(__name__)

#: Seconds to wait for a collection, ours or another's.
_COLLECT_SECONDS = 600
_ASK_AGAIN = 0.05
#: Seconds without a statement after which a session is idle; who stands in the way has mostly been so for longer.
_IDLE = 5
_IDLE_FIRST = (60, 30, 15)
#: The lock of a collection, for the whole server: a collection waits for the statements of all databases.
_COLLECTING = "assent.gc"
_OTHER = 1105
_GONE, _LOST = 2006, 2013
_DANGLING = "dangling references requested during GC"
# Dolt's races have the catch-all number 1105 and differ by their words only. The last one: another session dropped
# the branch.
_RACES = "optimistic lock failed|not ancestor|cannot commit on stale|serialization failure|working set not found"
_NO_FOLDER = re.compile(r"permission denied|not found|no such file", re.I)
_NO_REVISION = (
    "branch not found|invalid ref spec|invalid ancestor spec|target commit not found|could not find|"
    "unknown ref|no such (commit|branch)|ref not found|database not found|not a valid"
)


class DoltServerOperations(DoltOperations):
    hash_pattern = re.compile(r"[0-9a-v]{32}")
    engine = "Dolt"
    copy_name = "memory.dolt"
    _run = "CALL"
    has_one_writer = False
    # Each begins with its number: "(1105, 'branch not found')". 1213 is a deadlock, 1205 a lock waited for too long.
    _retryable = re.compile(rf"^\((1213|1205),|^\(1105,.*({_RACES})", re.I | re.S)
    _errors = (
        (re.compile(r"^\((2002|2003|2005|2006|2013),", re.I | re.S), errors.EngineUnavailable),
        (re.compile("nothing to commit", re.I | re.S), errors.NothingToCommit),
        (re.compile(r"^\(1105,.*(a branch named|branch already exists)", re.I | re.S), errors.BranchExists),
        (re.compile(rf"^\(1105,(?!.*({_RACES})).*conflict", re.I | re.S), errors.MergeConflict),
        (re.compile(r"^\(1105,.*command denied", re.I | re.S), errors.CommandDenied),
        (re.compile(rf"^\(1049,|^\(1105,.*({_NO_REVISION})", re.I | re.S), errors.RevisionNotFound),
    )
    # Not dolt_commit_ancestors: asked for one commit, it fails with error 1105 when that is a merge.
    _log = "SELECT commit_hash, committer, email, date, message, parents FROM dolt_log(%s, '--parents')"

    def version(self) -> str:
        try:
            return str(self._query("SELECT dolt_version()")[0][0])
        except DatabaseError as error:
            raise errors.NotDolt("the server is MySQL or MariaDB, not Dolt") from error

    def _as_of(self, table: str, revision: str) -> tuple[str, list[str]]:
        return f"{self.connection.ops.quote_name(table)} AS OF %s", [revision]

    def _diff(self, table: str, before: str, after: str) -> tuple[str, list[str]]:
        return "dolt_diff(%s, %s, %s)", [before, after, table]

    def _at_main(self, table: str) -> str:
        quoted = self.connection.ops.quote_name(table)
        # HEAD is the commit this session's transaction began at, for the function too. For the name `main` it would
        # return the branch's newest commit, which may be later than the rows.
        return f"SELECT dolt_hashof('HEAD') AS commit_of_main, {quoted}.* FROM {quoted} AS OF 'HEAD'"  # noqa: S608

    def _stand_on(self, branch: str) -> None:
        name = str(self.connection.settings_dict["NAME"])
        self._query(f"USE {self.connection.ops.quote_name(name if branch == MAIN else self.database_at(branch))}")

    def is_ancestor(self, commit: str, of: str = MAIN) -> bool:
        # 0.3 ms at 100,000 commits, where a range of the log took 122.
        if not self.exists(commit):
            raise errors.RevisionNotFound(commit)
        return bool(self._query("SELECT has_ancestor(%s, %s)", [of, commit])[0][0])

    def _merge(self, head: str, message: str, author: Author) -> str:
        merged, _, conflicts, _ = self._call("dolt_merge", head, "--no-ff", "-m", message, "--author", str(author))[0]
        if conflicts:
            raise errors.MergeConflict(head)
        if not merged:
            raise errors.AlreadyMerged(head)
        return str(merged)

    def translate(self, error: DatabaseError) -> errors.DoltError | None:
        is_read_only = _code(error) == _OTHER and "read-only" in str(error)
        if is_read_only and "/" not in str(self.connection.settings_dict["NAME"]):
            return errors.EngineUnavailable(str(error))  # a standby; at a commit it would be a fault of ours
        return super().translate(error)

    def lost_connection(self, error: BaseException) -> bool:
        raw = error.__cause__ if isinstance(error, errors.EngineUnavailable) else error
        return isinstance(raw, OperationalError) and _code(raw) in {_GONE, _LOST}

    def database_at(self, revision: str) -> str:
        # Not `name@revision`: with that form Dolt looks for privileges on a database of this very name, and
        # only a user with all privileges on everything gets in.
        return f"{self.connection.settings_dict['NAME']}/{revision}"

    def ready_to_migrate(self) -> None:
        # A database that `dolt_backup` restored assigns numbers from 1 again, until the server restarts.
        with self.connection.cursor() as cursor:
            if "django_migrations" not in self.connection.introspection.table_names(cursor):
                return
            cursor.execute("SELECT MAX(id) FROM django_migrations")
            found = cursor.fetchone()  # none where the table is empty, after a user without the rights to it
            highest = int(found[0] or 0) if found else 0
            cursor.execute(f"ALTER TABLE django_migrations AUTO_INCREMENT = {highest + 1}")

    def gc(self, *, full: bool = False) -> None:
        with self._collecting_alone() as session:
            # Dolt's own collection takes no lock of ours. When it begins during this one, each waits for the other.
            way_out = threading.Timer(_COLLECT_SECONDS, self._stop, [session])
            way_out.daemon = True
            way_out.start()
            try:
                self._collect(full=full)
            except (OperationalError, errors.EngineUnavailable) as error:
                if self.is_retryable(error):
                    raise
                raise errors.EngineUnavailable(f"the garbage was not collected: {error}") from error
            finally:
                way_out.cancel()

    def _collect(self, *, full: bool) -> None:
        """Collect, and end the transactions that prevent it.

        A collection keeps what sessions stand on. A transaction began at the roots of all databases of the server,
        and after one of them was restored, or made again under the same name, its old root is nowhere. So Dolt fails
        for as long as such a transaction is open, whichever database it is for.
        """
        end = time.monotonic() + 4 * _IDLE
        for idle in chain(_IDLE_FIRST, repeat(_IDLE)):
            try:
                self._call("dolt_gc", *(["--full"] if full else []))
            except (OperationalError, errors.EngineUnavailable) as error:
                if _DANGLING not in str(error) or time.monotonic() > end:
                    raise
            else:
                return
            self._end_sessions(idle)
            deadlines.require()
            time.sleep(_IDLE / 5)

    @contextmanager
    def _collecting_alone(self) -> Iterator[int]:
        """Keep all our other sessions on this server from collecting, and yield the number of this one.

        A collection waits for every running statement, in any database. Two of them wait for each other for ever,
        and so does one for a session that waits for it in GET_LOCK: hence the polling.
        """
        end = time.monotonic() + _COLLECT_SECONDS
        try:
            while not self._query("SELECT GET_LOCK(%s, 0)", [_COLLECTING])[0][0]:
                if time.monotonic() > end:
                    raise errors.EngineUnavailable("another collection is under way")
                deadlines.require()
                time.sleep(_ASK_AGAIN)
            yield int(self._query("SELECT CONNECTION_ID()")[0][0])
        finally:
            # Release the lock however the collection ended; it may also have ended the session.
            self.connection.close()

    @contextmanager
    def _from_another_session(self, failed: str) -> Iterator[Any]:
        """Yield a cursor of another session; what the server refuses is logged as `failed`."""
        try:
            with closing(self.connection.copy()) as another, another.cursor() as cursor:
                yield cursor
        except DatabaseError as error:
            log.warning(failed, error=str(error))

    def _stop(self, session: int) -> None:
        with self._from_another_session("collection_not_stopped") as cursor:
            cursor.execute(f"KILL QUERY {session}")

    def _end_sessions(self, seconds: int) -> None:
        """End our user's sessions that have done nothing for so long; they connect again."""
        with self._from_another_session("idle_sessions_not_ended") as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist "
                "WHERE command = 'Sleep' AND time >= %s AND user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)",
                [seconds],
            )
            idle = [int(row[0]) for row in cursor.fetchall()]
            for session in idle:
                cursor.execute(f"KILL {session}")
            if idle:
                log.warning("idle_sessions_ended", sessions=len(idle))

    def back_up(self, to: Path) -> None:
        try:
            self._call("dolt_backup", "sync-url", to.as_uri())
        except (DatabaseError, errors.DoltError) as error:
            raise CopyFailed(f"Dolt could not copy the memory: {self._why_not(error, to)}") from error
        if not (to / "manifest").exists():
            raise CopyFailed(
                f"Dolt wrote its copy where this process does not see it: {to} is a folder of the *server's* machine. "
                "Use a folder that both see under the same path, for example a shared volume."
            )

    def restore(self, copied: Path) -> None:
        name = str(self.connection.settings_dict["NAME"])
        try:
            # `--force`, since the database exists already. Dolt empties it first, even when it finds no backup:
            # callers make sure that it is empty.
            self._call("dolt_backup", "restore", "--force", copied.as_uri(), name)
        except (DatabaseError, errors.DoltError) as error:
            raise CopyFailed(f"Dolt could not restore the memory: {self._why_not(error, copied)}") from error
        finally:
            self.connection.close()  # its session is still at the database that was there before

    def _why_not(self, error: Exception, folder: Path) -> str:
        """Return the server's error, with what to do about the two usual ones."""
        text = str(error)
        user, name = (self.connection.settings_dict[key] for key in ("USER", "NAME"))
        if "denied to user" in text:
            return f"{text}. As root: GRANT EXECUTE ON PROCEDURE `{name}`.dolt_backup TO `{user}`@`%`"
        if _NO_FOLDER.search(text):
            return (
                f"{text}. The *server* reads and writes {folder} itself: it has to see this folder under the same "
                "path, and to run as a user who may use it (the folder is open to the user who made it alone)"
            )
        return text


def _code(error: BaseException) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


class DatabaseWrapper(MemoryWrapper, MySQLWrapper):
    display_name = "Dolt"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dolt = DoltServerOperations(self)

    def get_new_connection(self, conn_params: Any) -> Any:
        return super().get_new_connection(deadlines.connecting(conn_params))

    def _start_transaction_under_autocommit(self) -> None:
        # Instead of turning autocommit off and on again, which costs two more round trips for each transaction.
        with self.cursor() as cursor:
            cursor.execute("START TRANSACTION")

    def _set_autocommit(self, autocommit: bool) -> None:
        if self.connection.get_autocommit() != autocommit:  # as the server said in its last answer
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # the stubs do not have it
