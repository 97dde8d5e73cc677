"""WSGI entry point, for waitress and every other WSGI server."""

import os
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
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


class Application(WSGIHandler):
    request_class = WsgiRequest

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request; HEAD without the body, which waitress would send and a client take for the next answer."""
        answer: Any = super().__call__(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return answer
        getattr(answer, "close", lambda: None)()
        return ()


django.setup(set_prefix=False)
application = Application()

# Every view and task is imported here, by one thread: two that import the same modules in another order, as the first
# requests of a busy server would, can be handed half of one.
_views = get_resolver().url_patterns
load_tasks()


def begin() -> None:
    """Start what a process of the web server does beside requests: also where nobody visits, what is too old goes."""
    from memory_app.runtime import upkeep  # only now, as it needs the settings

    upkeep.start()
