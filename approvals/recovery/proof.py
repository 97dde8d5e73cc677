"""Where a word still is: in the tables of `default`, in versions of the memory that can be opened, in files.

For proving that what was erased is nowhere; reads everything there is, and takes its time.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection

from memory_app import reads, sealing
from memory_app.databases import wal
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.placement import databases
from memory_app.models import TargetKind

#: Rows read at once, and bytes of a file.
_ROWS, _BYTES = 500, 1 << 24


def in_default(word: str) -> Iterator[str]:
    """Yield the tables of `default` that have the word in any column of any row."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 (a name of our own)
            while rows := cursor.fetchmany(_ROWS):
                if any(word in _written(value) for row in rows for value in row):
                    yield f"default: table {table}"
                    break


def in_memory(word: str) -> Iterator[str]:
    """Yield the versions of blocks and notes that have the word, in any commit of any branch, opened where their keys
    are there. What no branch leads to any more is in files alone."""
    kinds = ((TargetKind.BLOCK, reads.BLOCKS, "label"), (TargetKind.NOTE, reads.NOTES, "note_id"))
    for database in databases():
        verbs = dolt_of(database)
        commits = {commit.hash: commit for head in verbs.branches().values() for commit in verbs.log(head)}
        for hash_, commit in commits.items():
            if word in commit.message:
                yield f"{database}: message of {hash_}"
            for kind, table, name in kinds if commit.parents else ():  # the first has no tables
                changed = [row for _before, row in verbs.diff_rows(table, commit.parents[0], hash_) if row]
                for row in sealing.opened(kind, changed, anew=True):
                    if any(word in _written(value) for value in row.values()):
                        yield f"{database}: {kind} {row['owner']}/{row[name]} at {hash_}"


def in_files(word: str, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the files with the word in them: of the data folder of an embedded site, and of these folders."""
    if settings.DEFAULT_FILE:
        wal.checkpoint()
        folders = [settings.DATA_DIR, *folders]
    for folder in folders:
        for where, _folders, names in os.walk(folder):
            for name in sorted(names):
                if _has(Path(where, name), word.encode()):
                    yield f"file: {Path(where, name)}"


def _has(path: Path, word: bytes) -> bool:
    end = b""
    with path.open("rb") as file:
        while part := file.read(_BYTES):
            if word in end + part:
                return True
            end = part[-len(word) :]
    return False


def _written(value: object) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
