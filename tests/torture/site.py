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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests import services
from tests.services import HOST, Services, free_ports

ROOT = Path(__file__).resolve().parents[2]

#: Seconds after which a half-done step counts as crashed; short, so that a run sees many of them.
LEASE = 3
#: Bytes of memory that stand in for a disk, so that it can be filled.
DISK = {"embedded": "192m", "server": "768m"}

_OWN = ("ASSENT_", "MEMORIES_", "MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")


@dataclass
class Site:
    """Assent as it is deployed, below `folder`."""

    leg: str
    folder: Path
    is_full_disk_possible: bool
    services: Services = field(init=False)
    environment: dict[str, str] = field(init=False)
    address: str = field(init=False)

    def start(self) -> None:
        self.services = Services(self.folder)
        (port,) = free_ports(1)
        self.address = f"http://{HOST}:{port}"
        # Settings of the person who runs this are not for it.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        self.environment |= {
            "DJANGO_SETTINGS_MODULE": "memory_app.settings",
            "ASSENT_DATA_DIR": str(self.folder / "data"),
            "ASSENT_SECRET_KEY": "only-for-torture-" + "x" * 40,
            "ASSENT_DEBUG": "1",  # as `make run`: the files of pages are not collected
            "ASSENT_PUBLIC_URL": self.address,
            "ASSENT_LOG_LEVEL": "WARNING",
            "ASSENT_LEASE_SECONDS": str(LEASE),
            "ASSENT_RATE_LIMIT": "1000000",
            "ASSENT_PENDING_CAP": "10000",
        }
        if self.leg == "server":
            services.start_all(self.services)
            self.environment |= self.services.environment
        options: dict[str, Any] = {"cwd": ROOT, "env": self.environment}
        python = sys.executable
        self.services.start(
            "web", [python, "manage.py", "serve", "--port", str(port)], ready=lambda: self.answers("/readyz"), **options
        )
        if self.leg == "server":
            celery = [python, "-m", "celery", "-A", "memory_app.celery"]
            worker = [*celery, "worker", "--concurrency", "2", "--loglevel", "WARNING", "--without-mingle"]
            beat = [*celery, "beat", "--loglevel", "WARNING", "--schedule", str(self.folder / "beat")]
            for name, arguments in (("worker", worker), ("beat", beat)):
                self.services.start(name, arguments, ready=lambda: True, **options)

    @property
    def names(self) -> list[str]:
        """What runs: `web` alone, or with the worker, beat and the three servers."""
        return list(self.services.commands)

    def answers(self, path: str, timeout: float = 5) -> bool:
        try:
            return httpx.get(self.address + path, timeout=timeout).status_code == 200
        except httpx.HTTPError:
            return False

    def inside(self, what: str) -> Any:
        """What `inside` answers, as the site's own code sees it."""
        arguments = [sys.executable, "-m", "tests.torture.inside", what]
        done = subprocess.run(
            arguments, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise RuntimeError(f"{what} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout)

    # -- faults -----------------------------------------------------------------------------------

    def kill(self, name: str) -> None:
        """kill -9 of a service and all its children."""
        process = self.services.running[name]
        for pid in [process.pid, *descendants(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(10)

    def kill_children(self, name: str) -> None:
        """kill -9 of the children alone: a process of the web server or of Celery's pool."""
        for pid in descendants(self.services.running[name].pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """A service that hangs: its processes are there, take connections and do nothing."""
        process = self.services.running[name]
        pids = [process.pid, *descendants(process.pid)]
        try:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in reversed(pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

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

    def stop(self) -> None:
        self.services.stop()


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[bool]:
    """Mount `size` bytes of memory on `folder`, which can then be full; whether that was permitted."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "assent-torture", str(folder)],
        capture_output=True,
        check=False,
    )
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in map(str.split, listed.splitlines())}
    found, look_at = list[int](), [pid]
    while look_at:
        of = look_at.pop()
        children = [child for child, parent in parents.items() if parent == of]
        found += children
        look_at += children
    return found
