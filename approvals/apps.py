"""App configuration: has the database note, after each migration, what the counts of the board depend on."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = _("Approvals")

    def ready(self) -> None:
        from approvals import audit  # noqa: F401 (it receives what Django tells of signing in)
        from approvals.accounts import providers, second_factor  # noqa: F401 (and they what allauth tells)
        from approvals.recovery.recover import writes_under_way
        from memory_app.reads.catalogue import also_under_way

        also_under_way.append(writes_under_way)
        post_migrate.connect(_watch, sender=self, dispatch_uid="approvals.watch")


def _watch(*, using: str, **kwargs: Any) -> None:
    from approvals.statistics import kept

    if using == "default":
        kept.watch()
