"""Django database backend for DoltLite (`ENGINE = "memory_app.dolt.doltlite"`).

One writer per file at a time; a branch is a connection to `file@branch`.
"""

import re
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.utils import OperationalError

from memory_app.databases import backups
from memory_app.databases.sqlite.base import QuietSQLiteWrapper
from memory_app.dolt import errors
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import FIRST, MAIN, Author
from memory_app.dolt.wrapper import MemoryWrapper
from memory_app.runtime import deadlines


class DoltLiteOperations(DoltOperations):
    hash_pattern = re.compile(r"[0-9a-f]{40}")
    engine = "DoltLite"
    copy_name = "memory.doltlite"
    _run = "SELECT"
    has_one_writer = True
    # dolt_merge silently truncates its message there; dolt_commit refuses more than about 20,000 characters.
    merge_message_limit = 255
    _retryable = re.compile("locked|busy", re.I | re.S)
    _errors = (
        (
            re.compile("unable to open database|disk I/O error|malformed|not a database", re.I | re.S),
            errors.EngineUnavailable,
        ),
        (re.compile("nothing to commit", re.I | re.S), errors.NothingToCommit),
        (re.compile("branch already exists", re.I | re.S), errors.BranchExists),
        (re.compile("conflict", re.I | re.S), errors.MergeConflict),
        (
            re.compile("^(?!.*no such table).*(invalid (ref spec|dolt_log)|no such branch|not found)", re.I | re.S),
            errors.RevisionNotFound,
        ),
    )
    # Author and message as bytes: a message truncated inside a character would make the whole log unreadable.
    _log = (
        "SELECT commit_hash, CAST(committer AS BLOB), CAST(email AS BLOB), date, CAST(message AS BLOB), ("
        "SELECT group_concat(parent_hash) FROM (SELECT parent_hash FROM dolt_commit_ancestors a "
        "WHERE a.commit_hash = l.commit_hash ORDER BY parent_index)) FROM dolt_log(%s) AS l"
    )

    def version(self) -> str:
        # `dolt_version()` answers for both of the library's engines; only this one tells them apart.
        try:
            engine, version = self._query("SELECT doltlite_engine(), dolt_version()")[0]
        except OperationalError as error:
            raise errors.NotDolt("the file is served by plain SQLite") from error
        if engine != "prolly":
            raise errors.NotDolt(f"the file is an ordinary SQLite database (engine {engine})")
        return str(version)

    def _as_of(self, table: str, revision: str) -> tuple[str, list[str]]:
        return f"{self.connection.ops.quote_name(f'dolt_at_{table}')}(%s)", [revision]

    def _diff(self, table: str, before: str, after: str) -> tuple[str, list[str]]:
        return f"{self.connection.ops.quote_name(f'dolt_diff_{table}')}(%s, %s)", [before, after]

    def _at_main(self, table: str) -> str:
        as_of = self.connection.ops.quote_name(f"dolt_at_{table}")
        # The hash is asked for first, and the rows are read at it.
        head = f"SELECT dolt_hashof('{MAIN}') AS commit_of_main"
        return f"SELECT * FROM ({head}) AS main JOIN {as_of}(commit_of_main)"  # noqa: S608 (names of our own)

    def _stand_on(self, branch: str) -> None:
        self._query("SELECT dolt_checkout(%s)", [branch])

    def _merge(self, head: str, message: str, author: Author) -> str:
        merged = str(self._call("dolt_merge", head, "--no-ff", "-m", message, "--author", str(author))[0][0])
        if not self.hash_pattern.fullmatch(merged):
            raise errors.AlreadyMerged(head)  # the text "Already up to date"
        return merged

    def database_at(self, revision: str) -> str:
        return f"{self.connection.settings_dict['NAME']}@{revision}"

    def damage(self) -> tuple[str, ...]:
        return tuple(str(line) for (line,) in self._query("PRAGMA integrity_check") if line != "ok")

    def gc(self, *, full: bool = False) -> None:
        self._call("dolt_gc")

    def back_up(self, to: Path) -> None:
        backups.copy_database(str(self.connection.settings_dict["NAME"]), to)

    def restore(self, copied: Path) -> None:
        self.connection.close()
        backups.place(copied, str(self.connection.settings_dict["NAME"]))


class DatabaseWrapper(MemoryWrapper, QuietSQLiteWrapper):
    display_name = "DoltLite"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dolt = DoltLiteOperations(self)

    def get_new_connection(self, conn_params: Any) -> Any:
        deadlines.require()
        # SQLite would make an empty one: the first is made by a migration, others by `manage.py memories add` alone.
        file = Path(self.settings_dict["NAME"].partition("@")[0])
        if not file.exists() and (self.database != FIRST or _is_known()):
            raise OperationalError(f"unable to open database file {file}: put it back, or restore a backup")
        return super().get_new_connection(conn_params)


def _is_known() -> bool:
    """Whether there was a first database already, as `default` says."""
    change = apps.get_model("memory_app", "Change")
    return change._meta.db_table in connection.introspection.table_names() and change.objects.exists()
