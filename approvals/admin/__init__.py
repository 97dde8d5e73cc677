"""Django admin for people, proposals and the memory.

The memory models are administered here and not in `memory_app`, because saving one goes through
`approvals.services`. Admins sign in where everybody does: the admin's own form would not be throttled.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from approvals.admin import conversations, memory, notes, people, proposals, search  # noqa: F401 (they register themselves)


def sign_in(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """Where the admin sends those it does not let in: to sign in; to nothing, if they have."""
    if request.user.is_authenticated and not admin.site.has_permission(request):
        raise Http404
    target = request.GET.get("next") or reverse("admin:index")
    return redirect_to_login(target, reverse("sign_in"))


admin.site.site_title = _("Assent")
admin.site.site_header = _("Assent")
admin.site.index_title = _("Administration")
admin.site.login = sign_in  # type: ignore[method-assign]
