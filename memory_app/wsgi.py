"""WSGI entry point, for gunicorn and every other WSGI server."""

import os

from django.core.wsgi import get_wsgi_application

from memory_app.charsets import WsgiRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

application = get_wsgi_application()
application.request_class = WsgiRequest
