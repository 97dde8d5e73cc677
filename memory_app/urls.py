"""All URLs: people's pages, the agent API, the admin, health."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("agent_tools.urls")),
    path("", include("approvals.urls")),
]

# Pages for people; what goes wrong under /api/ is answered in the API's shape by agent_tools.http.middleware.
handler400 = "approvals.views.panels.bad_request"
handler403 = "approvals.views.panels.permission_denied"
handler404 = "approvals.views.panels.not_found"
handler500 = "approvals.views.panels.server_error"
