"""WSGI entry point, for gunicorn and every other WSGI server."""

import os

from django.core.wsgi import get_wsgi_application

from memory_app.configuration.data_folder import UMASK
from memory_app.webserver.charsets import WsgiRequest

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

application = get_wsgi_application()
application.request_class = WsgiRequest
