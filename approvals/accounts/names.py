"""What people are called."""

from __future__ import annotations

from collections.abc import Iterable

from approvals.models import User


def display_names(usernames: Iterable[str]) -> dict[str, str]:
    """Return the names of people by username, in one query."""
    people = User.objects.filter(username__in={username for username in usernames if username})
    return {person.username: person.display_name for person in people}
