"""How often agents recalled a note, and when last: beside the memory, so that reading commits nothing."""

from collections.abc import Iterable, Mapping, Sequence

from django.db import connection
from django.utils import timezone

from memory_app.databases.prepared import batched
from memory_app.models import NoteAccess


def record(owner: str, ids: Iterable[str]) -> None:
    """Count one more recall of each note, in one statement: two agents at once are both counted.

    `bulk_create(update_conflicts=True)` can only set a count, not add to it.
    """
    table = connection.ops.quote_name(NoteAccess._meta.db_table)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    wanted = sorted(set(ids))  # in one order, or two such statements could wait for each other
    for batch in batched(wanted):
        values = ", ".join(["(%s, %s, 1, %s)"] * len(batch))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} (owner, note_id, count, last_at) VALUES {values} "  # noqa: S608 - our own names
                f"ON CONFLICT (owner, note_id) DO UPDATE SET count = {table}.count + 1, last_at = excluded.last_at",
                [value for id_ in batch for value in (owner, id_, now)],
            )


def for_owner(owner: str, ids: Sequence[str]) -> Mapping[str, NoteAccess]:
    """Return the recalls of these notes of an owner, by id, in one query."""
    return {row.note_id: row for row in NoteAccess.objects.filter(owner=owner, note_id__in=ids)}


def counts(owner: str) -> Mapping[str, int]:
    """Return how often agents recalled each of an owner's notes, by id."""
    return dict(NoteAccess.objects.filter(owner=owner).values_list("note_id", "count"))
