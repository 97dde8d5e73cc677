"""`make bench`, or `python benchmarks/run.py [--leg embedded|server]`: all cases on each engine present.

DoltLite and SQLite always; Dolt, PostgreSQL and Redis where their programs are found. Everything happens in
folders of its own that are thrown away, on free loopback ports.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In the place of this folder, whose modules would be found under other modules' names.
sys.path[0] = str(ROOT)

from benchmarks import compare, machine, table  # noqa: E402
from benchmarks.measure import Against, Result  # noqa: E402
from tests import services  # noqa: E402

SERVERS = ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL")

#: A limit that would end a benchmark early, and a log of what it does itself; the server's is as `make run` has it.
ENVIRONMENT = {
    "ASSENT_MAX_OPEN_PROPOSALS": "20000",  # the cases of the list and the board fill the default
    "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    "ASSENT_RATE_LIMIT": "1000000",
    "ASSENT_LOG_FORMAT": "json",
    "ASSENT_LOG_LEVEL": "WARNING",
}
#: What `make run` starts, and what a production site has to set.
DEMO = {"ASSENT_DEBUG": "1"}
PRODUCTION = {"ASSENT_DEBUG": "0", "ASSENT_SECRET_KEY": "only for benchmarks, which keep nothing"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the speeds Assent promises; nothing is asserted.")
    parser.add_argument("--leg", choices=["embedded", "server"], help="only this one (default: each one present)")
    parser.add_argument("--folder", type=Path, help="where the throw-away data goes (default: the temporary folder)")
    parser.add_argument(
        "--part",
        choices=[
            "history",
            "growth",
            "disk",
            "beside",
            "inbox",
            "memories",
            "board",
            "past",
            "long-block",
            "siblings",
            "client",
            "mcp",
            "tools",
            "waiting",
            "crowd",
        ],
        help="only an owner with a history, how costs grow, what is on disk, calls beside a bare view's, a full inbox, "
        "several memories, a board of 200, a long past, a proposal that changes 10,000 words, 50 proposals of one "
        "block, what the Python client adds, MCP beside REST, how long the lists of tools are, a hundred agents "
        "that wait or agents beside a greedy one",
    )
    parser.add_argument("--compare", action="store_true", help="show what is worse than in benchmarks/results/")
    parser.add_argument("--keep", action="store_true", help="keep the results there, for later runs to compare")
    options = parser.parse_args()

    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}\n", flush=True)
    for part, title, module in (("client", "the Python client", "client"), ("tools", "lists of tools", "tool_lists")):
        if options.part in (None, part):
            _say(title)
            subprocess.run([sys.executable, "-m", f"benchmarks.{module}"], cwd=ROOT, check=False)
            print(flush=True)
        if options.part == part:
            return 0
    with tempfile.TemporaryDirectory(prefix="assent-bench-", dir=options.folder) as name:
        folder = Path(name)
        _say("the machine itself")
        references = machine.references(folder)
        print(f"{table.machine_table(references)}\n", flush=True)
        if options.leg != "server":
            print(f"{_leg('embedded', folder, {}, options)}\n", flush=True)
        if options.leg != "embedded":
            try:
                with services.running(syncs=True) as environment:
                    print(f"{_leg('server', folder, environment, options)}\n", flush=True)
            except services.ServicesMissing as missing:
                print(f"Dolt server and PostgreSQL were not measured: {missing}", flush=True)
    if options.part:
        return 0
    _say("search")
    # Each part in a process of its own: one thread, no database, the arrays alone.
    for part in ("quality", "speed"):
        subprocess.run(
            [sys.executable, "-m", "benchmarks.retrieval", part],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            check=False,
        )
    return 0


def _leg(leg: str, folder: Path, servers: dict[str, str], options: argparse.Namespace) -> str:
    """Run one leg in a process of its own, since settings and engine are chosen once per process; its table."""
    _say(f"{leg}")
    data, output = folder / leg, folder / f"{leg}.json"
    data.mkdir()
    inherited = {name: value for name, value in os.environ.items() if name not in SERVERS}
    edition = PRODUCTION if servers else DEMO
    environment = inherited | ENVIRONMENT | edition | servers | {"ASSENT_DATA_DIR": str(data)}
    process = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "leg.py"), str(output), *([options.part] if options.part else [])],
        cwd=ROOT,
        env=environment,
        check=False,
    )
    if process.returncode:
        raise SystemExit(process.returncode)
    report = json.loads(output.read_text())
    title = f"{report['name']}, PostgreSQL, Redis" if servers else f"{report['name']}, SQLite"
    tables = []
    if report["results"]:
        tables.append(table.case_table(title, [Result(**one) for one in report["results"]]))
    if report["against"]:
        beside = [Against(**one) for one in report["against"]]
        tables.append(table.against_table(f"{title}: beside something bare (ms, or a second)", beside))
    if options.compare:
        tables.append(f"{title}: since the run that is kept\n\n{compare.table(leg, report)}")
    if options.keep:
        compare.keep(leg, report)
    return "\n\n".join(tables)


def _say(what: str) -> None:
    print(f"measuring {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
