"""ASGI entry point, for uvicorn and every other ASGI server."""

import os
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.handlers.asgi import ASGIRequest
from django.utils.http import parse_header_parameters

from memory_app.configuration.environment import UMASK

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")


class AsgiRequest(ASGIRequest):
    """It ignores the charset a request declares, as that of `memory_app.wsgi` does."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


application = get_asgi_application()
application.request_class = AsgiRequest
