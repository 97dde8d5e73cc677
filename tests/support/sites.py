"""The real server on loopback, with a folder of its own and the demo's people.

Making the tables takes seven seconds of the processor, and the people five. Both are done once by a run of tests, and
copied.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.environment import once_a_run
from tests.services import HOST, Services, free_ports

ROOT = Path(__file__).resolve().parents[2]
#: Seconds in which a busy machine answers if it answers at all.
ENOUGH = 20


@dataclass(frozen=True)
class Site:
    """A server that runs below `folder`, and what else was started beside it."""

    port: int
    folder: Path
    environment: Mapping[str, str]
    services: Services

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.services.running["serve"]

    @property
    def token(self) -> str:
        """The demo agent's."""
        return (self.folder / "data" / "demo_token").read_text().strip()

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text()

    def answers(self, path: str) -> bool:
        return answers(self.address + path)


def answers(url: str, timeout: float = ENOUGH) -> bool:
    try:
        return httpx.get(url, timeout=timeout).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def serving(folder: Path, *arguments: str, has_demo: bool = True, **settings: str) -> Iterator[Site]:
    """Start the server; at the end it is told to end.

    Args:
        arguments: of `serve`, besides the port.
        has_demo: whether the demo's people are there before it starts.
        settings: variables of its environment.
    """
    (port,) = free_ports(1)
    inherited = {name: value for name, value in os.environ.items() if name != "ASSENT_PUBLIC_URL"}
    environment = inherited | {"ASSENT_DATA_DIR": str(folder / "data"), "ASSENT_DEBUG": "1"} | settings
    if has_demo:
        shutil.copytree(_demo(), folder / "data")
    site = Site(port, folder, environment, Services(folder))
    command = [sys.executable, "manage.py", "serve", "--port", str(port), *arguments]
    try:
        site.services.start("serve", command, ready=lambda: site.answers("/readyz"), env=environment, cwd=ROOT)
        yield site
    finally:
        site.services.stop()


def prepared() -> Path:
    """Return a folder with the files that `prepare` makes where nothing is, to be copied."""
    return _made("migrated", "prepare")


def _demo() -> Path:
    return _made("demo", "demo", beginning=prepared())


def _made(name: str, command: str, beginning: Path | None = None) -> Path:
    """Return a folder that a command filled for all processes of the run.

    Args:
        beginning: the folder a copy of which the command begins with.
    """
    with once_a_run(name) as made:
        if not made.exists():
            unfinished = made.with_name(f"{made.name}.unfinished")
            if beginning:
                shutil.copytree(beginning, unfinished)
            servers = dict.fromkeys(("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL"), "")
            environment = os.environ | servers | {"ASSENT_DATA_DIR": str(unfinished)}
            subprocess.run([sys.executable, "manage.py", command], cwd=ROOT, env=environment, check=True)
            unfinished.rename(made)
    return made
