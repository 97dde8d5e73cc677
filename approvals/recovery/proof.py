"""Where a word still is: in the tables of `default`, in versions of the memory that can be opened, in files.

For proving that what was erased is nowhere; reads everything there is, and takes its time.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import connection

from memory_app import reads, sealing
from memory_app.databases import wal
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.placement import databases

#: Rows read at once, and bytes of a file.
_ROWS, _BYTES = 500, 1 << 24
#: What a copy by pg_dump begins with.
_DUMP = b"PGDMP"


def in_default(word: str) -> Iterator[str]:
    """Yield the tables of `default` that have the word in any column of any row, PostgreSQL's statistics among them."""
    forms, statistics = _forms(word), ["pg_stats"] if connection.vendor == "postgresql" else []
    with connection.cursor() as cursor:
        for table in [*connection.introspection.table_names(cursor), *statistics]:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 (a name of our own)
            while rows := cursor.fetchmany(_ROWS):
                if any(_says(row, forms) for row in rows):
                    yield f"default: table {table}"
                    break


def in_memory(word: str) -> Iterator[str]:
    """Yield the versions of blocks and notes that have the word, in any commit of any branch, opened where their keys
    are there. What no branch leads to any more is in files alone."""
    forms = _forms(word)
    for database in databases():
        verbs = dolt_of(database)
        commits = {commit.hash: commit for head in verbs.branches().values() for commit in verbs.log(head)}
        for hash_, commit in commits.items():
            if _says([commit.message], forms):
                yield f"{database}: message of {hash_}"
            for kind, (table, name) in reads.TABLES.items() if commit.parents else ():  # the first has no tables
                changed = [row for _before, row in verbs.diff_rows(table, commit.parents[0], hash_) if row]
                for row in sealing.opened(kind, changed, anew=True):
                    if _says(row.values(), forms):
                        yield f"{database}: {kind} {row['owner']}/{row[name]} at {hash_}"


def in_files(word: str, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the files with the word in them: of the data folder of an embedded site, and of these folders; and what
    cannot be read there, which says nothing. Of what is packed only PostgreSQL's own copies are unpacked."""
    forms, unread = [form.encode() for form in _forms(word)], list[OSError]()
    if settings.DEFAULT_FILE:
        wal.checkpoint()
        folders = [settings.DATA_DIR, *folders]
    for folder in folders:
        for where, _folders, names in os.walk(folder, onerror=unread.append):
            for path in (Path(where, name) for name in sorted(names)):
                try:
                    if path.is_file() and _has(path, forms):
                        yield f"file: {path}"
                except OSError as error:
                    unread.append(error)
    yield from (f"not read: {error}" for error in unread)


def _forms(word: str) -> set[str]:
    """Return a word in small and large letters, and as JSON has it where letters beyond ASCII are escaped."""
    written = {word, word.lower(), word.upper(), word.capitalize(), word.title()}
    return written | {json.dumps(each)[1:-1] for each in written}


def _has(path: Path, forms: Sequence[bytes]) -> bool:
    """Raises OSError."""
    with path.open("rb") as file:
        if file.read(len(_DUMP)) != _DUMP:
            file.seek(0)
            return _says_somewhere(file, forms)
    with subprocess.Popen(["pg_restore", "--file=-", path], stdout=subprocess.PIPE) as unpacked:
        assert unpacked.stdout
        found = _says_somewhere(unpacked.stdout, forms)
    if not found and unpacked.returncode:
        raise OSError(f"pg_restore cannot unpack {path}")
    return found


def _says_somewhere(file: IO[bytes], forms: Sequence[bytes]) -> bool:
    end, longest = b"", max(map(len, forms))
    while part := file.read(_BYTES):
        if any(form in end + part for form in forms):
            return True
        end = part[-longest:]
    return False


def _says(values: Iterable[object], forms: Set[str]) -> bool:
    return any(form in _written(value) for value in values for form in forms)


def _written(value: object) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
