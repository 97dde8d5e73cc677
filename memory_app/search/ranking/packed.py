"""Rows of the index as arrays beside lists of their distinct texts: what an index takes in, and how it is kept.

Belongs here: rows to arrays, arrays to bytes and back, and leaving out chunks that were removed.
Not here: where the bytes are kept (`snapshots`), and the arrays of an owner (`index`).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.chunking import IndexRow, Source
from memory_app.search.ranking.dates import day_of
from memory_app.search.ranking.dense import Embedder, WordEmbedder, loaded, quantised
from memory_app.search.ranking.vocabulary import content_stems
from memory_app.text.alike import said_by

Array = npt.NDArray[Any]

SOURCES = tuple(Source)

#: Columns of plain values.
PLAIN: dict[str, tuple[Any, Callable[[IndexRow], Any]]] = {
    "chunk_ids": (np.int64, lambda row: row.chunk_id),
    "sources": (np.int8, lambda row: SOURCES.index(Source(row.source))),
    "marks": (np.uint8, lambda row: row.marks),
    "days": (np.int32, lambda row: day_of(row.at)),
    "seconds": (np.float64, lambda row: row.at.timestamp() if row.at else 0.0),
    "order": (np.int64, lambda row: row.order),
    "superseded": (np.bool_, lambda row: row.superseded),
    "texts": (np.int64, lambda row: _checksum(row)),
}
#: Columns of texts, and the field of a row.
NAMED = {
    "authors": "author",
    "documents": "document_id",
    "items": "item_id",
    "types": "type",
    "categories": "category",
    "sessions": "session_id",
}
#: Begins the bytes of a batch; raised whenever what follows means something else.
_FORMAT = b"assent-2"


@dataclass(frozen=True)
class PackedRows:
    """Some rows, packed.

    Attributes:
        arrays: a value of each column per row; `words`, the number of each word said, and `sizes`, how many of a row;
            `tags` and `named_days`, the place of a row with a number or a date; `vectors` and `scales`, see
            `dense.quantised`; where they are kept, also `pieces`, `piece_sizes` and `lengths` of the distinct words.
        texts: `strings`, of which the columns have numbers; distinct `words`, and `stems`, "" for stop words.
    """

    arrays: Mapping[str, Array]
    texts: Mapping[str, list[str]]

    def __len__(self) -> int:
        return len(self.arrays["chunk_ids"])


def packed(rows: Sequence[IndexRow], embedder: Embedder | None, *, with_pieces: bool = False) -> PackedRows:
    """Pack rows.

    Arguments:
        with_pieces: whether to take the words apart too, which costs more than all the rest.
    """
    strings, words = _numbering(), _numbering()
    strings[""]
    said = [[words[word] for word in row.words.split()] for row in rows]
    tags = [(place, strings[tag]) for place, row in enumerate(rows) for tag in row.tags]
    days = [(place, *day) for place, row in enumerate(rows) for day in row.named_days]
    arrays: dict[str, Array] = {
        name: np.array([value(row) for row in rows], dtype=kind) for name, (kind, value) in PLAIN.items()
    }
    for name, field in NAMED.items():
        arrays[name] = np.array([strings[getattr(row, field)] for row in rows], dtype=np.int32)
    arrays["sizes"] = np.array([*map(len, said)], dtype=np.int32)
    arrays["words"] = np.array([*chain.from_iterable(said)], dtype=np.int32)
    arrays["tags"] = np.array(tags, dtype=np.int32).reshape(-1, 2)
    arrays["named_days"] = np.array(days, dtype=np.int32).reshape(-1, 4)
    if embedder is not None:
        vectors = loaded([row.vector for row in rows], embedder.dimensions)
        arrays["vectors"], arrays["scales"] = quantised(vectors)
    distinct = list(words)
    if with_pieces and isinstance(embedder, WordEmbedder):
        arrays["pieces"], arrays["piece_sizes"], arrays["lengths"] = embedder.pieces(distinct)
    return PackedRows(arrays, {"strings": list(strings), "words": distinct, "stems": content_stems(distinct)})


def _checksum(row: IndexRow) -> int:
    """Return a number that is equal for equal words, of notes for those that say the same (`alike.said_by`): as words
    alone, "likes C" and "likes C++" are one text. What is outdated says nothing any more."""
    text = row.terms if row.source != Source.USER_MEMORY else row.item_id if row.superseded else said_by(row.text)
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), signed=True)


def _numbering() -> defaultdict[str, int]:
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def parts(values: Array, sizes: Array, places: Array) -> Array:
    """Return the parts of `values` at these places, one after another; `sizes` are those of all parts."""
    ends, chosen = np.cumsum(sizes, dtype=np.int64), sizes[places]
    starts = (ends - sizes)[places] - (np.cumsum(chosen) - chosen)
    found: Array = values[np.repeat(starts, chosen) + np.arange(chosen.sum())]
    return found


def without(batch: PackedRows, chunk_ids: Collection[int]) -> PackedRows:
    """Return the batch without these chunks, and without every word and string that only they have."""
    old = batch.arrays
    kept = ~np.isin(old["chunk_ids"], list(chunk_ids))
    rows, place = np.flatnonzero(kept), np.cumsum(kept, dtype=np.int32) - 1
    arrays = {name: old[name][rows] for name in (*PLAIN, *NAMED, "sizes", "vectors", "scales") if name in old}
    for name in ("tags", "named_days"):
        pairs = old[name][kept[old[name][:, 0]]]
        arrays[name] = np.column_stack([place[pairs[:, 0]], pairs[:, 1:]])
    numbers = [np.zeros(1, np.int32), arrays["tags"][:, 1], *(arrays[name] for name in NAMED)]
    strings = np.unique(np.concatenate(numbers))  # "" stays the first
    for name in NAMED:
        arrays[name] = np.searchsorted(strings, arrays[name]).astype(np.int32)
    arrays["tags"][:, 1] = np.searchsorted(strings, arrays["tags"][:, 1])
    words, said = np.unique(parts(old["words"], old["sizes"], rows), return_inverse=True)
    arrays["words"] = said.astype(np.int32)
    if "pieces" in old:
        arrays["pieces"] = parts(old["pieces"], old["piece_sizes"], words)
        arrays |= {name: old[name][words] for name in ("piece_sizes", "lengths")}
    used = {"strings": strings, "words": words, "stems": words}
    return PackedRows(
        arrays, {name: [batch.texts[name][at] for at in places.tolist()] for name, places in used.items()}
    )


def as_bytes(batch: PackedRows, form: str) -> bytes:
    """Return a batch as bytes.

    Arguments:
        form: what its words and vectors were made by: bytes of another form are not read.
    """
    shapes = [(name, array.dtype.str, array.shape) for name, array in batch.arrays.items()]
    header = json.dumps({"form": form, "arrays": shapes, "texts": batch.texts}).encode()
    body = b"".join([len(header).to_bytes(4), header, *(array.tobytes() for array in batch.arrays.values())])
    return _FORMAT + crc32(body).to_bytes(4) + body


def from_bytes(data: bytes, form: str) -> PackedRows | None:
    """Return the batch; None of bytes that are damaged, or of another format or form."""
    body = memoryview(data)[len(_FORMAT) + 4 :]
    if data[: -len(body) or None] != _FORMAT + crc32(body).to_bytes(4):
        return None
    at = 4 + int.from_bytes(body[:4])
    header = json.loads(bytes(body[4:at]))
    if header["form"] != form:
        return None
    arrays: dict[str, Array] = {}
    for name, kind, shape in header["arrays"]:
        size = int(np.prod(shape))
        arrays[name] = np.frombuffer(body, dtype=kind, count=size, offset=at).reshape(shape)
        at += arrays[name].nbytes
    return PackedRows(arrays, header["texts"])
