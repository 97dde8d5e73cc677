"""`/api/schema/` and `/api/docs/`: the OpenAPI document and a page to read it."""

from __future__ import annotations

from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView


class Schema(SpectacularJSONAPIView):
    """The document as JSON."""


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI from our own files. Its start script comes from an address of its own, and our template
    has no inline style: the content security policy allows neither inline."""

    template_name = "agents/api_docs.html"
    url_name = "api_schema"
