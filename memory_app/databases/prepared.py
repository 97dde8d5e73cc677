"""Queries and rows whose SQL is compiled once in a process, and then only run; and long lists in parts, as many as
one statement takes.

Compiling a query of the ORM takes 0.3 to 0.9 ms, each time; running it against SQLite 0.05 ms. So the queries of every
call are described once, as a queryset, and kept here as SQL. Not for rare queries: a queryset is easier to read.
"""

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    QuerySet,
    ValuesListIterable,
    get_related_populators,
)

Row = TypeVar("Row")
T = TypeVar("T")
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
    """A query as SQL, with what makes its results of rows.

    Args:
        parameters: those of the SQL, with samples where a value goes.
        places: which of them are a value's, with its name.
        converters: position in a row, what converts the value there, and the expression they take.
        make: makes a result of a row.
    """

    db: str
    sql: str
    parameters: list[Any]
    places: list[tuple[int, str]]
    converters: list[tuple[int, list[Callable[..., Any]], Any]]
    make: Callable[[Sequence[Any]], Any]


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
        connection = connections[kept.db]
        parameters = kept.parameters.copy()
        for place, name in kept.places:
            parameters[place] = _adapted(values[name], connection)
        with connection.cursor() as cursor:
            cursor.execute(kept.sql, parameters)
            rows = cursor.fetchall()
        return [kept.make(_converted(row, kept.converters, connection)) for row in rows]

    def first(self, **values: Any) -> Row | None:
        """Return the first row, or None. Limit the queryset to one row (`[:1]`) where there may be many."""
        return next(iter(self.all(**values)), None)

    def _compile(self) -> _Compiled:
        samples = {name: _SAMPLES[kind](number) for number, (name, kind) in enumerate(self._kinds.items())}
        queryset = self._build(**samples)
        compiler = queryset.query.get_compiler(using=queryset.db)
        sql, parameters = compiler.as_sql()
        places: dict[int, str] = {}
        for name, kind in self._kinds.items():
            other = self._build(**samples | {name: _SAMPLES[kind](len(samples))})
            other_sql, others = other.query.get_compiler(using=other.db).as_sql()
            if other_sql != sql:
                raise ValueError(f"the SQL depends on what {name} is")
            for place, (one, another) in enumerate(zip(parameters, others, strict=True)):
                if one != another:
                    places[place] = name
        if missing := set(self._kinds) - set(places.values()):
            raise ValueError(f"the query does not use {', '.join(sorted(missing))}")
        converters = compiler.get_converters([column for column, *_ in compiler.select])
        self._compiled = _Compiled(
            queryset.db,
            sql,
            list(parameters),
            list(places.items()),
            [(position, *converter) for position, converter in converters.items()],
            _maker(queryset, compiler),
        )
        return self._compiled


def _maker(queryset: QuerySet[Any, Any], compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """Return what makes a row into what the queryset yields, as Django's iterables do."""
    iterable: Any = queryset._iterable_class
    if iterable is FlatValuesListIterable:
        return operator.itemgetter(0)
    if iterable is ValuesListIterable:
        return tuple
    if iterable is not ModelIterable or compiler.annotation_col_map:
        raise ValueError("a prepared query yields instances without annotations, or values_list()")
    model, columns = compiler.klass_info["model"], compiler.klass_info["select_fields"]
    own = slice(columns[0], columns[-1] + 1)
    names = [column.target.attname for column, *_ in compiler.select[own]]
    populators = get_related_populators(compiler.klass_info, compiler.select, queryset.db)  # type: ignore[call-arg]

    def instance(row: Sequence[Any]) -> Any:
        made = model.from_db(queryset.db, names, row[own])
        for each in populators:
            each.populate(row, made)
        return made

    return instance


def _converted(row: Sequence[Any], converters: list[Any], connection: BaseDatabaseWrapper) -> Sequence[Any]:
    if not converters:
        return row
    values = list(row)
    for position, functions, expression in converters:
        for convert in functions:
            values[position] = convert(values[position], expression, connection)
    return values


def _adapted(value: Any, connection: BaseDatabaseWrapper) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, UUID):
        return _UUID.get_db_prep_value(value, connection)
    return value


_UUID: models.UUIDField[UUID, UUID] = models.UUIDField()


