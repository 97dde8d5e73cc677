"""Texts of the memory are sealed, each version with a key of its own: without the key nobody can read it any more, in
whichever commit, branch, file or copy it is.

What a version says is one JSON, sealed by AES-256-GCM in the column `sealed`. Its key is a leaf of a tree that grows
from one root of its owner: each node is a hash of the one above it and the next step of the path, which is the target's
first and the version's then. So the keys of all versions follow from the root, those of versions written later too, and
a save stores no key. What is erased is cut out: the nodes beside its path take the place of the root, and nothing leads
to the nodes on it any more. Roots are in `default` (`TextKey`), wrapped by the key of the installation, which is in
neither database (`settings.TEXT_KEY`).

Belongs here: sealing, opening, and the keys. Not here: what is written (`writing.rows`) and read (`reads`), the only
callers that have texts.
"""

import functools
import hashlib
import hmac
import json
import math
import secrets
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet, Subquery

from memory_app.databases import clock
from memory_app.databases.prepared import Prepared
from memory_app.dolt import placement
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.dolt.types import Row
from memory_app.models import MemoryBlock, SealedRows, TargetKind, TextErasure, TextKey

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

#: A cell is this, the number of its root, its version, a nonce, and what was sealed.
_FORM = b"\x01"
_NUMBER, _VERSION, _NONCE = 8, 4, 12
#: Where these end in a cell.
_OF_ROOT, _OF_KEY, _OF_NONCE = 1 + _NUMBER, 1 + _NUMBER + _VERSION, 1 + _NUMBER + _VERSION + _NONCE
#: Steps of a path, of four bits each: of the target, and of all. Each takes half a microsecond.
_TARGET, _PATH = 8, 8 + 2 * _VERSION
_STEPS = {step: bytes.fromhex(f"0{step}") for step in "0123456789abcdef"}
#: Bytes of a text that is worth compressing: a database can no longer do it.
_LONG = 400
#: Keys held by this process; each takes about 200 bytes. Then all are forgotten.
_MOST_HELD = 30_000
#: The number of the row that only this installation's key opens.
_CHECK = 0

#: What is left of a tree: the path of a node → the node. Whole, it is the root alone, whose path is empty.
_Tree = dict[str, bytes]


class WrongTextKey(ImproperlyConfigured):
    """The texts were sealed with another key than that in the settings."""

    def __init__(self) -> None:
        super().__init__(
            "ASSENT_TEXT_KEY (or the file text_key in ASSENT_DATA_DIR) is not the key that the texts of this memory "
            "were sealed with: put that one back. Nothing can be read or written without it."
        )


class TextKeyMissing(DoltError):
    """A text's key is in `default` no more, and nobody erased it; or the text is another row's, or damaged."""


class TextErased(RevisionNotFound):
    """The version that is asked for was erased: `at` this time, because of `by`, a username; empty for an operator."""

    def __init__(self, kind: str, target: str, at: datetime, by: str) -> None:
        self.kind, self.target, self.at, self.by = kind, target, at, by
        super().__init__(f"{kind} {target} was erased")


def keyed(sha256: str) -> str:
    """Return a keyed hash of a text's hash: from a plain one, which a commit keeps for ever, who has the memory could
    guess a short text."""
    return hmac.new(_hash_key(), sha256.encode(), hashlib.sha256).hexdigest()


