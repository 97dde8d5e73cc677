"""Chunks packed as arrays beside their rows, which a process reads at an owner's first search.

Reading 2,000 rows one by one, and taking their words apart, took 80 ms of a processor. Some hundred chunks are packed
at a time, so that nothing rewrites all of an owner's, and what is new is read from its rows until it is packed.

Belongs here: the rows `PackedChunks`. They are derived: what cannot be read is read from the chunks, and packed again.
Not here: the form of the arrays (`ranking.packed`), and those in memory (`cache`).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise

from django.db import transaction
from django.db.models import Q, QuerySet

from memory_app.models import Chunk, PackedChunks, SearchIndex
from memory_app.runtime import background
from memory_app.search import embedders, index_state
from memory_app.search.ranking.chunking import IndexRow
from memory_app.search.ranking.packed import PackedRows, as_bytes, from_bytes, packed, without

#: Chunks in one row, and how many new ones are worth one. A change of one chunk writes its row again, in 2 ms.
_SIZE, _LEAST = 256, 128
#: More gaps than this are not looked for one by one: all chunks are read.
_MOST_GAPS = 20

#: The columns of a row of the index, in its order.
FIELDS = ("id", *IndexRow._fields[1:])
#: Up to any id.
_END = 1 << 62


def read(owner: str, form: str) -> tuple[list[PackedRows], list[IndexRow]]:
    """Return the owner's chunks: those that are packed, and the rows of all others.

    Arguments:
        form: the name of the embedder the arrays are for. What was packed with another one is left alone.
    """
    # Before the rows: a chunk that is packed in between is then read from its row, and never missed.
    kept = PackedChunks.objects.filter(owner=owner).order_by("after").values_list("id", "after", "last", "data")
    found = [(key, after, last, from_bytes(bytes(data), form)) for key, after, last, data in kept]
    batches = [batch for *_, batch in found if batch is not None]
    gaps = _gaps([(after, last) for _, after, last, batch in found if batch is not None])
    if len(gaps) > _MOST_GAPS:
        batches, gaps = [], [(0, _END)]
    rows = _rows(_live(owner, gaps))
    damaged = [key for key, *_, batch in found if batch is None]
    if len(rows) >= _SIZE + _LEAST or damaged:
        # Not here: who searches waits.
        background.soon(f"reindex: pack {owner}", partial(pack, owner, damaged))
    return batches, rows


def pack(owner: str, damaged: Sequence[int] = ()) -> None:
    """Pack what is not packed yet, unless it is little.

    Arguments:
        damaged: keys of rows that cannot be read.
    """
    if not _is_of(owner, embedders.configured_name()):
        return  # the embedder is away, or the chunks will be made anew
    PackedChunks.objects.filter(owner=owner, pk__in=damaged).delete()
    if PackedChunks.objects.filter(owner=owner).count() > 8 + 2 * _live(owner).count() // _SIZE:
        PackedChunks.objects.filter(owner=owner).delete()  # little is left in each
    while _pack_some(owner):
        pass


def _pack_some(owner: str) -> bool:
    """Write one row; return whether there was enough to pack."""
    with transaction.atomic():
        # Who writes chunks waits: what is removed is removed from a row that is there.
        index_state.lock(owner)
        embedder = embedders.configured()
        form = embedders.name_of(embedder)
        if not _is_of(owner, form):
            return False
        spans = PackedChunks.objects.filter(owner=owner).order_by("after").values_list("after", "last")
        for after, last in _gaps(spans):
            rows = _rows(_live(owner, [(after, last)]), _SIZE)
            if rows and (last < _END or len(rows) >= _LEAST):
                data = as_bytes(packed(rows, embedder, with_pieces=True), form)
                end = rows[-1].chunk_id if len(rows) == _SIZE or last == _END else last
                PackedChunks.objects.create(owner=owner, after=after, last=end, data=data)
                return True
    return False


def remove(owner: str, version: int) -> None:
    """Remove the chunks that this version removed, in its transaction: none of their words stays here."""
    gone = Chunk.objects.filter(owner=owner, version=version, removed=True)
    ids = [*gone.values_list("id", flat=True)]
    if not ids:
        return
    form = SearchIndex.objects.values_list("embedder", flat=True).get(owner=owner)
    for row in PackedChunks.objects.filter(owner=owner, after__lt=max(ids), last__gte=min(ids)):
        if any(row.after < each <= row.last for each in ids):
            # Also of a row that another process has just deleted, to pack it again.
            same, batch = PackedChunks.objects.filter(pk=row.pk), from_bytes(bytes(row.data), form)
            if batch is None:
                same.delete()
            else:
                same.update(data=as_bytes(without(batch, ids), form))


def _is_of(owner: str, form: str) -> bool:
    """Whether the owner's chunks are of this form."""
    return SearchIndex.objects.filter(owner=owner, embedder=form).exists()


def _live(owner: str, gaps: Sequence[tuple[int, int]] = ((0, _END),)) -> QuerySet[Chunk]:
    within = Q()
    for after, last in gaps:
        within |= Q(id__gt=after, id__lte=last)
    return Chunk.objects.filter(within, owner=owner, removed=False)


def _rows(chunks: QuerySet[Chunk], most: int | None = None) -> list[IndexRow]:
    return [IndexRow(*values) for values in chunks.order_by("id").values_list(*FIELDS)[:most]]


def _gaps(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what lies before, between and behind spans that ascend."""
    edges = [(0, 0), *spans, (_END, _END)]
    return [(last, after) for (_, last), (after, _) in pairwise(edges) if last < after]