_Field = models.Field[Any, Any]
_Prepare = Callable[[Any, BaseDatabaseWrapper], Any]

#: Fields with the type whose values a driver takes as they are.
_PLAIN = (models.CharField, str), (models.TextField, str), (models.IntegerField, int), (models.BooleanField, bool)


@dataclass(frozen=True)
class _Insert:
    """The statement that inserts a row of one model into one database.

    Args:
        fields: with the type whose values the driver takes as they are, what prepares others, and whether the field
            makes its own value.
        returning: the clause for the new key; empty where the row brings its own.
    """

    sql: str
    fields: tuple[tuple[_Field, type | None, _Prepare, bool], ...]
    returning: str

    def values(self, instance: models.Model, connection: BaseDatabaseWrapper) -> list[Any]:
        values = []
        for field, plain, prepare, makes_value in self.fields:
            value = field.pre_save(instance, True) if makes_value else getattr(instance, field.attname)
            if value is not None and type(value) is not plain:
                value = prepare(value, connection)
            values.append(value)
        return values


def insert(instance: Model) -> Model:
    """Insert a new row and set the instance's primary key; as `save(force_insert=True)` without signals.

    Raises:
        IntegrityError: as saving does.
        WriteOutsideCommit: the router's, of a versioned row.
    """
    kept, connection = _insert_of(instance)
    with connection.cursor() as cursor:
        cursor.execute(kept.sql + kept.returning, kept.values(instance, connection))
        if kept.returning:
            instance.pk = cursor.fetchone()[0]
    instance._state.adding, instance._state.db = False, connection.alias
    return instance


def insert_all(instances: Sequence[models.Model]) -> None:
    """Insert rows of one model at once; their keys are not set."""
    kept, connection = _insert_of(instances[0])
    with connection.cursor() as cursor:
        cursor.executemany(kept.sql, [kept.values(each, connection) for each in instances])


def _insert_of(instance: models.Model) -> tuple[_Insert, BaseDatabaseWrapper]:
    using = router.db_for_write(type(instance), instance=instance)
    return _prepared_insert(type(instance), using), connections[using]


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
        parameters.append(_for_driver(fields[name], value, connection))
    for name, value in where.items():
        some = value if isinstance(value, list) else [value]
        conditions.append(f"{quote(str(fields[name].column))} IN ({', '.join(['%s'] * len(some))})")
        parameters += [_for_driver(fields[name], each, connection) for each in some]
    sql = f"UPDATE {quote(model._meta.db_table)} SET {', '.join(assignments)} WHERE {' AND '.join(conditions)}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return bool(cursor.rowcount)


@functools.cache
def _prepared_insert(model: type[models.Model], using: str) -> _Insert:
    pk = model._meta.pk
    is_numbered = isinstance(pk, models.AutoField | models.BigAutoField)
    fields = [field for field in model._meta.local_concrete_fields if not (is_numbered and field is pk)]
    quote = connections[using].ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join("%s" for _ in fields)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608 (names from the model)
    return _Insert(
        sql,
        tuple((field, *_preparation(field), type(field).pre_save is not models.Field.pre_save) for field in fields),
        f" RETURNING {quote(str(pk.column))}" if is_numbered and pk is not None else "",
    )


@functools.cache
def _preparation(field: _Field) -> tuple[type | None, _Prepare]:
    """Return the type whose values the driver takes as they are, and what prepares others.

    Most need nothing or one call; to ask a field for it takes eight.
    """
    if isinstance(field, models.DateTimeField):
        return None, lambda value, connection: connection.ops.adapt_datetimefield_value(value)
    if isinstance(field, models.JSONField):
        return None, lambda value, connection: connection.ops.adapt_json_value(value, field.encoder)
    return next((plain for kind, plain in _PLAIN if isinstance(field, kind)), None), field.get_db_prep_save


def _for_driver(field: _Field, value: Any, connection: BaseDatabaseWrapper) -> Any:
    plain, prepare = _preparation(field)
    return value if value is None or type(value) is plain else prepare(value, connection)


#: Rows or ids in one statement. SQLite takes 32,766 parameters; a row of a note has 18, and some statements name an id
#: twice.
BATCH = 500


def batched(things: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield `things` in parts of `size`, the last one shorter (`itertools.batched` comes with Python 3.12)."""
    for start in range(0, len(things), size):
        yield things[start : start + size]
