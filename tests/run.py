"""Runs the tests on both editions: `make test`, or `python tests/run.py [--leg embedded|server] [pytest arguments]`.

With `--coverage`, or ASSENT_TEST_COVERAGE=1, it measures what of the code the first leg runs, and prints it by folder.

The embedded leg is DoltLite and SQLite; the server leg is Dolt, PostgreSQL, Redis and a real Celery
worker. The server leg runs where `dolt` and the others are found; in CI (CI=true or
ASSENT_REQUIRE_ALL=1) its absence is a failure.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# As a script (not -m): on macOS DoltLite starts this file once more with itself preloaded.
sys.path.insert(0, str(ROOT))

from memory_app.dolt import library  # noqa: E402
from tests import coverage_report, services  # noqa: E402

SERVER_SETTINGS = ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL")
INTERRUPTED = 2  # pytest's exit code after Ctrl-C
#: The slowest tests of each leg, as far as they take longer than this many seconds.
SLOWEST = ["--durations=20", "--durations-min=2"]
#: Where it is set, each of the hundreds of processes that tests start compiles the project first, for a second or two.
_SLOW = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Outcome:
    leg: str
    code: int
    note: str
    seconds: float

    def __str__(self) -> str:
        word = {0: "passed"}.get(self.code, "FAILED")
        return f"{self.leg:<9} {word:<7} {self.seconds:6.1f} s  {self.note}".rstrip()


def embedded(arguments: list[str], environment: dict[str, str]) -> Outcome:
    """DoltLite preloaded: pytest and its plugins import sqlite3 long before our settings."""
    _say("embedded leg: DoltLite and SQLite")
    library.load()
    if sys.platform != "darwin":  # there load() has put it into the environment already
        environment = environment | {"LD_PRELOAD": " ".join([library.library_path(), *_preloaded(environment)])}
    started = time.monotonic()
    code = services.run([sys.executable, "-m", "pytest", *arguments], environment)
    return Outcome("embedded", code, "", time.monotonic() - started)


def server(arguments: list[str], environment: dict[str, str]) -> Outcome:
    """Dolt, PostgreSQL and Redis, started for this run."""
    _say("server leg: Dolt, PostgreSQL and Redis")
    started = time.monotonic()
    try:
        if not (importlib.util.find_spec("MySQLdb") and importlib.util.find_spec("psycopg")):
            raise services.ServicesMissing("the database clients are not installed (`make server-environment`)")
        with services.running() as urls:
            # Coverage imports sqlite3 before `load()`, which then starts this process again with DoltLite preloaded.
            environment = environment | {"LD_PRELOAD": " ".join(_preloaded(environment))}
            code = services.run([sys.executable, "-m", "pytest", *arguments], environment | urls)
        return Outcome("server", code, "", time.monotonic() - started)
    except services.ServicesMissing as missing:
        print(f"not run, {missing}", flush=True)
        return Outcome("server", 1 if required() else 0, f"not run: {missing}", time.monotonic() - started)


def _preloaded(environment: dict[str, str]) -> list[str]:
    """Return what is to be preloaded beside DoltLite."""
    return [path for path in environment.get("LD_PRELOAD", "").split() if "doltlite" not in path]


def required() -> bool:
    return os.environ.get("CI", "") in ("1", "true") or os.environ.get("ASSENT_REQUIRE_ALL") == "1"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leg", choices=["embedded", "server", "both"], default="both")
    parser.add_argument("--coverage", action="store_true", default=os.environ.get("ASSENT_TEST_COVERAGE") == "1")
    chosen, pytest_arguments = parser.parse_known_args()
    # More processes than two cores need: tests wait for disks and for other processes as much as they compute. The
    # embedded leg took 19 minutes with two and 14 with three. One that is done takes over what another has not begun,
    # or it would sit out the long tests at the end.
    processes = os.environ.get("ASSENT_TEST_PROCESSES", "3")
    arguments = [f"--numprocesses={processes}", "--dist=worksteal", *SLOWEST, *pytest_arguments]
    legs = {"both": (embedded, server), "embedded": (embedded,), "server": (server,)}[chosen.leg]
    # Pure functions and browsers know no engine: of the whole suite the first leg has tested them, which takes minutes.
    only_once = [] if pytest_arguments else ["-m", "not pure and not one_leg"]
    os.chdir(ROOT)
    outcomes: list[Outcome] = []
    # Whatever a killed test process leaves behind goes with this folder.
    with tempfile.TemporaryDirectory(prefix="assent-tests-", ignore_cleanup_errors=True) as folder:
        temporary = {"TMPDIR": folder}
        measuring = coverage_report.environment_for(Path(folder)) if chosen.coverage else {}
        for number, leg in enumerate(legs):
            environment = {name: value for name, value in os.environ.items() if name not in (*SERVER_SETTINGS, _SLOW)}
            # Measuring takes a third more time, and the second leg would add one engine's modules.
            measured = {} if number else measuring
            outcomes.append(leg([*arguments, *only_once] if number else arguments, environment | temporary | measured))
            if outcomes[-1].code == INTERRUPTED:
                break
        code = next((outcome.code for outcome in outcomes if outcome.code), 0)
        if chosen.coverage:
            _say("coverage")
            # Some of the tests, or the server edition alone, need not run as much of the code.
            whole = not pytest_arguments and outcomes[0].leg == "embedded"
            enough = coverage_report.report(Path(folder), enforced=whole)
            code = code or int(not enough)
    _say("summary")
    print(*outcomes, sep="\n", flush=True)
    return code


def _say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    services.unwind_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
