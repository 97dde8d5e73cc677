"""`manage.py demo`: makes the demo data where it is missing, and prints how to use it."""

import io
import json
import logging
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from agent_tools import auth
from agent_tools.models import AgentToken
from approvals.demo import story
from approvals.demo.load import load
from memory_app import reads


class Command(BaseCommand):
    help = "Make the demo people, their memory and proposals (idempotent; with ASSENT_DEBUG only)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--address", default=settings.PUBLIC_URL, help="of the server, as printed (%(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo's passwords are public: it is made only with ASSENT_DEBUG=1.")
        try:
            # Warnings and errors are still logged.
            logging.disable(logging.INFO)
            load(self._progress)
            token = _token()
        except DatabaseError as error:
            raise CommandError(f"The databases are not ready ({error}): run `manage.py migrate` first.") from error
        finally:
            logging.disable(logging.NOTSET)
        self._say(options["address"].rstrip("/"), token)

    def _progress(self, done: int, total: int) -> None:
        """Show on a terminal that it goes on: the whole takes some seconds."""
        if self.stdout.isatty():
            self.stdout.write(f"\r      {done} of {total}" if done < total else "\r" + " " * 20, ending="\r")
            self.stdout.flush()

    def _say(self, address: str, token: str) -> None:
        width = max(len(person.username) for person in story.PEOPLE)
        goals = reads.find_block(*story.CALL_TARGET)
        arguments = story.call_arguments(goals.body if goals else "")
        lines = [
            f"Sign in at {address}/ with the password “{story.PASSWORD}” as",
            *(f"  {person.username:{width}}  {person.what}" for person in story.PEOPLE),
            "",
            *(
                [f"Propose an edit as the agent {story.AGENT}:", "", curl(address, token, arguments), ""]
                if arguments
                else [
                    f"The agent {story.AGENT} proposes edits with the token {token}",
                    f"as {address}/api/docs/ says.",
                ]
            ),
            "For every other way in (docs/agents/README.md), in a second terminal:",
            "",
            f"export MEMORY_URL={address} MEMORY_TOKEN=$(cat {shlex.quote(str(_token_path()))})",
        ]
        self.stdout.write("\n".join(lines))


def curl(address: str, token: str, arguments: Mapping[str, str]) -> str:
    """Return a command for a POSIX shell that proposes an edit.

    Args:
        address: of the server, without a slash at the end.
        token: raw, of an agent that serves the owner.
    """
    written = json.dumps(arguments, ensure_ascii=False, indent=2)
    return (
        f"curl {address}/api/v1/tools/propose_memory_edit/ \\\n"
        f"  -H 'Authorization: Bearer {token}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{written}'"
    )


def _token() -> str:
    """Return the raw token of the demo's agent. Tokens are stored hashed, so a file beside the data keeps it."""
    path = _token_path()
    token = path.read_text().strip() if path.exists() else ""
    if not _opens_the_memory(token):
        out = io.StringIO()
        call_command("issue_token", "--agent", story.AGENT, "--owner", story.CALL_TARGET[0], stdout=out)
        token = out.getvalue().strip()
        # Made anew with its mode, so that it is never readable by others, not even before a chmod.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{token}\n")
    return token


def _token_path() -> Path:
    return Path(settings.DATA_DIR) / "demo_token"


def _opens_the_memory(secret: str) -> bool:
    token = auth.find(secret)
    return token is not None and AgentToken.objects.serving(story.CALL_TARGET[0]).filter(pk=token.pk).exists()
