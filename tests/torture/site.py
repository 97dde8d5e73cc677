"""The processes of one edition, each of which can be killed, stopped and started again. Only those started here, and
their children, each by its own process id.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests import services
from tests.services import HOST, Services, free_ports
from tests.support.sites import answers

ROOT = Path(__file__).resolve().parents[2]

#: Seconds after which a half-done step counts as crashed; short, so that a run sees many of them.
LEASE = 3
#: Bytes of memory that stand in for a disk, so that it can be filled.
DISK = {"embedded": "192m", "server": "768m"}

_OWN = ("ASSENT_", "MEMORIES_", "MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")


@dataclass
class Site:
    """Assent as it is deployed, below `folder`.

    Args:
        webs: how many web servers, each with a folder of its own; more than one only with servers.
    """

    leg: str
    folder: Path
    is_full_disk_possible: bool
    webs: int = 1
    services: Services = field(init=False)
    environment: dict[str, str] = field(init=False)
    addresses: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.services = Services(self.folder)

    def start(self) -> None:
        ports = free_ports(self.webs)
        self.addresses = [f"http://{HOST}:{port}" for port in ports]
        # Settings of the person who runs this are not for it.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        self.environment |= {
            "DJANGO_SETTINGS_MODULE": "memory_app.settings",
            "ASSENT_DATA_DIR": str(self.folder / "data"),
            "ASSENT_SECRET_KEY": "only-for-torture-" + "x" * 40,
            "ASSENT_DEBUG": "1",  # as `make run`: the files of pages are not collected
            "ASSENT_PUBLIC_URL": self.addresses[0],
            "ASSENT_LOG_LEVEL": "WARNING",
            "ASSENT_LEASE_SECONDS": str(LEASE),
            "ASSENT_RATE_LIMIT": "1000000",
            "ASSENT_PENDING_CAP": "10000",
        }
        if self.leg == "server":
            services.start_all(self.services)
            self.environment |= self.services.environment
        options: dict[str, Any] = {"cwd": ROOT, "env": self.environment}
        for number, port in enumerate(ports):
            web = [sys.executable, "manage.py", "serve", "--port", str(port)]
            own = self.environment | {"ASSENT_DATA_DIR": f"{self.folder}/data{number or ''}"}
            ready = partial(answers, f"{self.addresses[number]}/readyz", 5)
            self.services.start(f"web {number + 1}" if number else "web", web, ready=ready, **options | {"env": own})
        if self.leg == "server":
            celery = [sys.executable, "-m", "celery", "-A", "memory_app.celery"]
            for name, arguments in (
                ("worker", ["--concurrency", "2", "--without-mingle"]),
                ("beat", ["--schedule", str(self.folder / "beat")]),
            ):
                command = [*celery, name, "--loglevel", "WARNING", *arguments]
                self.services.start(name, command, ready=lambda: True, **options)

    @property
    def names(self) -> list[str]:
        """What runs: `web` alone, or with other ones, the worker, beat and the three servers."""
        return list(self.services.commands)

    def answers(self, path: str, timeout: float = 5) -> bool:
        return all(answers(address + path, timeout) for address in self.addresses)

    def inside(self, what: str, *more: str) -> Any:
        """What `inside` answers, as the site's own code sees it."""
        arguments = [sys.executable, "-m", "tests.torture.inside", what, *more]
        run = {"cwd": ROOT, "env": self.environment, "capture_output": True, "text": True, "timeout": 1_000}
        done = subprocess.run(arguments, check=False, **run)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{what} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout)

    # -- faults -----------------------------------------------------------------------------------

    def kill(self, name: str) -> None:
        """kill -9 of a service and all its children."""
        process = self.services.running[name]
        _signal([process.pid, *descendants(process.pid)], signal.SIGKILL)
        process.wait(10)

    def kill_children(self, name: str) -> None:
        """kill -9 of the children alone: a process of the web server or of Celery's pool."""
        _signal(descendants(self.services.running[name].pid), signal.SIGKILL)

    @contextlib.contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """A service that hangs: its processes are there, take connections and do nothing."""
        process = self.services.running[name]
        pids = [process.pid, *descendants(process.pid)]
        try:
            _signal(pids, signal.SIGSTOP)
            yield
        finally:
            _signal([*reversed(pids)], signal.SIGCONT)

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Nothing more fits on the disk that holds all databases."""
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * 65_536)
            yield
        finally:
            ballast.unlink()

    def restart(self, name: str) -> None:
        """Start a dead service again, as a supervisor does: until it stays.

        PostgreSQL refuses while a process of the killed one still holds its shared memory, a second or so.
        """
        for attempt in range(10):
            self.services.begin(name)
            try:
                self.services.wait_for(name)
                return
            except services.ServiceFailed:
                if attempt == 9:
                    raise
                time.sleep(1)

    def revive(self) -> list[str]:
        """Start what has ended by itself; the names, the servers first."""
        dead = [name for name, process in self.services.running.items() if process.poll() is not None]
        for name in dead:
            self.restart(name)
        return dead


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[bool]:
    """Mount `size` bytes of memory on `folder`, which can then be full; whether that was permitted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "assent-torture", str(folder)]
    made = subprocess.run(command, capture_output=True, check=False)
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children = defaultdict[int, list[int]](list)
    for line in listed.splitlines():
        child, parent = map(int, line.split())
        children[parent].append(child)
    found = [*children[pid]]
    for each in found:  # it grows on the way
        found += children[each]
    return found
