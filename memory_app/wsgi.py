"""WSGI entry point, for gunicorn and every other WSGI server."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from memory_app.celery import load_tasks
from memory_app.configuration.environment import UMASK
from memory_app.webserver.charsets import WsgiRequest

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

application = get_wsgi_application()
application.request_class = WsgiRequest

# Every view and task is imported here, by one thread: two that import the same modules in another order, as the first
# requests of a busy server would, can be handed half of one.
_views = get_resolver().url_patterns
load_tasks()
