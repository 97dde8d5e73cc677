"""ASGI entry point, for uvicorn and every other ASGI server."""

import os

from django.core.asgi import get_asgi_application

from memory_app.configuration.environment import UMASK
from memory_app.webserver.charsets import AsgiRequest

os.umask(UMASK)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

application = get_asgi_application()
application.request_class = AsgiRequest
