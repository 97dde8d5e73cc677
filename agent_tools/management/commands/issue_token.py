"""`manage.py issue_token --agent scribe --owner alice`: prints a new token and nothing else."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agent_tools import auth
from agent_tools.calls import toolsets
from agent_tools.models import Scope
from approvals.models import Agent, User


class Command(BaseCommand):
    requires_system_checks = []  # nothing but the tables is needed
    help = "Makes a token for an agent (and the agent, when there is none) and prints it; it is shown only now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", required=True, help="name of the agent: a-z, 0-9, dot, underscore, dash")
        parser.add_argument("--owner", action="append", default=[], help="username it may serve; may be repeated")
        parser.add_argument("--all-owners", action="store_true", help="it may serve everyone")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="what it may be used for; may be repeated (default: all but memory:history, with "
            "which as_of also shows what was deleted since)",
        )
        parser.add_argument(
            "--toolset", action="append", choices=toolsets.NAMES, help="tools in its list (default: core)"
        )
        parser.add_argument("--days", type=int, help="how long it is valid (default: until it is revoked)")

    def handle(self, *args: Any, days: int | None = None, **options: Any) -> None:
        if not options["owner"] and not options["all_owners"]:
            raise CommandError("Say whom the token may serve: --owner NAME (more than once) or --all-owners.")
        if days is not None and days < 1:
            raise CommandError("--days must be 1 or more.")
        issued = auth.issue(
            agent=_agent(options["agent"]),
            owners=[_owner(name) for name in options["owner"]],
            all_owners=options["all_owners"],
            scopes=options["scope"] or Scope.usual(),
            toolset=",".join(options["toolset"] or []),
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )
        self.stdout.write(issued.secret)


def _owner(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user '{name}'.")
    if not user.is_active:
        raise CommandError(f"The user '{name}' is deactivated.")
    return user


def _agent(name: str) -> Agent:
    found = Agent.objects.filter(name=name).first()
    if found is None:
        found = Agent(name=name)
        try:
            found.full_clean()
        except ValidationError as error:
            raise CommandError(f"'{name}' cannot name an agent: {error.messages[0]}") from error
        found.save()
    if not found.is_active:
        raise CommandError(f"The agent '{name}' is deactivated.")
    return found
