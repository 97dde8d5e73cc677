"""App configuration."""

import gc

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AgentToolsConfig(AppConfig):
    name = "agent_tools"
    verbose_name = _("Agent tools")

    def ready(self) -> None:
        from agent_tools import auth
        from agent_tools.calls import execution, idempotency
        from agent_tools.console import of_person
        from agent_tools.decisions import telling
        from approvals.accounts import leaving
        from approvals.review import trust
        from approvals.services import erasing, texts

        execution.additions.append(telling.news_for)
        texts.copies.append(idempotency.remove)
        erasing.copies.append(idempotency.remove_of)
        trust.serving.append(auth.agents_serving)
        leaving.endings.extend(of_person.ENDINGS)
        gc.freeze()  # see the settings
        gc.enable()
