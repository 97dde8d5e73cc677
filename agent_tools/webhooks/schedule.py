"""When a message is tried again, and when trying ends. No database here."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

#: After the first attempt, the second and so on: fourteen attempts in a little over a week.
PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24, 24, 24, 24, 24)),
)
#: Pauses are made longer by up to this share, so that what failed together is not tried together. Never shorter: the
#: last attempt comes more than a week after the first.
JITTER = 0.15
#: An address at which nothing arrived for so long is disabled.
GIVE_UP_AFTER = timedelta(days=7)
#: The longest a receiver may ask to be left alone.
LONGEST_PAUSE = timedelta(hours=24)


def next_attempt(now: datetime, *, tries: int, retry_after: timedelta | None = None) -> datetime | None:
    """Return when to try again; None when that was the last attempt.

    Args:
        tries: how many attempts there were, this one included.
        retry_after: what the receiver asked for, at most `LONGEST_PAUSE`.
    """
    if tries > len(PAUSES):
        return None
    pause = PAUSES[tries - 1] * (1 + JITTER * random.random())  # noqa: S311 - spreads load, guards nothing
    return now + max(pause, retry_after or pause)


def retry_after(header: str, now: datetime) -> timedelta | None:
    """Return how long a `Retry-After` header asks to wait, at most `LONGEST_PAUSE`; None where it says nothing."""
    header = header.strip()
    if header.isascii() and header.isdecimal() and len(header) < 10:
        asked = timedelta(seconds=int(header))
    else:
        try:
            at = parsedate_to_datetime(header)
        except (ValueError, TypeError, OverflowError):  # the last for a year or a zone of twenty digits
            return None
        asked = (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    return min(asked, LONGEST_PAUSE) if asked > timedelta(0) else None