def seal(kind: str, texts: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[bytes]:
    """Return the cells of versions, given as owner, label or id, and row.

    A root that is needed is there to stay after it: a crash leaves a root without a text, never a text without its key.
    """
    names, cells = TEXTS[kind], list[bytes]()
    roots = {owner: _root_of(owner) for owner in {owner for owner, *_row in texts}}
    for owner, target, row in texts:
        version, nonce = secrets.token_bytes(_VERSION), secrets.token_bytes(_NONCE)
        said = {name: row[name] for name in names if row[name]}
        plain = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
        if len(plain) > _LONG:
            plain = zlib.compress(plain, 1)
        begins = _FORM + roots[owner].to_bytes(_NUMBER) + version
        key = _key(begins, kind, target)
        if key is None:
            raise TextKeyMissing(f"the root of {owner}'s texts has no place for {kind} {target} any more")
        cells.append(begins + nonce + AESGCM(key).encrypt(nonce, plain, _about(kind, owner, target, begins)))
    return cells


def opened(kind: str, rows: list[Row], *, anew: bool) -> list[Row]:
    """Return rows with their texts; one whose text was erased has a `TextErased` as `erased` instead.

    A row from before texts were sealed is as it is, and so is what was written directly into a column.

    Args:
        rows: with owner, name and the cell, where their tables have it.
        anew: look whether something was erased since this process read the roots, `placement.FRESH` seconds ago or
            more: of versions that are not on main.

    Raises:
        TextKeyMissing: a root is gone although nobody erased it, or a text is damaged.
    """
    sealed = [row for row in rows if row.get("sealed")]
    if not sealed:
        return rows
    name, texts = _NAMES[TargetKind(kind)], TEXTS[kind]
    _read_roots({int.from_bytes(row["sealed"][1:_OF_ROOT]) for row in sealed}, anew=anew)
    for row in sealed:
        cell, target = row["sealed"], row[name]
        key = _key(cell[:_OF_KEY], kind, target)
        if key is None:
            row["erased"] = _erasure_of(row["owner"], kind, target, version_of(cell))
            continue
        about = _about(kind, row["owner"], target, cell[:_OF_KEY])
        try:
            plain = AESGCM(key).decrypt(cell[_OF_KEY:_OF_NONCE], cell[_OF_NONCE:], about)
        except InvalidTag as error:
            raise TextKeyMissing(f"the text of {kind} {row['owner']}/{target} is not what was sealed") from error
        said = json.loads((plain if plain[:1] == b"{" else zlib.decompress(plain)).decode())
        for each, nothing in texts.items():
            if each in row and row[each] in _EMPTY:
                row[each] = said.get(each, nothing)
    return rows


def open_instances(rows: list[Any]) -> None:
    """Fill in the texts of blocks or of notes."""
    kind = TargetKind.BLOCK if rows and isinstance(rows[0], MemoryBlock) else TargetKind.NOTE
    opened(kind, [vars(row) for row in rows], anew=False)


SealedRows.opening = staticmethod(open_instances)


def close(owner: str, before: datetime) -> set[int]:
    """Let the owner's next texts grow from another root than those made before this time. Return the numbers of these.

    All processes do it `placement.FRESH` seconds later.
    """
    old = TextKey.objects.filter(owner=owner, made_at__lte=before)
    old.filter(closed_at=None).update(closed_at=clock.now())
    forget()
    return set(old.values_list("pk", flat=True))


def cut(owner: str, roots: Iterable[int], kind: str = "", target: str = "", version: str = "") -> None:
    """Destroy the keys of all texts that grow from roots of an owner, of those of a block or note, or of one version.

    Args:
        roots: closed ones, unless it is one version: no text will grow from its path again.
        version: as `version_of` returns it.
    """
    path = (_path_of(kind, target) if kind else "") + version[2 * _NUMBER :]
    with _kept_through_a_power_cut(), transaction.atomic():
        for row in TextKey.objects.select_for_update().filter(pk__in=roots, owner=owner):
            tree = _unwrapped(row)
            if tree is None:
                raise WrongTextKey
            row.wrapped = _wrap(row, _without(tree, path))
            row.save(update_fields=["wrapped"])
    forget()


def version_of(cell: bytes) -> str:
    """Return what names the version in a cell, among all of its owner's: its root, and the rest."""
    return cell[1:_OF_KEY].hex()


def root_of(version: str) -> int:
    return int(version[: 2 * _NUMBER], 16)


def roots_without_key(rows: Iterable[Row]) -> Counter[str]:
    """Return how many of the rows nobody can read any more, as their roots are gone, by owner."""
    named = [(int.from_bytes(row["sealed"][1:_OF_ROOT]), row["owner"]) for row in rows if row.get("sealed")]
    there = set(TextKey.objects.values_list("pk", flat=True))
    return Counter(owner for number, owner in named if number not in there)


def sealed_since() -> datetime | None:
    """Return since when this installation seals what is written; None where nothing was yet."""
    return TextKey.objects.filter(pk=_CHECK).values_list("made_at", flat=True).first()


def is_ours() -> bool:
    """Whether the texts were sealed with the key in the settings, as far as there are any."""
    if TextKey._meta.db_table not in connection.introspection.table_names():
        return True  # about to be migrated
    return all(_unwrapped(row) is not None for row in TextKey.objects.filter(pk=_CHECK))


def forget() -> None:
    """Forget the keys that this process holds, for another `default` and after an erasure."""
    for each in (_trees, _read_at, _open, _held):
        each.clear()
    _require_ours.cache_clear()


#: Number of a root → what is left of its tree, and that as it was read.
_trees: dict[int, tuple[bytes, _Tree]] = {}
#: When they were read.
_read_at: dict[int, float] = {}
#: Owner → the number of the root that takes new texts, and when that was read.
_open: dict[str, tuple[int, float]] = {}
#: The beginning of a cell, kind and name → its key. Versions of two targets may have the same number.
_held: dict[tuple[bytes, str, str], bytes] = {}


def _key(begins: bytes, kind: str, target: str) -> bytes | None:
    """Return the key of a cell that begins so; None where it was cut out."""
    key = _held.get((begins, kind, target))
    if key is None:
        _wrapped, tree = _trees[int.from_bytes(begins[1:_OF_ROOT])]
        path = _path_of(kind, target) + begins[_OF_ROOT:].hex()
        depth = next((depth for depth in range(_PATH + 1) if path[:depth] in tree), None)
        if depth is None:
            return None
        key = tree[path[:depth]]
        for step in path[depth:]:
            key = hashlib.sha256(key + _STEPS[step]).digest()
        if len(_held) >= _MOST_HELD:
            _held.clear()
        _held[begins, kind, target] = key
    return key


def erasures_of(owner: str, kind: str, target: str) -> QuerySet[TextErasure]:
    """Return what was erased of a block or note, the last first."""
    return TextErasure.objects.filter(Q(kind=kind, target=target) | Q(kind=""), owner=owner).order_by("-at")


def _erasure_of(owner: str, kind: str, target: str, version: str) -> TextErased:
    """Return the first erasure that reached a version: of it alone, or of all there was when its root was made."""
    begun = TextKey.objects.filter(pk=root_of(version)).values("made_at")
    reached = Q(version=version) | Q(version="", at__gte=Subquery(begun))
    erasure = erasures_of(owner, kind, target).filter(reached).last()
    if erasure is None:
        raise TextKeyMissing(
            f"the key of {kind} {owner}/{target} was cut out, and nobody is known to have asked for it"
        )
    return TextErased(kind, target, erasure.at, erasure.by)


def _without(tree: _Tree, path: str) -> _Tree:
    """Return the tree without what is at a path and below it: the nodes beside it are what is left of those above."""
    left = {each: node for each, node in tree.items() if not each.startswith(path)}
    above = next((path[:depth] for depth in range(len(path)) if path[:depth] in tree), None)
    if above is None:
        return left
    node = left.pop(above)
    for depth in range(len(above), len(path)):
        left |= {path[:depth] + step: hashlib.sha256(node + each).digest() for step, each in _STEPS.items()}
        node = left.pop(path[: depth + 1])
    return left


def _path_of(kind: str, target: str) -> str:
    return hashlib.sha256(f"{kind}\0{target}".encode()).hexdigest()[:_TARGET]


def _read_roots(numbers: Set[int], *, anew: bool) -> None:
    """Read trees from `default`, in one statement; what was held of one that was cut is forgotten.

    Raises TextKeyMissing.
    """
    since = time.monotonic() - placement.FRESH if anew else -math.inf
    wanted = {number for number in numbers if _read_at.get(number, -math.inf) <= since}
    if not wanted:
        return
    _require_ours()
    found = {row.pk: row for row in TextKey.objects.filter(pk__in=wanted)}
    for number in wanted:
        if number not in found:
            raise TextKeyMissing(f"root {number:x} of texts is missing in `default`")
        _hold(found[number])


def _hold(row: TextKey) -> None:
    wrapped = bytes(row.wrapped)
    _read_at[row.pk] = time.monotonic()
    before = _trees.get(row.pk)
    if before and before[0] == wrapped:
        return
    tree = _unwrapped(row)
    if tree is None:
        raise TextKeyMissing(f"root {row.pk:x} of the texts of {row.owner} is damaged, or another's")
    if before:
        _held.clear()
    _trees[row.pk] = wrapped, tree


def _root_of(owner: str) -> int:
    """Return the number of the root of which an owner's next texts grow.

    It is looked up again after `placement.FRESH` seconds, as another process may have closed it.
    """
    known, at = _open.get(owner, (0, -math.inf))
    if time.monotonic() - at < placement.FRESH:
        return known
    row = _OPEN.first(owner=owner)
    if row is None:
        _require_ours()
        row = TextKey(id=secrets.randbits(63) or 1, owner=owner, made_at=clock.now())
        row.wrapped = _wrap(row, {"": secrets.token_bytes(32)})
        with _kept_through_a_power_cut(), suppress(IntegrityError):
            TextKey.objects.bulk_create([row])
        row = _OPEN.first(owner=owner)
        if row is None:
            raise TextKeyMissing(f"{owner} has no root for texts")
    _require_ours()
    _hold(row)
    if len(_open) >= _MOST_HELD:
        _open.clear()
    _open[owner] = row.pk, time.monotonic()
    return row.pk


_OPEN = Prepared(lambda owner: TextKey.objects.filter(owner=owner, closed_at=None).order_by()[:1], owner=str)


def _wrap(row: TextKey, tree: _Tree) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    plain = json.dumps({path: node.hex() for path, node in tree.items()}).encode()
    return nonce + AESGCM(settings.TEXT_KEY).encrypt(nonce, plain, _bound(row))


def _unwrapped(row: TextKey) -> _Tree | None:
    wrapped = bytes(row.wrapped)
    try:
        plain = AESGCM(settings.TEXT_KEY).decrypt(wrapped[:_NONCE], wrapped[_NONCE:], _bound(row))
    except InvalidTag:
        return None
    return {path: bytes.fromhex(node) for path, node in json.loads(plain).items()}


def _bound(row: TextKey) -> bytes:
    return f"{row.owner}\0{row.pk}".encode()


def _about(kind: str, owner: str, target: str, begins: bytes) -> bytes:
    """Return what a cell is bound to: moved to another row, it does not open."""
    return f"{kind}\0{owner}\0{target}\0".encode() + begins


@functools.cache
def _require_ours() -> None:
    """Make sure, once in a process, that what is sealed can be opened by all others. Raises WrongTextKey."""
    if not TextKey.objects.filter(pk=_CHECK).exists():
        row = TextKey(id=_CHECK)
        row.wrapped = _wrap(row, {})
        TextKey.objects.bulk_create([row], ignore_conflicts=True)
    if not is_ours():
        raise WrongTextKey


@functools.cache
def _hash_key() -> bytes:
    return hmac.digest(settings.TEXT_KEY, b"assent: hashes of texts", "sha256")


@contextmanager
def _kept_through_a_power_cut() -> Iterator[None]:
    """Let SQLite wait for the disk, as the memory does: otherwise a power cut could take a root and leave its texts."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=FULL")
        try:
            yield
        finally:
            cursor.execute("PRAGMA synchronous=NORMAL")
