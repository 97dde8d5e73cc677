"""`manage.py serve`: everything between a checked-out folder and a running Assent, in one process.

Looks at the port, prepares the databases, finishes decisions a crash interrupted, and then *becomes*
gunicorn (exec), so that Ctrl-C and a supervisor's signals reach the server itself and nothing is left
behind. `make run` is this command with the demo data.
"""

from __future__ import annotations

import io
import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from memory_app.celery import app
from memory_app.runtime import upkeep

HOST = "127.0.0.1"


class Command(BaseCommand):
    help = "Prepares the databases and serves Assent on 127.0.0.1."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
        parser.add_argument("--demo", action="store_true", help="make the demo people, blocks and proposals first")

    def handle(self, *args: Any, port: int, demo: bool, **options: Any) -> None:
        check_port(port)
        call_command("prepare", stdout=self.stdout)
        call_command("recover", stdout=io.StringIO())  # it logs what it did; nobody reads a row of zeros
        if settings.CELERY_TASK_ALWAYS_EAGER:
            forget_what_is_old()
        if demo:
            self.stdout.write("[4/4] making demo people, their memory and some proposals (some seconds)")
            call_command("demo", address=address_of(port), stdout=self.stdout)
        self.stdout.write(f"\nAssent is at {address_of(port)}/ (Ctrl-C ends it)\n")
        if settings.REDIS_URL:
            self.stdout.write("Tasks wait for a worker: python -m celery -A memory_app.celery worker --beat\n")
        self.stdout.flush()
        become_gunicorn(port)


def address_of(port: int) -> str:
    """Where people find the server: where the settings say, else at the port alone."""
    return os.environ.get("ASSENT_PUBLIC_URL", f"http://{HOST}:{port}")


def forget_what_is_old() -> None:
    """Delete what is kept for a time only. Beat does it where there is one; elsewhere each start does."""
    app.loader.import_default_modules()
    for name in ("memory_app.purge_conversations", "agent_tools.purge", "agent_tools.purge_tool_calls"):
        app.tasks[name]()


def check_port(port: int) -> None:
    """Refuse a port that something else uses, or that we may not have.

    Raises:
        CommandError: with the sentence that says which port to try.
    """
    other = f"Choose another, for example `make run PORT={port + 1}`."
    if not 0 < port < 65536:
        raise CommandError("A port is a number from 1 to 65535, for example `make run PORT=8001`.")
    with socket.socket() as probe:
        # Connecting finds a listener that binding would not: one on all addresses, on macOS.
        probe.settimeout(1)
        if probe.connect_ex((HOST, port)) == 0:
            raise CommandError(f"Port {port} is taken. {other}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(f"Port {port} cannot be used ({error.strerror}). {other}") from error


def become_gunicorn(port: int) -> None:
    """Replace this process by gunicorn; does not return.

    The environment goes along, which matters on macOS: DoltLite was put into it there when this
    process started, and a worker cannot do that for itself.
    """
    upkeep.stop()  # a new program takes this process over: nothing of it would run at its exit
    connections.close_all()
    configuration = Path(settings.BASE_DIR) / "gunicorn.conf.py"
    environment = os.environ | {"ASSENT_PUBLIC_URL": address_of(port)}
    arguments = ["-m", "gunicorn", "--config", str(configuration), "--bind", f"{HOST}:{port}"]
    arguments += ["--log-level", "warning"]  # the address is on the screen already
    os.chdir(settings.BASE_DIR)
    os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - no shell is wanted
