"""What a path of the memory as files means: a block, a note, or a folder of them. Shared by client and server.

Pure: no call is made. Nothing outside /memories can be named: paths are compared in the form they decode to, so that no
encoding hides a way out. The texts are those of the tool that ships with the Anthropic package, where it has one.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

ROOT = "/memories"
BLOCKS = f"{ROOT}/blocks"
NOTES = f"{ROOT}/notes"

_NOTE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: What agents end the names of text files with; the block of `preferences.txt` is `preferences`.
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".xml", ".json", ".yaml", ".yml")
_NO_LABEL = re.compile(r"[^a-z0-9_-]+")
#: Decoding again and again ends here; a path encoded more often is refused with the others that still have a `%`.
_DECODINGS = 3


class Place(StrEnum):
    ROOT = "root"
    BLOCKS = "blocks"
    NOTES = "notes"
    BLOCK = "block"
    NOTE = "note"


@dataclass(frozen=True)
class MemoryPath:
    """A path that was understood.

    Args:
        given: as the agent wrote it, for texts.
        name: the block's label or the note's id; empty for a folder.
    """

    given: str
    place: Place
    name: str = ""

    @property
    def is_folder(self) -> bool:
        return self.place in (Place.ROOT, Place.BLOCKS, Place.NOTES)

    @property
    def is_note(self) -> bool:
        return self.place is Place.NOTE

    @property
    def canonical(self) -> str:
        """Return the path under which a listing names it."""
        folders = {Place.ROOT: ROOT, Place.BLOCKS: BLOCKS, Place.NOTES: NOTES}
        return folders.get(self.place) or (note_path if self.is_note else block_path)(self.name)


def block_path(label: str) -> str:
    return f"{BLOCKS}/{label}.md"


def note_path(id: str) -> str:
    return f"{NOTES}/{id}.md"


class PathRefused(Exception):
    """The path names nothing; the text is for the model, and says what would work."""


def parse(path: str) -> MemoryPath:
    """Return what `path` means.

    A file directly in /memories (`/memories/preferences.txt`) is the block of its name, as agents write it. A name with
    other letters is not guessed at: two names could become one block.

    Raises:
        PathRefused: it does not begin with /memories, leads out of it, or names no file there can be.
    """
    _require_inside(path)
    shown = path[:200]
    inner = path.removeprefix(ROOT).strip("/")
    parts = inner.split("/") if inner else []
    match parts:
        case []:
            return MemoryPath(path, Place.ROOT)
        case ["blocks"]:
            return MemoryPath(path, Place.BLOCKS)
        case ["notes"]:
            return MemoryPath(path, Place.NOTES)
        case ["notes", name]:
            id = _without_suffix(name)
            if not _NOTE_ID.fullmatch(id):
                raise PathRefused(
                    f"{shown} names no note. Notes are at {NOTES}/{{id}}.md; a new one gets its id when it is made, so "
                    f"write it to {NOTES}/new.md."
                )
            return MemoryPath(path, Place.NOTE, id)
        case ["blocks", name] | [name]:
            if name.isascii() and (label := _label(name)):
                return MemoryPath(path, Place.BLOCK, label)
            raise PathRefused(
                f"{shown} names no block: a name has letters a-z, digits, _ and -. Use one that says what it is about, "
                f"or {block_path(_label(name) or _made_up(name))}."
            )
    label = _label("_".join(map(_without_suffix, parts[parts[0] == "blocks" :])))
    raise PathRefused(
        f"There are no folders below {BLOCKS} and {NOTES}, so {shown} cannot be. "
        f"Use {block_path(label or _made_up(inner))}."
    )


def _require_inside(path: str) -> None:
    """Raise PathRefused for a path that is not, or in some decoding not, below /memories."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise PathRefused(f"Path must start with /memories, got: {path[:200]}")
    decoded = path
    for _ in range(_DECODINGS):
        decoded = unquote(decoded)
    decoded = unicodedata.normalize("NFKC", decoded).replace("\\", "/")
    for form in (path, decoded):
        resolved = posixpath.normpath(form)
        if resolved != ROOT and not resolved.startswith(f"{ROOT}/"):
            raise PathRefused(f"Path {path[:200]} would escape /memories directory")
    parts = path.removesuffix("/").split("/")[2:]
    if (
        decoded != unicodedata.normalize("NFKC", path)
        or not path.isprintable()
        or not {"", ".", ".."}.isdisjoint(parts)
    ):
        raise PathRefused(f"{path[:200]!a} has characters or parts that no path here has: write it plainly.")


def _label(name: str) -> str:
    """Return a name as the label of a block, without accents; empty where it has other letters, or none."""
    marked = unicodedata.normalize("NFKD", _without_suffix(name))
    plain = "".join(each for each in marked if not unicodedata.combining(each))
    return _NO_LABEL.sub("_", plain.lower()).strip("_-")[:64] if plain.isascii() else ""


def _made_up(name: str) -> str:
    """Return a label for a name of other letters, the same for the same name."""
    return f"file_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name
