"""The site's settings as in production, except that static files need no collecting."""

from memory_app.settings import *  # noqa: F403

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_ROOT = STATICFILES_DIRS[0]  # noqa: F405
