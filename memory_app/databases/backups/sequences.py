"""The last ids that each table of `default` has assigned.

An id that a person or an agent has seen must never name something else, so a restored database continues
above them.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.apps import apps
from django.db import connection, models


def last_ids() -> dict[str, int]:
    """Return the highest id each table has ever assigned, by table, also when that row is gone."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, seq FROM sqlite_sequence")
            return {str(table): int(last) for table, last in cursor.fetchall()}
        found = {}
        for table in _tables():
            cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [connection.ops.quote_name(table)])
            sequence = cursor.fetchone()[0]
            if sequence is None:
                continue
            cursor.execute("SELECT pg_sequence_last_value(%s::regclass)", [sequence])
            found[table] = int(cursor.fetchone()[0] or 0)
        return found


def go_on_above(ids: Mapping[str, int]) -> None:
    """Never assign an id up to these again. Tables whose sequence is higher stay as they are."""
    present = last_ids()
    behind = {table: last for table, last in ids.items() if last > present.get(table, 0)}
    known = set(_tables())
    with connection.cursor() as cursor:
        for table, last in behind.items():
            if table not in known:
                continue  # of an older version; gone since
            if connection.vendor != "sqlite":
                name = connection.ops.quote_name(table)
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [name, last])
            elif table in present:
                cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [last, table])
            else:
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, last])


def _tables() -> list[str]:
    """Return the tables of `default` whose ids are assigned from a sequence."""
    return sorted(
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if isinstance(model._meta.pk, models.AutoField | models.BigAutoField) and model._meta.managed
    )
