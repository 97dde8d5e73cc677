"""Calendar weeks of the viewer, and counting rows of the database by them."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from django.db.models import Case, SmallIntegerField, Value, When
from django.utils import timezone

from approvals.models import Status

#: How many weeks are shown; the last is the one under way.
WEEKS = 12

#: What "last week" means for numbers: as long ago as the filter "in the last 7 days" reaches.
RECENT = timedelta(days=7)

#: What was proposed for a person to decide: everything but automatic changes, and what is being prepared.
ASKED = tuple(status for status in Status if status not in (Status.APPLIED, Status.PREPARING))


def starts(now: datetime | None = None) -> tuple[datetime, ...]:
    """Return when each of the last `WEEKS` weeks began, oldest first: Mondays, midnight in the viewer's zone."""
    today = timezone.localdate(now)
    monday = today - timedelta(days=today.weekday())
    days = (monday - timedelta(weeks=ago) for ago in range(WEEKS - 1, -1, -1))
    return tuple(timezone.make_aware(datetime.combine(day, time())) for day in days)


def number_of(column: str, began: Sequence[datetime]) -> Case:
    """Return an expression: in which of these weeks the time in `column` is, from 0.

    Comparing with a dozen constants, newest first, costs SQLite a tenth of cutting each time to its week. Rows before
    the first week have to be left out by the query.
    """
    cases = [When(**{f"{column}__gte": at}, then=Value(number)) for number, at in enumerate(began)]
    return Case(*reversed(cases), default=Value(0), output_field=SmallIntegerField())
