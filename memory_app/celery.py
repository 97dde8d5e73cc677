"""The Celery application: `celery -A memory_app.celery worker` (or `beat`).

Without REDIS_URL tasks run inline, in the process that asked for them.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

app = Celery("assent")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
