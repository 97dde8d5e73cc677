"""What can go wrong with a versioned database, by name.

The engines' own exceptions are turned into these in `operations` and its two implementations; code
outside `dolt/` never looks at an error number.
"""


class DoltError(Exception):
    """Base of everything below."""


class RevisionNotFound(DoltError):
    """No branch or commit of that name can be read: it never existed, or garbage collection removed it."""


class BranchExists(DoltError):
    """A branch of that name exists already."""


class NothingToCommit(DoltError):
    """The working set equals the head; both engines call that an error."""


class MergeConflict(DoltError):
    """Both sides changed one row. The transaction has been rolled back."""


class AlreadyMerged(DoltError):
    """The hash is in the branch already; there is no new commit."""


class DirtyMemory(DoltError):
    """Main had uncommitted rows when a writer began: something was written outside `memory_app.writing`.

    Attributes:
        tables: the names of the tables concerned.
    """

    def __init__(self, tables: tuple[str, ...]) -> None:
        self.tables = tables
        super().__init__(f"uncommitted changes in {', '.join(tables)}")


class NotDolt(DoltError):
    """The database behind the `memory` alias is not Dolt."""


class CommandDenied(DoltError):
    """The server's user may not use this verb."""


class EngineUnavailable(DoltError):
    """The engine does not answer, or stayed busy for longer than we wait."""


class MemoryMoving(EngineUnavailable):
    """The database is under maintenance, moved or squashed, which takes seconds; nothing is written until then."""


class OutcomeUnknown(DoltError):
    """The connection was lost while committing: look for the operation id before trying again."""


class WriteOutsideCommit(DoltError):
    """A versioned row was about to be written outside `dolt_transaction`, where it would stay uncommitted."""
