"""The template variable of every page that says whether its navigation has Agents."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agent_tools.models import AgentToken
from approvals.models import User


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return `has_agents`: for staff, and for people with a token of their own. Others find the page in Settings.

    Tokens of admins for everyone do not count: people can do nothing with them.
    """
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {}
    return {"has_agents": SimpleLazyObject(lambda: user.is_staff or AgentToken.objects.filter(owners=user).exists())}
