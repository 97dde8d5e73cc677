"""Dolt's verbs, as SQL that both engines share, and what each engine has to bring.

`connection.dolt` is an instance for that connection. Verbs that write must run inside
`connections.dolt_transaction()`, never inside `atomic()`: a verb commits, and Django would believe that
its transaction is still open.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error as DatabaseError
from django.db.utils import OperationalError

from memory_app.databases import backups
from memory_app.dolt import errors
from memory_app.dolt.types import KEPT, MAIN, NEXT, SQUASHED, Author, Commit, Row, RowDiff, aware
from memory_app.text.trailers import Trailers

# What may name a branch: our own `p/<id>` and `p/<id>-<revision>`, those of `KEPT`, and main. Dolt's server panics on
# `refs/...`, so names are checked here rather than left to the engine.
BRANCH_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)?")


class DoltOperations(ABC):
    """The verbs of both engines, on one connection at one branch or commit.

    What the engines do in their own ways is abstract: one contract tests it on each.
    """

    #: Length of a commit hash: 40 hexadecimal digits on DoltLite, 32 base-32 ones on Dolt.
    hash_pattern: ClassVar[re.Pattern[str]]
    #: Engine name for people: `/readyz`, benchmarks, system checks.
    engine: ClassVar[str]
    #: Name of this database's copy in a backup.
    copy_name: ClassVar[str]
    #: Whether a writer of one branch blocks the writers of all others.
    has_one_writer: ClassVar[bool]
    #: Bytes the engine keeps of the message of a commit, and of a merge; `commit` and `merge` refuse longer ones.
    commit_message_limit: ClassVar[int] = 16_000
    merge_message_limit: ClassVar[int] = 16_000
    #: The statement that runs a `dolt_*` verb.
    _run: ClassVar[str]
    #: What the engine says where another writer was first.
    _retryable: ClassVar[re.Pattern[str]]
    #: What the engine says of an error, and our exception for it; the first that is found counts.
    _errors: ClassVar[Sequence[tuple[re.Pattern[str], type[errors.DoltError]]]]
    #: The log of a revision as SQL: hash, author, e-mail, date, message and the hashes of the parents, with commas.
    _log: ClassVar[str]

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        #: The branch this session stands on.
        self.branch = MAIN

    def head(self, revision: str = MAIN) -> str:
        """Return the commit hash of `revision` (a branch, `HEAD` or a hash).

        Raises:
            RevisionNotFound: nothing has that name.
        """
        with self._named(revision):
            value = self._query("SELECT dolt_hashof(%s)", [revision])[0][0]
        return str(value)

    def exists(self, revision: str) -> bool:
        try:
            self.head(revision)
        except errors.RevisionNotFound:
            return False
        return True

    def those_there(self, revisions: Collection[str]) -> set[str]:
        """Return which of these exist. One statement where all do, as is usual, else one for each."""
        if not revisions:
            return set()
        with suppress(errors.RevisionNotFound), self._named("one of several"):
            self._query(f"SELECT {', '.join(['dolt_hashof(%s)'] * len(revisions))}", list(revisions))
            return set(revisions)
        return set(filter(self.exists, revisions))

    def create_branch(self, name: str, at: str) -> None:
        """Make branch `name` at commit `at`. Raises BranchExists, RevisionNotFound."""
        if not BRANCH_NAME.fullmatch(name):
            raise ValueError(f"not a branch name: {name!r}")
        with self._named(at):
            self._call("dolt_branch", name, at)

    def drop_branch(self, name: str) -> None:
        """Remove a branch. One that is gone already is no error, since recovery may repeat this."""
        if name == MAIN:
            raise ValueError("main is never dropped")
        with suppress(errors.RevisionNotFound):
            self._call("dolt_branch", "-D", name)

    @contextmanager
    def checked_out(self, branch: str) -> Iterator[None]:
        """Move this session to a branch for the block, then back to main.

        Moving a session costs 0.4 ms; opening another takes 1.5 ms on DoltLite, and more with each megabyte of the
        file. Worse, each session that writes makes all others read that file's index again.

        A session that is reopened inside the block would be on main: every statement is refused then.

        Raises:
            RevisionNotFound: there is no such branch.
            EngineUnavailable: the session was lost inside.
        """
        if not BRANCH_NAME.fullmatch(branch):
            raise errors.RevisionNotFound(branch)
        with self.named_errors():
            self.connection.ensure_connection()
        session = self.connection.connection

        def on_this_session(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
            if self.connection.connection is not session:
                raise errors.EngineUnavailable(f"the session that stood on {branch} was lost")
            return execute(sql, params, many, context)

        try:
            with self._named(branch):
                self._stand_on(branch)
            self.branch = branch
            with self.connection.execute_wrapper(on_this_session):
                yield
        finally:
            self.branch = MAIN
            if self.connection.connection is session:
                self._return_to_main()

    def _return_to_main(self) -> None:
        """Move back to main. A session that cannot (its time is up, say) is closed, and the next one begins on main."""
        try:
            self._stand_on(MAIN)
        except (DatabaseError, errors.DoltError):
            self.connection.close()
        except BaseException:
            self.connection.close()
            raise

    def branches(self) -> dict[str, str]:
        """Return the head of each branch, by name. Slow with thousands of them: for checks and tests, not pages."""
        rows = self._query("SELECT name, hash FROM dolt_branches ORDER BY name")
        return {str(name): str(head) for name, head in rows}

    def commit(self, message: str, author: Author, *, made_at: datetime | None = None) -> str:
        """Commit the whole working set of this branch and return the new hash.

        Args:
            made_at: of a commit that is made again, which may change nothing.

        Raises:
            NothingToCommit: nothing was changed.
            ValueError: the engine would not keep the whole message.
        """
        _require_room(message, self.commit_message_limit)
        again = ("--allow-empty", "--date", f"{made_at:%Y-%m-%dT%H:%M:%S}") if made_at else ()
        return str(self._call("dolt_commit", "-A", "-m", message, "--author", str(author), *again)[0][0])

    def begin_merge(self, head: str) -> None:
        """Let the next commit have this one as a further parent, and its rows."""
        self._call("dolt_merge", head, "--no-ff", "--no-commit")

    def reset(self, commit: str) -> None:
        """Set this branch, and its rows, to a commit."""
        self._call("dolt_reset", "--hard", commit)

    def merge(self, head: str, message: str, author: Author) -> str:
        """Merge commit `head` into this branch with a merge commit of its own, and return the new hash.

        Args:
            head: a commit *hash*, so that what was reviewed is what is merged, wherever its branch
                points now.

        Raises:
            MergeConflict: both sides changed one row; the caller's transaction must roll back.
            AlreadyMerged: `head` is in this branch.
            ValueError: not a hash, or the engine would not keep the whole message.
        """
        _require_room(message, self.merge_message_limit)
        if not self.hash_pattern.fullmatch(head):
            raise ValueError("a merge takes a commit hash, never a branch name")
        with self._named(head):
            return self._merge(head, message, author)

    def squash(self, keep_as: str, message: str, author: Author, write: Callable[[], object] = lambda: None) -> str:
        """Put one commit in the place of this branch's history, and return its hash.

        Args:
            keep_as: a new branch at the head as it was, which keeps the former commits readable.
            write: changes the rows, which otherwise stay as they are; in the same commit.

        Raises:
            EngineUnavailable: another writer was first; nothing changed but for the branch `keep_as`, maybe.
        """
        head = self.head(self.branch)
        # Not from the other branch: there Dolt denies its log to a user who has no rights but to this database.
        first = self.log(head)[-1].hash
        # Each of these verbs is there to stay at once. So the commit is made on another branch, and main
        # moves to it, with the same rows: a crash leaves main with its history, or squashed.
        self.drop_branch(NEXT)
        self.create_branch(NEXT, head)
        with self.checked_out(NEXT):
            self._call("dolt_reset", "--soft", first)
            write()
            squashed = self.commit(message, author)
        self.create_branch(keep_as, head)
        if self.head(self.branch) != head:  # whoever held the others off lost that right meanwhile
            raise errors.EngineUnavailable("the memory was written while its history was squashed")
        self.reset(squashed)
        self.drop_branch(NEXT)
        return squashed

    def is_ancestor(self, commit: str, of: str = MAIN) -> bool:
        """Whether `commit` is contained in `of`. Raises RevisionNotFound when it cannot be read."""
        if not self.exists(commit):
            raise errors.RevisionNotFound(commit)
        return not self._query("SELECT 1 FROM dolt_log(%s) LIMIT 1", [f"{of}..{commit}"])

    def kept(self) -> dict[str, str]:
        """Return the heads that main had when it was squashed, by the names of the branches that keep them."""
        rows = self._query("SELECT name, hash FROM dolt_branches WHERE name LIKE %s ORDER BY name DESC", [f"{KEPT}%"])
        return {str(name): str(head) for name, head in rows if name != NEXT}

    def was_on_main(self, commit: str) -> bool:
        """Whether `commit` is contained in main, or was before main was squashed. Raises RevisionNotFound."""
        return self.is_ancestor(commit) or any(self.is_ancestor(commit, head) for head in self.kept().values())

    def log(self, revisions: str = MAIN, limit: int | None = None) -> tuple[Commit, ...]:
        """Return the log of a revision or a range `a..b`, newest first. Raises RevisionNotFound."""
        sql = self._log if limit is None else f"{self._log} LIMIT {int(limit)}"
        with self._named(revisions):
            rows = self._query(sql, [revisions])
        return tuple(
            Commit(
                hash=str(hash_),
                author=_text(author),
                email=_text(email),
                at=aware(at),
                message=_text(message),
                parents=tuple(parent for parent in _text(parents or "").replace(",", " ").split()),
            )
            for hash_, author, email, at, message, parents in rows
        )

    def parent(self, commit: str) -> str:
        """Return the commit before: of a merge, main's head at that time. Raises RevisionNotFound."""
        (read,) = self.log(commit, limit=1)
        if not read.parents:
            raise errors.RevisionNotFound(f"the commit before {commit}")
        return read.parents[0]

    def own_log(self, since: str | None = None, *, limit: int | None = None) -> tuple[Commit, ...]:
        """Return the commits of main itself, newest first: without those merged from branches, and with those from
        before main was squashed that are kept.

        Args:
            since: a commit of main; only what came after it.
            limit: only what is among so many of the log, with those merged.
        """
        heads = [self.head(MAIN)]  # once: others may commit between two statements
        own: dict[str, Commit] = {}
        for head in heads:
            log = {commit.hash: commit for commit in self.log(f"{since}..{head}" if since else head, limit)}
            following = log.get(head)
            while following:
                own.pop(following.hash, None)  # the first commit of all is in each history
                own[following.hash] = following
                if Trailers.of(following.message).action == SQUASHED and len(heads) == 1:
                    heads += self.kept().values()
                following = log.get(following.parents[0]) if following.parents else None
        return tuple(own.values())

    def find_operation(self, operation: str, since: str) -> Commit | None:
        """Return the commit of main after `since` whose message ends in this operation id.

        Looks in the log rather than in `dolt_commit_ancestors`: 18 ms against up to 1.2 s. In all of it where `since`
        is gone.
        """
        heads = [MAIN]
        for head in heads:
            try:
                log = self.log(f"{since}..{head}")
            except errors.RevisionNotFound:
                log = self.log(head)
            for commit in log:
                said = Trailers.of(commit.message)
                if said.operation == operation:
                    return commit
                if said.action == SQUASHED and len(heads) == 1:
                    heads += self.kept().values()
        return None

    def dirty_tables(self) -> tuple[str, ...]:
        """Return the tables with uncommitted changes on this connection's branch."""
        return tuple(sorted({str(name) for (name,) in self._query("SELECT table_name FROM dolt_status")}))

    def rows(
        self, table: str, revision: str | None, where: dict[str, Any] | None = None, *, columns: Sequence[str] = ()
    ) -> list[Row]:
        """Return rows of `table` at `revision`, as dictionaries of the columns that exist *there*.

        Args:
            columns: only these, of those that the first version of the table had: naming a column fails on commits
                older than it. All by default.
            revision: a branch or commit hash; None for the one this connection is at. Only None uses
                indices on DoltLite: at a revision it finds rows by primary key (0.2 ms) or scans (7 ms at
                5,000 blocks).
            where: column → value, joined with AND; a tuple or list value means IN.

        Raises:
            RevisionNotFound: `revision` cannot be read.
        """
        with self._named(revision or "HEAD"):
            source, parameters = self._as_of(table, revision) if revision else (self._quoted(table), [])
            wanted = ", ".join(map(self._quoted, columns)) or "*"
            conditions, values = self._where(where or {})
            sql = f"SELECT {wanted} FROM {source}{conditions}"  # noqa: S608 (names come from model metadata)
            return self._read(sql, [*parameters, *values])

    def row_at_main(self, table: str, where: dict[str, Any]) -> tuple[str, Row] | None:
        """Return one row in the newest commit of main and that commit's hash, in one statement, or None.

        Args:
            where: column → value, of the primary key.
        """
        if self.branch != MAIN:
            raise ValueError(f"this session stands on {self.branch}")
        conditions, values = self._where(where)
        found = self._read(f"{self._at_main(table)}{conditions}", values)
        return (str(found[0].pop("commit_of_main")), found[0]) if found else None

    def diff_rows(self, table: str, before: str, after: str, *, columns: Sequence[str] = ()) -> list[RowDiff]:
        """Return the rows that differ between two commits, by primary key `id`, in key order.

        Args:
            columns: only these; all that exist at both by default.

        Raises:
            RevisionNotFound: one of the two cannot be read.
        """
        with self._named(f"{before}..{after}"):
            source, parameters = self._diff(table, before, after)
            wanted = ", ".join(f"from_{name}, to_{name}" for name in ("id", *columns)) if columns else "*"
            found = self._read(f"SELECT {wanted} FROM {source}", parameters)  # noqa: S608 (names of our own)
            for revision in () if found else (before, after):  # an engine may find nothing at what is not there
                self.head(revision)
        return sorted(map(_row_diff, found), key=lambda sides: str((sides[1] or sides[0] or {})["id"]))

    # -- what each engine does in its own way -----------------------------------------------------------

    @abstractmethod
    def version(self) -> str:
        """Return the engine's version. Raises NotDolt when the database is something else."""

    @abstractmethod
    def _as_of(self, table: str, revision: str) -> tuple[str, list[str]]:
        """Return SQL (and its parameters) for `table` as it was at `revision`."""

    @abstractmethod
    def _diff(self, table: str, before: str, after: str) -> tuple[str, list[str]]:
        """Return SQL and its parameters for the rows of `table` that differ: columns `from_…`, `to_…`, `diff_type`."""

    @abstractmethod
    def _at_main(self, table: str) -> str:
        """Return one SQL statement for the rows of `table` in the newest commit of main, with its hash as
        `commit_of_main`. A WHERE clause may follow. For a session on main."""

    @abstractmethod
    def _stand_on(self, branch: str) -> None:
        """Move this session to another branch. Raises RevisionNotFound."""

    @abstractmethod
    def _merge(self, head: str, message: str, author: Author) -> str:
        """Merge inside an open transaction and return the new hash. Raises MergeConflict, AlreadyMerged."""

    def translate(self, error: DatabaseError) -> errors.DoltError | None:
        """Return our exception for an engine's error, or None when we have none for it."""
        text = str(error)
        return next((kind(text) for said, kind in self._errors if said.search(text)), None)

    def is_retryable(self, error: BaseException) -> bool:
        """Whether the same work, begun again from BEGIN, may succeed."""
        return isinstance(error, OperationalError) and bool(self._retryable.search(str(error)))

    def lost_connection(self, error: BaseException) -> bool:
        """Whether the server went away, so that the outcome of a commit is unknown."""
        return False

    @abstractmethod
    def database_at(self, revision: str) -> str:
        """Return the database name that opens a connection at `revision`."""

    @abstractmethod
    def gc(self, *, full: bool = False) -> None:
        """Free the space of commits that no branch reaches. Their texts can then not be read.

        Args:
            full: also examine what an earlier collection kept; the embedded engine always does.

        Raises:
            CommandDenied: the server's user lacks the right.
            EngineUnavailable: another collection took longer than we wait, or the engine gave up.
        """

    def damage(self) -> tuple[str, ...]:
        """Return what is damaged in the database's own file, a line each; empty when it is whole or a server's."""
        return ()

    def ready_to_migrate(self) -> None:
        """Make the database ready for rows without a number, those of `django_migrations`; see the server's."""
        return

    @abstractmethod
    def back_up(self, to: Path) -> None:
        """Copy every branch to `to`, which must not exist yet, while others write. Raises CopyFailed."""

    @abstractmethod
    def restore(self, copied: Path) -> None:
        """Replace this database, which is empty, by a copy. Raises CopyFailed."""

    def contents(self) -> str:
        """Return what prevents a restore into this database, in words for a person; empty when nothing does."""
        return backups.contents_of(self.connection)

    # -- plumbing ---------------------------------------------------------------------------------

    def _call(self, verb: str, *arguments: str) -> list[tuple[Any, ...]]:
        """Run one `dolt_*` verb and return its rows."""
        marks = ", ".join(["%s"] * len(arguments))
        return self._query(f"{self._run} {verb}({marks})", arguments)

    def _quoted(self, name: str) -> str:
        return self.connection.ops.quote_name(name)

    def _where(self, where: dict[str, Any]) -> tuple[str, list[Any]]:
        """Return the conditions of `rows` as SQL, and its parameters."""
        conditions: list[str] = []
        parameters: list[Any] = []
        for column, value in where.items():
            if isinstance(value, tuple | list):
                conditions.append(f"{self._quoted(column)} IN ({', '.join(['%s'] * len(value)) or 'NULL'})")
                parameters += value
            else:
                conditions.append(f"{self._quoted(column)} = %s")
                parameters.append(value)
        return (" WHERE " if conditions else "") + " AND ".join(conditions), parameters

    def _read(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        with self.named_errors(), self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.named_errors(), self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Raise our exceptions for the engine's errors; those that a retry may cure stay as they are."""
        try:
            yield
        except DatabaseError as error:
            if named := self.translate(error):
                raise named from error
            raise

    @contextmanager
    def _named(self, revision: str) -> Iterator[None]:
        """Raise RevisionNotFound with what was asked for, where the engine says that there is none."""
        try:
            with self.named_errors():
                yield
        except errors.RevisionNotFound as error:
            raise errors.RevisionNotFound(revision) from error


#: What the engines add to the columns of a difference.
_NOT_COLUMNS = {"from_commit", "from_commit_date", "to_commit", "to_commit_date"}


def _row_diff(values: Row) -> RowDiff:
    """Return a row of a difference as what it was and what it is."""
    sides = {
        side: {
            name.removeprefix(side): value
            for name, value in values.items()
            if name.startswith(side) and name not in _NOT_COLUMNS
        }
        for side in ("from_", "to_")
    }
    before, after = (row if row["id"] is not None else None for row in sides.values())
    return before, after


def _require_room(message: str, most: int) -> None:
    if len(message.encode()) > most:
        raise ValueError(f"a commit message of {len(message.encode())} bytes; the engine keeps {most}")


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
