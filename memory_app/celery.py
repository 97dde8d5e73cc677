"""The Celery application: `celery -A memory_app.celery worker` (or `beat`).

Without REDIS_URL tasks run inline, in the process that asked for them.
"""

import os
from typing import Any

import structlog
from celery import Celery, Task, signals

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


# -- the log of a task names it, and the request that enqueued it


@signals.before_task_publish.connect
def _pass_request_id(headers: dict[str, Any], **kwargs: Any) -> None:
    headers["request_id"] = structlog.contextvars.get_contextvars().get("request_id")


@signals.task_prerun.connect
def _bind_ids(task_id: str, task: Task[Any, Any], **kwargs: Any) -> None:
    if not task.request.is_eager:  # nothing of the task before it
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(task_id=task_id, request_id=task.request.get("request_id"))
