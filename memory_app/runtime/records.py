"""What a site remembers of itself, for monitoring: when something was last done, and how often something happened.

One row for each name, in `default`: all processes and machines add to it, and it survives their restarts.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory_app.databases import row_order
from memory_app.models import SiteRecord

#: The names: a backup, the tasks by the clock, decided proposals, what `recover` finished, what `/metrics` has counted.
BACKUP, UPKEEP, DECIDED, RECOVERED, COUNTED = "backup", "upkeep", "decided", "recovered", "counted"


def note(name: str, value: Any = None) -> None:
    """Record that this was done now.

    Args:
        value: of JSON.
    """
    SiteRecord.objects.update_or_create(name=name, defaults={"value": value or {}, "at": timezone.now()})


def add(name: str, counts: Mapping[str, int]) -> None:
    """Add to the counts under a name."""
    with transaction.atomic():
        row_order.lock(f"record {name}")
        before = value(name)
        note(name, before | {what: before.get(what, 0) + number for what, number in counts.items()})


def value(name: str) -> dict[str, Any]:
    """Return what is recorded under a name; nothing is an empty dictionary."""
    found = SiteRecord.objects.filter(name=name).values_list("value", flat=True).first()
    return found or {}


def last(name: str) -> datetime | None:
    """Return when this was last done."""
    return SiteRecord.objects.filter(name=name).values_list("at", flat=True).first()
