"""WSGI entry point, for gunicorn and every other WSGI server."""

import os

from django.core.wsgi import get_wsgi_application

from memory_app.charsets import WsgiRequest
from memory_app.data_folder import UMASK

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

application = get_wsgi_application()
application.request_class = WsgiRequest
