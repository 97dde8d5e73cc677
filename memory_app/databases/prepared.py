"""Queries and rows whose SQL is compiled once in a process, and then only run.

Compiling a query of the ORM takes 0.3 to 0.9 ms, each time; running it against SQLite 0.05 ms. So the queries of every
call are described once, as a queryset, and kept here as SQL. Not for rare queries: a queryset is easier to read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query import QuerySet

Row = TypeVar("Row")
Model = TypeVar("Model", bound=models.Model)

#: Placeholder values while the places of a parameter in the SQL are looked for; each number gives other ones.
_SAMPLES: dict[type, Callable[[int], Any]] = {
    str: lambda number: f"prepared-{number}",
    int: lambda number: 1_000_000_007 + number,
    UUID: lambda number: UUID(int=number + 1),
    datetime: lambda number: datetime(1977, 5, 1, tzinfo=UTC) + timedelta(days=number),
}


@dataclass(frozen=True)
class _Compiled:
    """Args:
    places: for each parameter of the SQL the name of the value that goes there, or None for one that never changes.
    """

    sql: str
    parameters: tuple[Any, ...]
    places: tuple[str | None, ...]
    compiler: Any
    queryset: QuerySet[Any, Any]


class Prepared(Generic[Row]):
    """A queryset with parameters.

    Args:
        build: makes the queryset from the values. The SQL must not depend on them (no empty list, no None): only its
            parameters may differ.
        kinds: the name of each parameter of `build`, and whether it is a str, an int, a UUID or a datetime.

    Example:
        >>> by_name = Prepared(lambda name: Agent.objects.filter(name=name), name=str)
        >>> by_name.first(name="scribe")
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], **kinds: type) -> None:
        self._build = build
        self._kinds = kinds
        self._compiled: _Compiled | None = None

    def all(self, **values: Any) -> list[Row]:
        """Return every row, in the queryset's order."""
        kept = self._compiled or self._compile()
        connection = connections[kept.queryset.db]
        adapted = {name: _adapted(value, connection) for name, value in values.items()}
        parameters = tuple(
            value if name is None else adapted[name] for value, name in zip(kept.parameters, kept.places, strict=True)
        )
        bound = _Bound(kept.queryset, _Query(kept.queryset.query, _run_as(kept, connection, parameters)))
        iterable: Any = kept.queryset._iterable_class
        return list(iterable(bound))

    def first(self, **values: Any) -> Row | None:
        """Return the first row, or None. Limit the queryset to one row (`[:1]`) where there may be many."""
        return next(iter(self.all(**values)), None)

    def _compile(self) -> _Compiled:
        samples = {name: _SAMPLES[kind](number) for number, (name, kind) in enumerate(self._kinds.items())}
        queryset = self._build(**samples)
        compiler = queryset.query.get_compiler(using=queryset.db)
        sql, parameters = compiler.as_sql()
        places: list[str | None] = [None] * len(parameters)
        for name, kind in self._kinds.items():
            other = self._build(**samples | {name: _SAMPLES[kind](len(samples))})
            other_sql, others = other.query.get_compiler(using=other.db).as_sql()
            if other_sql != sql:
                raise ValueError(f"the SQL depends on what {name} is")
            for place, (one, another) in enumerate(zip(parameters, others, strict=True)):
                if one != another:
                    places[place] = name
        if missing := set(self._kinds) - set(places):
            raise ValueError(f"the query does not use {', '.join(sorted(missing))}")
        converters = compiler.get_converters([column for column, *_ in compiler.select])
        compiler.get_converters = lambda columns: converters
        self._compiled = _Compiled(sql, tuple(parameters), tuple(places), compiler, queryset)
        return self._compiled


def _adapted(value: Any, connection: BaseDatabaseWrapper) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, UUID):
        return _UUID.get_db_prep_value(value, connection)
    return value


_UUID: models.UUIDField[UUID, UUID] = models.UUIDField()


def _run_as(kept: _Compiled, connection: BaseDatabaseWrapper, parameters: tuple[Any, ...]) -> Any:
    compiler = copy.copy(kept.compiler)
    compiler.connection = connection
    compiler.as_sql = lambda *_args, **_named: (kept.sql, parameters)
    return compiler


@dataclass(frozen=True)
class _Query:
    """The attributes of a query that Django's iterables read."""

    query: Any
    compiler: Any

    def get_compiler(self, using: str) -> Any:
        return self.compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self.query, name)


class _Bound:
    """The attributes of a queryset that Django's iterables read."""

    def __init__(self, queryset: Any, query: _Query) -> None:
        self.db = queryset.db
        self.model = queryset.model
        self.query = query
        self._known_related_objects: dict[Any, Any] = {}
        self._fields = queryset._fields


# -- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Insert:
    sql: str
    fields: tuple[models.Field[Any, Any], ...]
    returns_key: bool


_inserts: dict[tuple[type[models.Model], str], _Insert] = {}


def insert(instance: Model) -> Model:
    """Insert a new row and set the instance's primary key; as `save(force_insert=True)` without signals.

    Raises:
        IntegrityError: as saving does.
        WriteOutsideCommit: the router's, of a versioned row.
    """
    using = router.db_for_write(type(instance), instance=instance)
    connection = connections[using]
    kept = _inserts.get((type(instance), using)) or _prepared_insert(type(instance), using, connection)
    values = [field.get_db_prep_save(field.pre_save(instance, True), connection) for field in kept.fields]
    with connection.cursor() as cursor:
        cursor.execute(kept.sql, values)
        if kept.returns_key:
            instance.pk = cursor.fetchone()[0]
    instance._state.adding, instance._state.db = False, using
    return instance


def update(model: type[models.Model], values: Mapping[str, Any], *, where: Mapping[str, Any]) -> bool:
    """Write fields of the row that is as expected. Return whether there was one.

    Args:
        values: name of a field (`agent_id` for a foreign key) → its new value.
        where: name of a field → its value now; a list means one of several.

    Raises:
        WriteOutsideCommit: the router's, of a versioned row.
    """
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    fields = {each.attname: each for each in model._meta.local_concrete_fields}
    assignments, conditions, parameters = [], [], []
    for name, value in values.items():
        assignments.append(f"{quote(str(fields[name].column))} = %s")
        parameters.append(fields[name].get_db_prep_save(value, connection))
    for name, value in where.items():
        some = value if isinstance(value, list) else [value]
        conditions.append(f"{quote(str(fields[name].column))} IN ({', '.join(['%s'] * len(some))})")
        parameters += [fields[name].get_db_prep_save(each, connection) for each in some]
    sql = f"UPDATE {quote(model._meta.db_table)} SET {', '.join(assignments)} WHERE {' AND '.join(conditions)}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return bool(cursor.rowcount)


def _prepared_insert(model: type[models.Model], using: str, connection: BaseDatabaseWrapper) -> _Insert:
    pk = model._meta.pk
    is_numbered = isinstance(pk, models.AutoField | models.BigAutoField)
    fields = tuple(field for field in model._meta.local_concrete_fields if not (is_numbered and field is pk))
    quote = connection.ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join("%s" for _ in fields)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608 (names from the model)
    if is_numbered:
        assert pk is not None
        sql += f" RETURNING {quote(str(pk.column))}"
    kept = _Insert(sql, fields, is_numbered)
    _inserts[model, using] = kept
    return kept
