"""Runs the tests of agent frameworks, each in an environment of its own: `make test-integrations`.

    python tests/integrations/run.py [--environments FOLDER] [NAME …] [-- pytest arguments]

A folder here with a `requirements.in` is an integration. Its packages are locked in `locks/integrations/` (`make lock`)
and installed once for each content of that lock. One real server runs for all, embedded, with the demo's data; tests
find it in MEMORY_URL and MEMORY_TOKEN (the fixture `memory`). The Python client is importable everywhere.

Requirements that are held to `locks/dev.txt` fit the project's own environment: such a folder sees its packages too.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# As a script: `tests` is a package of this folder.
sys.path[0] = str(ROOT)

from tests import services  # noqa: E402
from tests.support.sites import serving  # noqa: E402

LOCKS = ROOT / "locks" / "integrations"
CLIENT = ROOT / "clients" / "python"
#: Nothing is refused for being too much: many tests speak to one server.
LIMITS = {"ASSENT_RATE_LIMIT": "1000000", "ASSENT_PENDING_CAP": "1000", "ASSENT_LOG_LEVEL": "WARNING"}
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

    def install(self) -> float:
        """Make the environment, unless it is what the lock says; return the seconds it took."""
        began = time.monotonic()
        stamp = self.environment / "installed"
        wanted = hashlib.sha256(self.lock.read_bytes() + sys.version.encode()).hexdigest()
        if not (stamp.is_file() and stamp.read_text() == wanted):
            shutil.rmtree(self.environment, ignore_errors=True)
            _do([sys.executable, "-m", "venv", str(self.environment)])
            _do([str(self.python), str(ROOT / "scripts" / "install.py"), str(self.lock), "--only-binary", ":all:"])
            if "locks/dev.txt" in (self.folder / "requirements.in").read_text():
                (site,) = self.environment.glob("lib/python*/site-packages")
                (site / "project.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
            stamp.write_text(wanted)
        return time.monotonic() - began

    def test(self, server: dict[str, str], arguments: list[str]) -> int:
        """Run its tests; return pytest's exit code."""
        environment = os.environ | server | {"PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}
        ours = ["-c", str(HERE / "pytest.ini"), f"--rootdir={ROOT}", f"--confcutdir={HERE}", "-p", "no:cacheprovider"]
        command = [str(self.python), "-m", "pytest", str(self.folder), "-q", *ours, *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--environments", type=Path, default=Path(sys.prefix) / "integrations", metavar="FOLDER")
    own, pytest_arguments = sys.argv[1:], list[str]()
    if "--" in own:
        place = own.index("--")
        own, pytest_arguments = own[:place], own[place + 1 :]
    chosen = parser.parse_args(own)
    known = sorted(each.parent.name for each in HERE.glob("*/requirements.in"))
    if unknown := set(chosen.names) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    integrations = [Integration(name, chosen.environments / name) for name in chosen.names or known]
    if missing := [each.name for each in integrations if not each.lock.is_file()]:
        parser.error(f"run `make lock`: locks/integrations/ has nothing for {', '.join(missing)}")
    # A server that measures which lines run takes twice as long.
    for name in [name for name in os.environ if name.startswith("COVERAGE_") or name in _OURS]:
        del os.environ[name]

    with ThreadPoolExecutor(_INSTALLED_AT_ONCE) as pool:
        installing = list(pool.map(Integration.install, integrations))
    outcomes, failed = [], False
    with tempfile.TemporaryDirectory(prefix="assent-integrations-", ignore_cleanup_errors=True) as folder:
        os.environ |= {"ASSENT_DATA_DIR": folder, "ASSENT_DEBUG": "1"}
        with serving(Path(folder), **LIMITS) as site:
            server = {"MEMORY_URL": site.address, "MEMORY_TOKEN": site.token}
            for each, installed in zip(integrations, installing, strict=True):
                print(f"\n== {each.name}", flush=True)
                began = time.monotonic()
                code = each.test(server, pytest_arguments)
                failed = failed or code != 0
                took = f"{time.monotonic() - began:6.1f} s, installed in {installed:.0f} s"
                outcomes.append(f"{each.name:<20} {'FAILED' if code else 'passed':<7} {took}")
            if "Traceback" in site.log or '"level": "error"' in site.log:
                print(f"\n== what the server logged\n{site.log[-5_000:]}", flush=True)
    print("\n== summary", *outcomes, sep="\n", flush=True)
    return int(failed)


def _do(command: list[str]) -> None:
    """Run a command; what it says is shown only if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-5_000:]}")


if __name__ == "__main__":
    services.unwind_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
