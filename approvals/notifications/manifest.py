"""`/manifest.webmanifest`: what a browser needs to keep Assent as an app, whose icon shows how many proposals wait.

No service worker: nothing of a memory is kept for when there is no network.
"""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe


@cache_control(public=True, max_age=86_400)
@require_safe
def manifest(request: HttpRequest) -> JsonResponse:
    """Answer the manifest, the same for everybody."""
    icons = (("icon-192.png", "192x192", "any"), ("icon-512.png", "512x512", "any"))
    values = {
        "name": "Assent",
        "short_name": "Assent",
        "description": _("Review what agents remember"),
        "id": reverse("inbox"),
        "start_url": reverse("inbox"),
        "scope": reverse("inbox"),
        "display": "standalone",
        "background_color": "#f6f6f8",
        "theme_color": "#3b45b5",
        "icons": [
            {"src": static(name), "sizes": sizes, "type": "image/png", "purpose": purpose}
            for name, sizes, purpose in (*icons, ("icon-512-maskable.png", "512x512", "maskable"))
        ],
    }
    return JsonResponse(values, content_type="application/manifest+json")
