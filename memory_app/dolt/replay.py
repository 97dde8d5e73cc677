"""A history told commit by commit, and written anew on another engine: what moves embedded databases to servers.

The hashes of the engines differ, so each commit gets another one there; rows, authors, times, messages and parents are
the same. What is told is plain JSON, since the two engines are open in two processes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from graphlib import TopologicalSorter
from typing import Any

from django.db.models import BooleanField, DateTimeField, Field, JSONField, Model

from memory_app.dolt.connections import dolt_of, transaction_on
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import MAIN, MOVING, Author, Commit, Row, aware
from memory_app.models import MemoryBlock, MemoryNote

#: How JSON has a value that is bytes.
_BYTES = "bytes in base64"
#: What the names of branches begin with that a history is being written on.
_OPEN = "replay/"
_MODELS: tuple[type[Model], ...] = (MemoryBlock, MemoryNote)
_HASH = re.compile(r"\b[0-9a-f]{40}\b")

#: Commits after which progress is told.
_PORTION = 500

#: One commit: hash, parents, author, email, at, message; `put`: table → rows; `gone`: table → ids.
Told = dict[str, Any]


def as_line(told: Told) -> str:
    """Return what is told as one line. `from_line` reads it."""
    return json.dumps(told, ensure_ascii=False, default=_as_json)


def _as_json(value: Any) -> Any:
    return {_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else str(value)


def from_line(line: str) -> Told:
    told: Told = json.loads(line, object_hook=_from_json)
    return told


def _from_json(found: dict[str, Any]) -> Any:
    return base64.b64decode(found[_BYTES]) if _BYTES in found else found


def tell(database: str) -> Iterator[Told]:
    """Yield each commit that a branch of an embedded database reaches, parents first, then the heads of the branches.

    The last one has `branches` (name → hash) and `digest`, of the rows of main.
    """
    verbs = dolt_of(database)
    branches = verbs.branches()
    commits = {commit.hash: commit for head in branches.values() for commit in verbs.log(head)}
    # In this order a branch is open from its base to its merge, where it is written anew as it was here.
    for hash_ in TopologicalSorter({hash_: commit.parents for hash_, commit in commits.items()}).static_order():
        yield _told(verbs, commits[hash_])
    yield {"branches": branches, "digest": digest(verbs)}


def _told(verbs: DoltOperations, commit: Commit) -> Told:
    put: dict[str, list[Row]] = {}
    gone: dict[str, list[str]] = {}
    for model in _MODELS if commit.parents else ():
        table = model._meta.db_table
        for before, after in verbs.diff_rows(table, commit.parents[0], commit.hash):
            if after is not None:
                put.setdefault(table, []).append(after)
            elif before is not None:
                gone.setdefault(table, []).append(before["id"])
    return vars(commit) | {"at": commit.at.isoformat(), "put": put, "gone": gone}


def digest(verbs: DoltOperations) -> str:
    """Return a hash of all rows of main, the same on both engines."""
    found = hashlib.sha256()
    for model in _MODELS:
        columns = _columns(model)
        for row in sorted(verbs.rows(model._meta.db_table, None), key=lambda row: str(row["id"])):
            plain = [_plain(field, row.get(name)) for name, field in columns.items()]
            found.update(json.dumps(plain, ensure_ascii=False, default=_as_json).encode())
    return found.hexdigest()


def _columns(model: type[Model]) -> dict[str, Field[Any, Any]]:
    """Return the fields by their columns, in the order of those."""
    return dict(sorted((field.column, field) for field in model._meta.concrete_fields if field.column))


def _plain(field: Field[Any, Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(field, DateTimeField):
        return aware(value).isoformat()
    if isinstance(field, BooleanField):
        return bool(value)
    return json.loads(value) if isinstance(field, JSONField) and isinstance(value, str | bytes) else value


class Replay:
    """Writes a history into a database that has the schema and no rows, and maps the hashes.

    Attributes:
        hashes: what a commit is called here, by what it was called.
    """

    def __init__(self, database: str) -> None:
        self._database, self._verbs = database, dolt_of(database)
        self.hashes: dict[str, str] = {}
        # Where the next commit can be written: former hash → the branch whose head it is.
        self._at: dict[str, str] = {}

    def write(self, told: Iterable[Told], progress: Callable[[int], None]) -> None:
        """Write what is told of this database; what an earlier move left is taken away first.

        Args:
            progress: is told how many commits are written, after each five hundred.

        Raises:
            ValueError: it broke off, or the rows are not what they were.
        """
        self._start_anew()
        for each in told:
            if "branches" in each:
                self._name(each["branches"])
                if digest(self._verbs) != each["digest"]:
                    raise ValueError(f"the rows of {self._database} are not what they were")
                return
            self.hashes[each["hash"]] = self._write(each)
            if len(self.hashes) % _PORTION == 0:
                progress(len(self.hashes))
        raise ValueError(f"the history of {self._database} broke off")

    def _start_anew(self) -> None:
        verbs = self._verbs
        if not verbs.exists(MOVING):
            verbs.create_branch(MOVING, verbs.head())
        for name in verbs.branches():
            if name not in (MAIN, MOVING):
                verbs.drop_branch(name)
        verbs.reset(verbs.head(MOVING))

    def _write(self, told: Told) -> str:
        if not told["parents"]:
            self._at[told["hash"]] = MAIN
            return self._verbs.head(MOVING)
        first, *merged = told["parents"]
        branch = self._at.pop(first, None)
        if branch is None:
            branch = f"{_OPEN}{told['hash']}"
            self._verbs.create_branch(branch, self.hashes[first])
        self._at[told["hash"]] = branch
        if branch == MAIN:
            return self._commit(told, merged)
        with self._verbs.checked_out(branch):
            return self._commit(told, merged)

    def _commit(self, told: Told, merged: list[str]) -> str:
        author = Author(told["author"], told["email"])
        message = _HASH.sub(lambda found: self.hashes.get(found[0], found[0]), told["message"])
        with transaction_on(self._database) as verbs:
            for each in merged:
                verbs.begin_merge(self.hashes[each])
            for model in _MODELS:
                self._put(model, told["put"].get(model._meta.db_table, ()), told["gone"].get(model._meta.db_table, ()))
            made = verbs.commit(message, author, made_at=datetime.fromisoformat(told["at"]))
        for each in merged:
            if (branch := self._at.pop(each, MAIN)) != MAIN:
                self._verbs.drop_branch(branch)
        return made

    def _put(self, model: type[Model], rows: Iterable[Row], gone: Iterable[str]) -> None:
        quote, columns = self._verbs.connection.ops.quote_name, _columns(model)
        table, names = quote(model._meta.db_table), ", ".join(map(quote, columns))
        marks = ", ".join(["%s"] * len(columns))
        with self._verbs.named_errors(), self._verbs.connection.cursor() as cursor:
            for id_ in gone:
                cursor.execute(f"DELETE FROM {table} WHERE id = %s", [id_])  # noqa: S608 (names of models)
            for row in rows:
                # What a column holds that came later: what the migration that made it gave it.
                values = [row[name] if name in row else field.get_default() for name, field in columns.items()]
                cursor.execute(f"REPLACE INTO {table} ({names}) VALUES ({marks})", values)  # noqa: S608

    def _name(self, branches: dict[str, str]) -> None:
        """Give the branches their names, and drop those that only led there."""
        for name, head in branches.items():
            if name == MAIN:
                if self._at.get(head) != MAIN:
                    self._verbs.reset(self.hashes[head])
            else:
                self._verbs.create_branch(name, self.hashes[head])
        for branch in self._at.values():
            if branch != MAIN:
                self._verbs.drop_branch(branch)
