"""Runs the tests of agent frameworks, each in an environment of its own: `make test-integrations`.

    python tests/integrations/run.py [--environments FOLDER] [NAME …] [-- pytest arguments]

A folder here with a `requirements.in` is an integration. Its packages are locked in `locks/integrations/` (`make lock`)
and installed once for each content of that lock. One real server runs for all, embedded, with the demo's data; tests
find it in MEMORY_URL and MEMORY_TOKEN (the fixture `memory`). The Python client is importable everywhere.

Requirements that are held to `locks/dev.txt` fit the project's own environment: such a folder sees its packages and
fixtures too.

Not here: what the tests ask for. To add an integration, add a folder and run `make lock`.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# As a script (not -m): on macOS DoltLite starts this file once more with itself preloaded.
sys.path[0] = str(ROOT)

from memory_app.dolt import library  # noqa: E402
from tests import services  # noqa: E402

LOCKS = ROOT / "locks" / "integrations"
CLIENT = ROOT / "clients" / "python"
#: Nothing is refused for being too much: many tests speak to one server.
LIMITS = {
    "ASSENT_RATE_LIMIT": "1000000",
    "ASSENT_PENDING_CAP": "1000",
    "ASSENT_DEBUG": "1",
    "ASSENT_LOG_LEVEL": "WARNING",
}
#: Variables of this machine that tests must not see.
_OURS = ("MEMORY_URL", "MEMORY_TOKEN", "MEMORY_OWNER", "MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "PYTHONPATH")
#: At once: an installation waits for the network as much as for the processor.
_INSTALLED_AT_ONCE = 2


@dataclass(frozen=True)
class Integration:
    """A folder with its environment.

    Args:
        environment: where it is, or is to be.
    """

    name: str
    environment: Path

    @property
    def folder(self) -> Path:
        return HERE / self.name

    @property
    def lock(self) -> Path:
        return LOCKS / f"{self.name}.txt"

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    @property
    def sees_the_project(self) -> bool:
        """Whether its packages fit those of the project, so that a test may import both."""
        return "locks/dev.txt" in (self.folder / "requirements.in").read_text()

    def install(self) -> float:
        """Make the environment, unless it is what the lock says; return the seconds it took."""
        began = time.monotonic()
        stamp = self.environment / "installed"
        wanted = hashlib.sha256(self.lock.read_bytes() + sys.version.encode()).hexdigest()
        if not (stamp.is_file() and stamp.read_text() == wanted):
            shutil.rmtree(self.environment, ignore_errors=True)
            _do([sys.executable, "-m", "venv", str(self.environment)])
            _do([str(self.python), str(ROOT / "scripts" / "install.py"), str(self.lock), "--only-binary", ":all:"])
            if self.sees_the_project:
                (site,) = self.environment.glob("lib/python*/site-packages")
                (site / "project.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
            stamp.write_text(wanted)
        return time.monotonic() - began

    def test(self, server: dict[str, str], arguments: list[str]) -> int:
        """Run its tests; return pytest's exit code."""
        environment = {name: value for name, value in os.environ.items() if name not in _OURS}
        environment |= server | {"PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [str(self.python), "-m", "pytest", str(self.folder), "-q", "-p", "no:cacheprovider"]
        if self.sees_the_project:
            command += [f"--confcutdir={ROOT / 'tests'}"]
            # pytest and its plugins import sqlite3 long before the settings do.
            environment["LD_PRELOAD"] = f"{library.library_path()} {environment.get('LD_PRELOAD', '')}".strip()
        else:
            command += ["-c", str(HERE / "pytest.ini"), f"--rootdir={ROOT}", f"--confcutdir={HERE}"]
        return subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--environments", type=Path, default=Path(sys.prefix) / "integrations", metavar="FOLDER")
    own, pytest_arguments = _divided(sys.argv[1:])
    chosen = parser.parse_args(own)
    known = sorted(each.parent.name for each in HERE.glob("*/requirements.in"))
    if unknown := set(chosen.names) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    integrations = [Integration(name, chosen.environments / name) for name in chosen.names or known]
    if missing := [each.name for each in integrations if not each.lock.is_file()]:
        parser.error(f"run `make lock`: locks/integrations/ has nothing for {', '.join(missing)}")

    with ThreadPoolExecutor(_INSTALLED_AT_ONCE) as pool:
        installing = list(pool.map(Integration.install, integrations))
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="assent-integrations-", ignore_cleanup_errors=True) as folder:
        began = time.monotonic()
        with serving(Path(folder)) as server:
            outcomes.append(f"{'the server':<20} {'':<7} {time.monotonic() - began:6.1f} s")
            failed = False
            for each, installed in zip(integrations, installing, strict=True):
                print(f"\n== {each.name}", flush=True)
                began = time.monotonic()
                code = each.test(server, pytest_arguments)
                failed = failed or code != 0
                took = f"{time.monotonic() - began:6.1f} s" + (
                    f", installed in {installed:.0f} s" if installed > 1 else ""
                )
                outcomes.append(f"{each.name:<20} {'FAILED' if code else 'passed':<7} {took}")
    print("\n== summary", *outcomes, sep="\n", flush=True)
    return int(failed)


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the embedded edition with the demo's data; yields what its clients need."""
    (port,) = services.free_ports(1)
    address = f"http://{services.HOST}:{port}"
    # A server that measures which lines run takes twice as long.
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_") and name not in _OURS
    }
    environment = inherited | LIMITS | {"ASSENT_DATA_DIR": str(folder / "data"), "ASSENT_PUBLIC_URL": address}
    started = services.Services(folder)
    # By themselves: they may take longer than a server is given to start.
    for command in (["prepare"], ["demo", "--address", address]):
        _do([sys.executable, "manage.py", *command], environment)
    # For somebody without a memory.
    said = _do([sys.executable, "manage.py", "issue_token", "--agent", "scribe", "--owner", "admin"], environment)
    of_admin = said.split()[-1]
    try:
        started.start(
            "serve",
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            ready=lambda: _is_ready(f"{address}/readyz"),
            env=environment,
            cwd=ROOT,
        )
        token = (folder / "data" / "demo_token").read_text().strip()
        yield {"MEMORY_URL": address, "MEMORY_TOKEN": token, "MEMORY_TOKEN_OF_ADMIN": of_admin}
        log = (folder / "serve.log").read_text()
        if "Traceback" in log or '"level": "error"' in log:
            print(f"\n== what the server logged\n{log[-5_000:]}", flush=True)
    finally:
        started.stop()


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what is for this script, and what comes after `--`."""
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _do(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run a command and return what it said, which is shown only if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-5_000:]}")
    return done.stdout


if __name__ == "__main__":
    services.unwind_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
