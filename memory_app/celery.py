"""The Celery application: `celery -A memory_app.celery worker` (or `beat`).

Without REDIS_URL tasks run inline, in the process that asked for them.
"""

import os
from typing import Any

from celery import Celery, signals

from memory_app.configuration.environment import UMASK

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")

app = Celery("assent")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def load_tasks() -> None:
    """Import the tasks of every app, before a thread or a caller looks one up in `app.tasks`. Cheap when repeated.

    Two threads must not do this at once: Python breaks a deadlock of import locks by handing out half-made modules.
    What goes wrong is raised, where `app.loader.import_default_modules` would log it and go on without the tasks.
    """
    app.autodiscover_tasks(force=True)


@signals.celeryd_init.connect
def _keep_files_private(**kwargs: Any) -> None:
    # Not while importing: every process imports this module, `collectstatic` too.
    os.umask(UMASK)
