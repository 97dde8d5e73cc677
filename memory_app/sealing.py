"""Texts of the memory are sealed, each version with a key of its own: without the key nobody can read it any more, in
whichever commit, branch, file or copy it is.

What a version says is one JSON, sealed by AES-256-GCM in the column `sealed`. The keys are in `default` (`TextKey`),
wrapped by the key of the installation, which is in neither database (`settings.TEXT_KEY`). A key is there to stay
before the commit of its text is made: a crash leaves a key without a text, never a text without its key.

Belongs here: sealing, opening, and the keys. Not here: what is written (`writing.rows`) and read (`reads`), the only
callers that have texts.
"""

import functools
import hashlib
import hmac
import json
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction

from memory_app.databases.prepared import batched, insert, insert_all
from memory_app.dolt.errors import DoltError
from memory_app.dolt.types import Row, aware
from memory_app.models import MemoryBlock, SealedRows, TargetKind, TextKey

#: What is sealed of a version, and what its columns have instead. Labels, ids, types, times and numbers stay as they
#: are: lists, merges and the ledger need them.
TEXTS: dict[str, dict[str, Any]] = {
    TargetKind.BLOCK: {"title": "", "description": "", "body": "", "schema_ref": None},
    TargetKind.NOTE: {"content": "", "tags": [], "rationale": None, "superseded_reason": None}
    | {"category": None, "session_id": None},
}
#: What the columns of these texts have where there is none, as it is stored or read.
_EMPTY: tuple[Any, ...] = ("", None, [], "[]", b"[]")
_NAMES = {TargetKind.BLOCK: "label", TargetKind.NOTE: "note_id"}

#: A cell is this, the number of its key in 8 bytes, and what was sealed.
_VERSION = b"\x01"
_NUMBER = 8
#: A key seals one text, so there is no second one with this nonce.
_ONCE = bytes(12)
#: Bytes of a text that is worth compressing: a database can no longer do it.
_LONG = 400
#: Keys held by this process; each takes about 150 bytes. Then all are forgotten.
_MOST_HELD = 30_000
#: Keys that one statement asks for. SQLite takes a million characters.
_ASKED = 5_000
#: The number of the row that only this installation's key opens.
_CHECK = 0


class WrongTextKey(ImproperlyConfigured):
    """The texts were sealed with another key than that in the settings."""

    def __init__(self) -> None:
        super().__init__(
            "ASSENT_TEXT_KEY (or the file text_key in ASSENT_DATA_DIR) is not the key that the texts of this memory "
            "were sealed with: put that one back. Nothing can be read or written without it."
        )


class TextKeyMissing(DoltError):
    """A text's key is in `default` no more, and nobody erased it; or the text is another row's, or damaged."""


class TextErased(Exception):
    """What is asked for was erased.

    Attributes:
        at: when.
        by: username of who asked for it.
    """

    def __init__(self, kind: str, target: str, at: datetime, by: str) -> None:
        self.kind, self.target, self.at, self.by = kind, target, at, by
        super().__init__(f"The text of {kind} {target} was erased on {at:%Y-%m-%d} by {by or 'the operator'}.")


def keyed(sha256: str) -> str:
    """Return a keyed hash of a text's hash: from a plain one, which a commit keeps for ever, who has the memory could
    guess a short text."""
    return hmac.new(_hash_key(), sha256.encode(), hashlib.sha256).hexdigest()


