"""Django admin for people, proposals and the memory.

The memory models are administered here and not in `memory_app`, because saving one goes through
`approvals.services`. Admins sign in where everybody does: the admin's own form would not be throttled.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from approvals.admin import memory, people, proposals  # noqa: F401 (they register themselves)


def sign_in(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """Return where the admin sends those it does not let in: to sign in; to nothing, if they have."""
    if request.user.is_authenticated and not admin.site.has_permission(request):
        raise Http404
    target = request.GET.get("next") or reverse("admin:index")
    return redirect_to_login(target, reverse("sign_in"))


#: What the machinery keeps for itself: an admin of people needs none of it.
INTERNALS = frozenset(
    (
        "Attention Batch Chunk DirectWrite IdempotencyKey MemoryDatabase MemoryOwner NoteAccess OwnerCounts "
        "PackedChunks ProposedNote Revision SavedFilter SearchIndex SiteRecord WeekCount"
    ).split()
)


def app_list(request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
    """Return the models by app, and those of `INTERNALS` under a heading of their own at the end."""
    apps = _by_app(request, app_label)
    if app_label is not None:
        return apps
    internals = [model for app in apps for model in app["models"] if model["object_name"] in INTERNALS]
    for app in apps:
        app["models"] = [model for model in app["models"] if model not in internals]
    apps = [app for app in apps if app["models"]]
    if internals:
        last = {"name": _("Internals"), "app_label": "internals", "app_url": "", "has_module_perms": True}
        apps.append({**last, "models": sorted(internals, key=lambda model: str(model["name"]))})
    return apps


_by_app = admin.site.get_app_list
admin.site.get_app_list = app_list  # type: ignore[method-assign]
admin.site.site_title = _("Assent")
admin.site.site_header = _("Assent")
admin.site.index_title = _("Administration")
admin.site.login = sign_in  # type: ignore[method-assign]
