"""Runs the tests on both editions: `make test`, or `python tests/run.py [--leg embedded|server] [pytest arguments]`.

The embedded leg is DoltLite and SQLite; the server leg is Dolt, PostgreSQL, Redis and a real Celery worker. The server
leg runs where `dolt` and the others are found; in CI (CI=true or ASSENT_REQUIRE_ALL=1) its absence is a failure.

Without arguments it runs what ends while one waits: all but the tests marked `nightly`, and on the servers those with
an engine in them (`ON_SERVERS`). With `--all` (`make test-all`) it runs every test on each edition that it says
anything about, and measures what of the code the embedded leg runs (`--coverage`, for that alone).
"""

import argparse
import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
# As a script (not -m), since DoltLite may begin this file once more with itself preloaded.
sys.path.insert(0, str(ROOT))

from memory_app.dolt import library  # noqa: E402
from tests import coverage_report, services  # noqa: E402

SERVER_SETTINGS = ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL")
#: What the server leg runs by day: what has an engine in it, each page and tool once, and a proposal's whole life.
ON_SERVERS = [
    "tests/memory_app",
    "tests/approvals/services",
    "tests/approvals/recovery",
    "tests/agent_tools/calls",
    "tests/agent_tools/decisions",
    "tests/agent_tools/tools",
    "tests/agent_tools/webhooks",
    "tests/end_to_end/test_flow.py",
    "tests/end_to_end/test_isolation.py::test_every_address_answers_its_owner",
]
#: Bytes that the files of a run may need.
_ROOM = 6 * 2**30
INTERRUPTED = 2  # pytest's exit code after Ctrl-C
#: What `make check` runs.
QUICK = ["--hypothesis-profile=quick", "-m", "pure and not slow and not nightly"]
#: The slowest tests of each leg, as far as they take longer than this many seconds.
SLOWEST = ["--durations=20", "--durations-min=5"]
#: Where it is set, each of the hundreds of processes that tests start compiles the project first, for a second or two.
_SLOW = "PYTHONDONTWRITEBYTECODE"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leg", choices=["embedded", "server", "both"], default="both")
    parser.add_argument("--all", action="store_true", help="every test, those marked nightly too, and coverage")
    parser.add_argument("--quick", action="store_true", help="pure functions alone, with fewer examples: `make check`")
    parser.add_argument("--coverage", action="store_true")
    chosen, named = parser.parse_known_args()
    named = named or (QUICK if chosen.quick else [])
    os.chdir(ROOT)
    started = time.monotonic()
    if chosen.leg != "server":
        # Before anything is started: to load it where sqlite3 is loaded already, DoltLite begins this file once more.
        library.load()
    if chosen.leg == "server":
        code = server(named, every=chosen.all)
    else:
        with server_beside(sys.argv[1:]) if chosen.leg == "both" else contextlib.nullcontext() as beside:
            code = embedded(named, every=chosen.all, measured=chosen.all or chosen.coverage)
            if beside and code != INTERRUPTED:
                _say("waiting for the server leg")
                code = beside.wait() or code
    print(f"\n== {'passed' if code == 0 else 'FAILED'} after {time.monotonic() - started:.0f} s", flush=True)
    return code


def embedded(named: list[str], *, every: bool, measured: bool) -> int:
    """Run the embedded leg; DoltLite is preloaded, as pytest and its plugins import sqlite3 before our settings do."""
    _say("embedded leg: DoltLite and SQLite")
    with _environment() as environment:
        if sys.platform != "darwin":  # there load() has put it into the environment already
            from doltlite import libdoltlite_path

            environment["LD_PRELOAD"] = " ".join([str(libdoltlite_path()), *_preloaded()])
        folder = Path(environment["TMPDIR"])
        if measured:
            environment |= coverage_report.environment_for(folder)
        code = _pytest(named, [] if every else ["not nightly"], environment, processes=3)
        if measured:
            _say("coverage")
            # A part of the tests need not run as much of the code.
            enough = coverage_report.report(folder, enforced=not named)
            code = code or int(not enough)
    return code


def server(named: list[str], *, every: bool) -> int:
    """Run the server leg beside services started for it; return 0 where they are neither found nor required."""
    _say("server leg: Dolt, PostgreSQL and Redis")
    # Pure functions and browsers know no engine: the embedded leg has tested them.
    left_out = [] if named else ["not pure", "not one_leg"]
    if not every:
        left_out.append("not nightly")
        named = named or ON_SERVERS
    try:
        if not (importlib.util.find_spec("MySQLdb") and importlib.util.find_spec("psycopg")):
            raise services.ServicesMissing("the database clients are not installed (`make server-environment`)")
        with _environment() as environment, services.running() as urls:
            environment |= urls | {"LD_PRELOAD": " ".join(_preloaded())}
            return _pytest(named, left_out, environment, processes=2)
    except services.ServicesMissing as missing:
        print(f"not run, {missing}", flush=True)
        return int(os.environ.get("CI", "") in ("1", "true") or os.environ.get("ASSENT_REQUIRE_ALL") == "1")


@contextlib.contextmanager
def server_beside(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server leg beside the embedded one, and print what it said at the end.

    Legs of three and two processes take less time than one after the other: tests wait for disks and other processes
    as much as they compute.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, __file__, *arguments, "--leg=server"], stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.terminate()  # of no effect on one that has ended
            process.wait()
            _print_from_start(output)


def _print_from_start(output: IO[bytes]) -> None:
    output.seek(0)
    sys.stdout.flush()
    sys.stdout.buffer.write(output.read())
    sys.stdout.flush()


def _pytest(named: list[str], left_out: list[str], environment: dict[str, str], *, processes: int) -> int:
    """Run pytest with what was named; marks are left out unless a path or an expression of marks says what to run.

    Args:
        processes: how many, unless ASSENT_TEST_PROCESSES says it.
    """
    arguments = [f"--numprocesses={os.environ.get('ASSENT_TEST_PROCESSES', processes)}", "--dist=worksteal", *SLOWEST]
    says_which = any(
        argument.startswith(("-m", "tests/", "./", "/")) and argument not in ON_SERVERS for argument in named
    )
    marks = [] if says_which or not left_out else ["-m", " and ".join(left_out)]
    return services.run([sys.executable, "-m", "pytest", *arguments, *marks, *named], environment)


@contextlib.contextmanager
def _environment() -> Iterator[dict[str, str]]:
    """Give the variables of a leg. Whatever a killed test process leaves behind goes with the temporary folder."""
    # In memory where the system has a place for that: each test begins with fresh files, and most commit a few times.
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > _ROOM else None
    with tempfile.TemporaryDirectory(prefix="assent-tests-", dir=in_memory, ignore_cleanup_errors=True) as folder:
        kept = {name: value for name, value in os.environ.items() if name not in (*SERVER_SETTINGS, _SLOW)}
        yield kept | {"TMPDIR": folder}


def _preloaded() -> list[str]:
    """Return what is to be preloaded beside DoltLite."""
    return [path for path in os.environ.get("LD_PRELOAD", "").split() if "doltlite" not in path]


def _say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    services.unwind_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
