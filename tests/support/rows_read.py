"""How much of `default` a piece of work reads, to compare it at two sizes of a site."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection

#: SQLite tells after so many instructions of its machine; reading a row takes ten or so.
_INSTRUCTIONS = 10


def rows_read(work: Callable[[], object]) -> int:
    """Return how many rows the statements of this work go through: on SQLite in steps of its machine."""
    return _steps(work) if connection.vendor == "sqlite" else _rows_of_plans(work)


def _steps(work: Callable[[], object]) -> int:
    count = 0

    def tell() -> int:
        nonlocal count
        count += 1
        return 0

    connection.ensure_connection()
    raw: Any = connection.connection
    raw.set_progress_handler(tell, _INSTRUCTIONS)
    try:
        work()
    finally:
        raw.set_progress_handler(None, 0)
    return count


def _rows_of_plans(work: Callable[[], object]) -> int:
    count = 0

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal count
        if sql.lstrip().startswith("SELECT") and not many and not _is_within:
            _is_within.append(True)
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0]
            _is_within.pop()
            count += sum(_rows((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
        return execute(sql, params, many, context)

    _is_within: list[bool] = []
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with connection.execute_wrapper(explain):
        work()
    return count


def _rows(node: Any) -> Iterator[int]:
    """Yield the rows of each table or index that a plan goes through, those it leaves out too."""
    if "Relation Name" in node or "Index Name" in node:
        left_out = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        yield (node["Actual Rows"] + left_out) * node["Actual Loops"]
    for child in node.get("Plans", []):
        yield from _rows(child)
