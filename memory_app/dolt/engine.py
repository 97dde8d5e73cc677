"""What differs between the engines: the class that both implement, tested by one contract on each."""

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error as DatabaseError

from memory_app.dolt import errors
from memory_app.dolt.types import Author

MAIN = "main"


class DoltEngine(ABC):
    """What each engine does in its own way, on one connection at one branch or commit."""

    #: Length of a commit hash: 40 hexadecimal digits on DoltLite, 32 base-32 ones on Dolt.
    hash_pattern: ClassVar[re.Pattern[str]]
    #: Engine name for people: `/readyz`, benchmarks, system checks.
    engine: ClassVar[str]
    #: Whether unread commits stay until we collect them, so that `gc()` is ours to schedule.
    collects_by_hand: ClassVar[bool]
    #: Whether a writer of one branch blocks the writers of all others.
    has_one_writer: ClassVar[bool]
    #: Bytes the engine keeps of the message of a commit, and of a merge; `commit` and `merge` refuse longer ones.
    commit_message_limit: ClassVar[int] = 16_000
    merge_message_limit: ClassVar[int] = 16_000
    #: The log of a revision as SQL: hash, author, e-mail, date, message and the hashes of the parents, with commas.
    _log: ClassVar[str]

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        #: The branch this session stands on.
        self.branch = MAIN

    @abstractmethod
    def version(self) -> str:
        """Return the engine's version. Raises NotDolt when the database is something else."""

    @abstractmethod
    def _call(self, verb: str, *arguments: str) -> list[tuple[Any, ...]]:
        """Run one `dolt_*` verb and return its rows."""

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

    @abstractmethod
    def translate(self, error: DatabaseError) -> errors.DoltError | None:
        """Return our exception for an engine's error, or None when we have none for it."""

    @abstractmethod
    def is_retryable(self, error: BaseException) -> bool:
        """Whether the same work, begun again from BEGIN, may succeed."""

    @abstractmethod
    def lost_connection(self, error: BaseException) -> bool:
        """Whether the server went away, so that the outcome of a commit is unknown."""

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

    @abstractmethod
    def damage(self) -> tuple[str, ...]:
        """Return what is damaged in the database's own file, a line each; empty when it is whole or a server's."""

    def ready_to_migrate(self) -> None:
        """Make the database ready for rows without a number, those of `django_migrations`; see the server's."""
        return

    @abstractmethod
    def copy_name(self) -> str:
        """Return the name of this database's copy in a backup."""

    @abstractmethod
    def back_up(self, to: Path) -> None:
        """Copy every branch to `to`, which must not exist yet, while others write. Raises CopyFailed."""

    @abstractmethod
    def restore(self, copied: Path) -> None:
        """Replace this database, which is empty, by a copy. Raises CopyFailed."""

    @abstractmethod
    def contents(self) -> str:
        """Return what prevents a restore into this database, in words for a person; empty when nothing does."""
