"""App configuration."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        from approvals import audit  # noqa: F401 (it receives what Django tells of signing in)
