"""`manage.py serve`: start Assent from a checked-out folder, in one process.

It checks the port, prepares the databases and finishes interrupted decisions. Then it replaces itself by the web
server (exec), so that Ctrl-C and a supervisor's signals reach the server and no process is left behind. `make run` is
this command with the demo data.
"""

import io
import os
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from memory_app.runtime import upkeep

HOST = "127.0.0.1"


class Command(BaseCommand):
    help = "Prepare the databases and serve Assent on 127.0.0.1."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
        parser.add_argument("--demo", action="store_true", help="create the demo people, blocks and proposals first")

    def handle(self, *args: Any, port: int, demo: bool, **options: Any) -> None:
        check_port(port)
        call_command("prepare", stdout=self.stdout)
        call_command("recover", stdout=io.StringIO())  # it logs what it did
        if demo:
            self.stdout.write("[4/4] making demo people, their memory and some proposals (some seconds)")
            call_command("demo", address=address_of(port), stdout=self.stdout)
        self.stdout.write(f"\nAssent is at {address_of(port)}/ (Ctrl-C ends it)\n")
        if settings.REDIS_URL:
            self.stdout.write("Tasks wait for a worker: python -m celery -A memory_app.celery worker --beat\n")
        self.stdout.flush()
        become_the_web_server(port)


def address_of(port: int) -> str:
    """Return the public address of the server: the configured one, else the loopback address."""
    return os.environ.get("ASSENT_PUBLIC_URL", f"http://{HOST}:{port}")


def check_port(port: int) -> None:
    """Raise CommandError when the port is taken or cannot be used; its message suggests another."""
    other = f"Choose another, for example `make run PORT={port + 1}`."
    if not 0 < port < 65536:
        raise CommandError("A port is a number from 1 to 65535, for example `make run PORT=8001`.")
    with socket.socket() as probe:
        # On macOS, connecting finds a listener on all addresses, which binding does not.
        probe.settimeout(1)
        if probe.connect_ex((HOST, port)) == 0:
            raise CommandError(f"Port {port} is taken. {other}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(f"Port {port} cannot be used ({error.strerror}). {other}") from error


def become_the_web_server(port: int) -> None:
    """Replace this process by the web server; does not return.

    The environment is passed on. On macOS it names DoltLite since this process started, and a process that was forked
    cannot add that itself.
    """
    upkeep.stop()  # `exec` runs no exit handlers
    connections.close_all()
    environment = os.environ | {"ASSENT_PUBLIC_URL": address_of(port)}
    arguments = ["-m", "memory_app.webserver", "--bind", f"{HOST}:{port}"]
    os.chdir(settings.BASE_DIR)
    os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - no shell is wanted
