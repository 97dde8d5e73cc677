"""Who is looking: the signed-in person of a request, by our own type."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from approvals.models import User


def viewer_of(request: HttpRequest) -> User:
    """Return the signed-in person, for views behind `login_required`, which an anonymous visitor never reaches."""
    return cast(User, request.user)