def seal(kind: str, texts: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[bytes]:
    """Return the cells of versions, given as owner, label or id, and row; the keys are there to stay after it."""
    master, keys, cells = _master(), list[TextKey](), list[bytes]()
    names = TEXTS[kind]
    for owner, target, row in texts:
        number, key = secrets.randbits(63) or 1, secrets.token_bytes(32)
        about, nonce = _about(kind, owner, target, number), secrets.token_bytes(len(_ONCE))
        wrapped = nonce + master.encrypt(nonce, key, about)
        keys.append(TextKey(id=number, owner=owner, kind=kind, target=target, wrapped=wrapped))
        said = {name: row[name] for name in names if row[name]}
        plain = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
        if len(plain) > _LONG:
            plain = zlib.compress(plain, 1)
        cells.append(_VERSION + number.to_bytes(_NUMBER) + AESGCM(key).encrypt(_ONCE, plain, about))
        _hold({number: key})
    if keys:
        with _kept_through_a_power_cut():
            if len(keys) == 1:
                insert(keys[0])
            else:
                with transaction.atomic():
                    insert_all(keys)
    return cells


def opened(kind: str, rows: list[Row], *, anew: bool) -> list[Row]:
    """Return rows with their texts; one whose text was erased has a `TextErased` as `erased` instead.

    A row from before texts were sealed is as it is, and so is what was written directly into a column.

    Args:
        rows: with owner, name and the cell, where their tables have it.
        anew: ask for the keys although this process holds them: of versions that may have been erased.

    Raises:
        TextKeyMissing: a key is gone although nobody erased it.
    """
    sealed = {number: row for row in rows if (number := number_in(row))}
    if not sealed:
        return rows
    name, texts, held = _NAMES[TargetKind(kind)], TEXTS[kind], {} if anew else _held
    absent = [number for number in sealed if number not in held]
    found, erased = _find(kind, name, absent, sealed)
    for number, row in sealed.items():
        key = found.get(number) or held.get(number)
        target = row[name]
        if key is None:
            row["erased"] = TextErased(kind, target, *erased[number])
            continue
        try:
            plain = AESGCM(key).decrypt(_ONCE, row["sealed"][1 + _NUMBER :], _about(kind, row["owner"], target, number))
        except InvalidTag as error:
            raise TextKeyMissing(f"the text of {kind} {row['owner']}/{target} is not what was sealed") from error
        said = json.loads(plain if plain[:1] == b"{" else zlib.decompress(plain))
        for each, nothing in texts.items():
            if each in row and row[each] in _EMPTY:
                row[each] = said.get(each, nothing)
    return rows


def open_instances(rows: list[Any]) -> None:
    """Fill in the texts of blocks or of notes."""
    kind = TargetKind.BLOCK if rows and isinstance(rows[0], MemoryBlock) else TargetKind.NOTE
    opened(kind, [vars(row) for row in rows], anew=False)


SealedRows.opening = staticmethod(open_instances)


def without_key(rows: Iterable[Row]) -> list[Row]:
    """Return those of the rows that nobody can read any more, although nobody erased them."""
    sealed = {number: row for row in rows if (number := number_in(row))}
    known = {number for number, *_key in _rows_of_keys(list(sealed))}
    return [row for number, row in sealed.items() if number not in known]


def number_in(row: Row) -> int:
    """Return the number of the key of a row; 0 where it is not sealed."""
    cell = row.get("sealed")
    return int.from_bytes(cell[1 : 1 + _NUMBER]) if cell else 0


def is_ours() -> bool:
    """Whether the texts were sealed with the key in the settings, as far as there are any."""
    with connection.cursor() as cursor:
        if TextKey._meta.db_table not in connection.introspection.table_names(cursor):
            return True  # about to be migrated
    return all(_opens(AESGCM(settings.TEXT_KEY), wrapped) for _number, wrapped, *_ in _rows_of_keys([_CHECK]))


def forget() -> None:
    """Forget the keys that this process holds, for another `default` or after an erasure."""
    _held.clear()
    _master.cache_clear()


#: Number → key, of texts that this process wrote or read on main.
_held: dict[int, bytes] = {}


def _hold(keys: Mapping[int, bytes]) -> None:
    if len(_held) + len(keys) > _MOST_HELD:
        _held.clear()
    _held.update(keys)


def _find(
    kind: str, name: str, numbers: Sequence[int], rows: Mapping[int, Row]
) -> tuple[dict[int, bytes], dict[int, tuple[datetime, str]]]:
    """Return the keys of these numbers, and of those that were destroyed when and by whom."""
    master, found, erased = _master(), dict[int, bytes](), dict[int, tuple[datetime, str]]()
    for number, wrapped, at, by in _rows_of_keys(numbers):
        if at is not None:
            erased[number] = aware(at), by
            continue
        row = rows[number]
        about = _about(kind, row["owner"], row[name], number)
        try:
            found[number] = master.decrypt(bytes(wrapped[: len(_ONCE)]), bytes(wrapped[len(_ONCE) :]), about)
        except InvalidTag as error:
            raise TextKeyMissing(f"the key of {kind} {row['owner']}/{row[name]} is another text's") from error
    for number in numbers:
        if number not in found and number not in erased:
            row = rows[number]
            raise TextKeyMissing(f"the key of {kind} {row['owner']}/{row[name]} is missing in `default`")
    _hold(found)
    return found, erased


def _rows_of_keys(numbers: Sequence[int]) -> Iterator[tuple[int, bytes, Any, str]]:
    for some in batched(numbers, _ASKED):
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id, wrapped, erased_at, erased_by FROM {TextKey._meta.db_table} "  # noqa: S608 (numbers)
                f"WHERE id IN ({', '.join(map(str, some))})"
            )
            yield from cursor.fetchall()


def _about(kind: str, owner: str, target: str, number: int) -> bytes:
    """Return what a cell and its key are bound to: moved to another row, neither opens."""
    return f"{kind}\0{owner}\0{target}\0{number}".encode()


@functools.cache
def _master() -> AESGCM:
    """Return the cipher of the installation's key, once in a process: made sure of before anything is sealed with it.

    Raises WrongTextKey.
    """
    master, nonce = AESGCM(settings.TEXT_KEY), secrets.token_bytes(len(_ONCE))
    check = TextKey(id=_CHECK, wrapped=nonce + master.encrypt(nonce, b"", b""))
    if not any(_opens(master, wrapped) for _number, wrapped, *_ in _rows_of_keys([_CHECK])):
        TextKey.objects.bulk_create([check], ignore_conflicts=True)
        if not is_ours():
            raise WrongTextKey
    return master


def _opens(master: AESGCM, wrapped: bytes) -> bool:
    try:
        master.decrypt(bytes(wrapped[: len(_ONCE)]), bytes(wrapped[len(_ONCE) :]), b"")
    except InvalidTag:
        return False
    return True


@functools.cache
def _hash_key() -> bytes:
    return hmac.digest(settings.TEXT_KEY, b"assent: hashes of texts", "sha256")


@contextmanager
def _kept_through_a_power_cut() -> Iterator[None]:
    """Let SQLite wait for the disk, as the memory does: otherwise a power cut could take a key and leave its text."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=FULL")
        try:
            yield
        finally:
            cursor.execute("PRAGMA synchronous=NORMAL")
