"""WSGI entry point, for waitress and every other WSGI server."""

import os
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver
from django.utils.http import parse_header_parameters

from memory_app.celery import load_tasks
from memory_app.configuration.environment import UMASK

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")


class WsgiRequest(WSGIRequest):
    """Django decodes the address with whatever codec the `Content-Type` names, `base64` too, before any middleware
    could catch that. Everything here is UTF-8; `approvals.middleware` refuses the rest."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


application = get_wsgi_application()
application.request_class = WsgiRequest

# Every view and task is imported here, by one thread: two that import the same modules in another order, as the first
# requests of a busy server would, can be handed half of one.
_views = get_resolver().url_patterns
load_tasks()
