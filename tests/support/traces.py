"""Where a text is left: in the tables of `default`, in the files of either database."""

from pathlib import Path

from django.conf import settings
from django.db import connection

from tests import environment


def tables_with(text: str) -> list[str]:
    """The tables of `default` that have `text` in any column of any row, those that wait to be written among them."""
    from agent_tools.calls import execution
    from agent_tools.tools import block_reads

    execution.settle()
    block_reads.settle()
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            if any(text in _written(value) for row in cursor.fetchall() for value in row):
                found.append(table)
    return found


def files_with(text: str, alias: str) -> list[str]:
    """The files of an embedded database that have `text`; none of a server's, which are packed."""
    if not environment.is_embedded():
        return []
    if alias == "default":
        with connection.cursor() as cursor:  # what is in the log only is not in the file yet
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = Path(str(settings.DATABASES[alias]["NAME"]).partition("?")[0].removeprefix("file:"))
    return [file.name for file in path.parent.glob(f"{path.name}*") if text.encode() in file.read_bytes()]


def _written(value: object) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
