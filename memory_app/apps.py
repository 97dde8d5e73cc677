"""App configuration: commits the schema of the versioned tables after each migration."""

from typing import Any

import structlog
from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

log = structlog.get_logger(__name__)


class MemoryAppConfig(AppConfig):
    name = "memory_app"
    verbose_name = _("Memory")

    def ready(self) -> None:
        # Importing `checks` registers it; the Celery app must exist before a `shared_task` is called.
        from memory_app import celery  # noqa: F401
        from memory_app.configuration import checks  # noqa: F401
        from memory_app.runtime import upkeep

        if settings.SENTRY_DSN:
            from memory_app.configuration import errors

            errors.report_to(settings.SENTRY_DSN)
        for name, nearest in settings.UNKNOWN_SETTINGS:
            log.warning("unknown_setting", name=name, did_you_mean=nearest)
        connection_created.connect(upkeep.start, dispatch_uid="memory_app.runtime.upkeep")
        post_migrate.connect(_commit_schema, sender=self, dispatch_uid="memory_app.commit_schema")


def _commit_schema(*, using: str, **kwargs: Any) -> None:
    """Commit after a migration of `memory`: uncommitted tables would exist on no branch."""
    from memory_app.dolt.connections import MEMORY, standing
    from memory_app.writing import commits

    if using == MEMORY:
        commits.commit_schema(standing())
