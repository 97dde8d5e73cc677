"""When a person is told: at once, each day or each Monday, in their own time zone. No database here."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from approvals.models import Mail, User

#: A mail tells of what happened until this long ago: rows of a transaction under way are seen by then.
SETTLED = timedelta(seconds=15)
#: What comes sooner after a mail sent at once waits for the next one.
PAUSE = timedelta(minutes=5)


def zone_of(person: User) -> ZoneInfo:
    """Return the person's time zone; UTC where this machine does not know it."""
    try:
        return ZoneInfo(person.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def is_due(person: User, now: datetime, *, hour: int) -> bool:
    """Whether to look for something to tell a person now.

    Args:
        hour: of the day, in the person's zone, at which digests go out.
    """
    if person.mail == Mail.NEVER:
        return False
    if person.mail == Mail.AT_ONCE:
        return person.mailed_at is None or person.mailed_at + PAUSE <= now
    return (person.mailed_at or person.date_joined) < _last_time(
        Mail(person.mail), now.astimezone(zone_of(person)), hour
    )


def _last_time(mail: Mail, now: datetime, hour: int) -> datetime:
    """Return when digests of this kind were last to go out."""
    day = now.date()
    if mail == Mail.WEEKLY:
        day -= timedelta(days=day.weekday())
    at = datetime.combine(day, time(hour), tzinfo=now.tzinfo)
    return at if at <= now else at - timedelta(days=7 if mail == Mail.WEEKLY else 1)
