"""Counts that are kept: what orders people on the board, and what was proposed and decided in parts of weeks.

Triggers write them (`kept.sql`), in the transaction that changes a proposal, the ledger or a person, whoever changes
it; pages only read. What orders people is made anew from the rows. Parts of weeks are only added, so that transactions
never wait for each other, and summed up later; each day they are compared with the proposals.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from approvals.models import OwnerCounts, Proposal, WeekCount
from approvals.models.proposals import DECIDED
from approvals.statistics import weeks
from memory_app.databases.row_order import lock_owner
from memory_app.runtime import records

#: What `WeekCount` has for everyone together.
EVERYONE = ""
#: What a duplicate counts as that was in the memory already: no mistake of its agent's.
ALREADY_APPLIED = "already_applied"
#: How long a row of the board is believed: time alone takes away what was decided seven days ago.
_BELIEVED = timedelta(hours=1)
#: How long the counts of decided proposals are.
_DECIDED_BELIEVED = timedelta(minutes=10)
#: Rows that one transaction counts or sums up, and seconds until the next: SQLite has one writer.
_AT_ONCE, _PAUSE = 1_000, 0.1
#: A text of a file of SQL, under a line that names it and says what it is for.
_NAMED_TEXT = re.compile(r"^-- (\w+): .*\n((?:.+\n)+)", re.MULTILINE)


@cache
def _texts(engine: str) -> dict[str, str]:
    """Return the texts of `kept.sql`, and those that an engine says in its own way, by name."""
    files = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("kept.sql", f"kept.{engine}.sql"))
    return {name: text.strip() for file in files for name, text in _NAMED_TEXT.findall(file)}


def _said(name: str, *values: str) -> str:
    return _texts(connection.vendor)[name].format(*values)


def _part(column: str) -> str:
    """Return when the part of a week began that the time in `column` is counted in.

    Quarters of an hour while it becomes Monday somewhere, from UTC+14 to UTC−12, 26 hours later, and the rest of the
    week as one: so the weeks of every zone are sums of whole parts.
    """
    at = _said("seconds", column)
    into_week = f"(({at} - 295200) % 604800)"  # since Sunday, 4 January 1970, 10:00
    start = f"CASE WHEN {into_week} < 93600 THEN {at} - {at} % 900 ELSE {at} - {into_week} + 93600 END"
    return _said("moment", start)


def _sql(name: str, row: str = "p", **values: Any) -> str:
    """Return a text with {row} and what follows from it filled in."""
    called = f"trim({row}.first_name || ' ' || {row}.last_name)"
    called = f"CASE {called} WHEN '' THEN {row}.username ELSE {called} END"
    values = {
        **{each: _said(each) for each in ("now", "recently", "first_week", "oldest")},
        "row": row,
        "asked": ", ".join(f"'{status}'" for status in weeks.ASKED),
        "decided": ", ".join(f"'{status}'" for status in DECIDED),
        "created_part": _part(f"{row}.created_at"),
        "decided_part": _part(f"{row}.decided_at"),
        "always": _said("moment", "253402214400"),  # the last day of the year 9999
        "never": _said("moment", "0"),
        "name": _said("bytes", f"lower({called}) || '\t' || {row}.username"),
        **values,
    }
    return _texts(connection.vendor)[name].format(**values)


def _parts(row: str, number: int, source: str = "") -> str:
    of = (_sql("parts", row, owner=owner, number=number, source=source) for owner in (f"{row}.owner", "''"))
    return " UNION ALL ".join(of)


def _triggers() -> dict[str, tuple[str, str, str]]:
    """Return the triggers by name: event and table, the condition, what is done."""
    differs = _said("differs")
    depend = "owner agent_id status created_at decided_at approval decision_reason mergeability reverted_by_commit"
    changed = " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in depend.split())
    add, take = _sql("add", parts=_parts("NEW", 1)), _sql("add", parts=_parts("OLD", -1))
    count = {row: _sql("alone", row, what=f"{_sql('count')} WHERE owner = {row}.owner;") for row in ("NEW", "OLD")}
    return {
        "count_new_proposal": ("INSERT ON approvals_proposal", "TRUE", add + count["NEW"]),
        "count_proposal": ("UPDATE ON approvals_proposal", changed, take + add + count["NEW"]),
        "count_lost_proposal": ("DELETE ON approvals_proposal", "TRUE", take + count["OLD"]),
        "count_change": ("INSERT ON memory_app_change", "TRUE", _sql("alone", "NEW", what=_sql("change"))),
        "count_person": ("INSERT ON approvals_user", "TRUE", _sql("person", "NEW")),
        "count_name": ("UPDATE OF first_name, last_name ON approvals_user", "TRUE", _sql("name", "NEW")),
    }


def watch() -> None:
    """Let the database keep the counts, after a migration: where it did not yet, all are made anew.

    SQLite drops the triggers of a table that a migration makes anew.
    """
    if OwnerCounts._meta.db_table not in connection.introspection.table_names():
        return  # migrated to an older version
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_said("triggers"))
        present = {name for (name,) in cursor.fetchall()}
        missing = {name: each for name, each in _triggers().items() if name not in present}
        for name, (event, condition, what) in missing.items():
            cursor.execute(_sql("trigger", trigger=name, event=event, condition=condition, what=what))
        if missing:
            cursor.execute(_sql("people"))
            cursor.execute(_sql("count"))
            cursor.execute(_sql("correct", parts=_parts("p", 1, "FROM approvals_proposal p")))


def keep() -> None:
    """Count what orders people, where it may have been missed or time changed it, and sum up parts of weeks."""
    new, old = WeekCount.objects.filter(is_new=True), timezone.now() - _BELIEVED
    _count(new.exclude(owner=EVERYONE).order_by("pk").values_list("owner", flat=True)[:_AT_ONCE])
    long_ago = OwnerCounts.objects.filter(counted_at__lt=old).order_by("counted_at")
    _count(long_ago.values_list("person__username", flat=True)[:_AT_ONCE])
    while _sum_up():
        time.sleep(_PAUSE)
    _count_decided()
    records.note(records.UPKEEP)  # this runs every minute, wherever tasks by the clock do


def _count_decided() -> None:
    """Count decided proposals by state now and then: a million take SQLite a second and a half when nothing is cached,
    which is longer than a scrape of `/metrics` may take."""
    counted_at = records.last(records.DECIDED)
    if counted_at is None or timezone.now() - counted_at > _DECIDED_BELIEVED:
        rows = Proposal.objects.filter(status__in=DECIDED).order_by().values_list("status").annotate(Count("pk"))
        records.note(records.DECIDED, dict.fromkeys(DECIDED, 0) | dict(rows))


def correct() -> None:
    """Correct counts of weeks that differ from the proposals, and forget those that no page shows any more."""
    with transaction.atomic(), connection.cursor() as cursor:
        lock_owner(EVERYONE)
        cursor.execute(_sql("correct", parts=_parts("p", 1, "FROM approvals_proposal p")))
    WeekCount.objects.filter(at__lt=timezone.now() - timedelta(days=98)).delete()


def _count(owners: Iterable[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # What they count is read by a statement after the lock, or a change could be overlooked.
        rows = OwnerCounts.objects.filter(person__username__in=set(owners)).order_by("pk")
        if found := list(rows.select_for_update(of=("self",)).values_list("pk", flat=True)):
            places = ", ".join(["%s"] * len(found))
            cursor.execute(f"{_sql('count').replace('%', '%%')} WHERE owner IN ({places})", found)


def _sum_up() -> bool:
    same = ("owner", "agent_id", "at", "part", "what", "is_reverted")
    with transaction.atomic():
        lock_owner(EVERYONE)
        new = list(WeekCount.objects.filter(is_new=True).order_by("pk").values_list("pk", "number", *same)[:_AT_ONCE])
        sums: Counter[tuple[Any, ...]] = Counter()
        for _pk, number, *key in new:
            sums[tuple(key)] += number
        summed = WeekCount.objects.filter(
            is_new=False, owner__in={key[0] for key in sums}, at__in={key[2] for key in sums}
        )
        alike = [row for row in summed.values_list("pk", "number", *same) if row[2:] in sums]
        for _pk, number, *key in alike:
            sums[tuple(key)] += number
        WeekCount.objects.filter(pk__in=[pk for pk, *_ in (*new, *alike)]).delete()
        WeekCount.objects.bulk_create(
            WeekCount(**dict(zip(same, key, strict=True)), number=number, is_new=False)
            for key, number in sums.items()
            if number
        )
    return len(new) == _AT_ONCE
