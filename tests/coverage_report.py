"""How much of the three apps the tests of a leg ran, lines and branches, by folder.

Belongs here: what `tests/run.py --coverage` sets for its processes, and what it makes of the files they leave. Every
process measures itself, from its first line (`COVERAGE_PROCESS_START`): the workers of pytest, and the commands, web
servers and Celery workers that tests start. A process that is killed leaves nothing.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = ROOT / "pyproject.toml"
OUTPUT = ROOT / "build" / "coverage.json"
#: Of one file or folder: what there is to run, and what did.
_COUNTED = ("num_statements", "num_branches", "covered_lines", "covered_branches")


def environment_for(folder: Path) -> dict[str, str]:
    """Return the variables that make each Python process below measure itself and leave a file in `folder`."""
    return {"COVERAGE_PROCESS_START": str(CONFIGURATION), "COVERAGE_FILE": str(folder / "coverage")}


def report(folder: Path, *, enforced: bool) -> bool:
    """Combine the files in `folder`, print the table by folder, and write what did not run to build/coverage.json.

    The combined data stays in `folder`. It may be a DoltLite file, as tests run with that library, and the command
    `coverage` cannot read one.

    Returns:
        Whether it is enough: at least `fail_under` of pyproject.toml, where that is `enforced`.
    """
    coverage = Coverage(data_file=str(folder / ".coverage"), config_file=str(CONFIGURATION))
    coverage.combine([str(file) for file in folder.glob("coverage.*")])
    coverage.save()
    OUTPUT.parent.mkdir(exist_ok=True)
    coverage.json_report(outfile=str(OUTPUT))
    found = json.loads(OUTPUT.read_text())
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for name, file in found["files"].items():
        counted = Counter({key: file["summary"][key] for key in _COUNTED})
        folders["/".join(Path(name).resolve().relative_to(ROOT).parts[:-1][:2])] += counted
        folders["total"] += counted
    print(f"{'folder':<34}{'lines':>8}{'branches':>10}{'covered':>9}")
    for name in sorted(folders, key=lambda name: (name == "total", name)):
        counted = folders[name]
        print(f"{name:<34}{counted['num_statements']:>8}{counted['num_branches']:>10}{_percent(counted):>8.1f}%")
    print(f"What did not run, file by file: {OUTPUT.relative_to(ROOT)}")
    wanted = float(coverage.get_option("report:fail_under") or 0)
    enough = not enforced or _percent(folders["total"]) >= wanted
    if not enough:
        print(f"less than the {wanted:g} % that pyproject.toml asks for")
    return enough


def _percent(counted: Counter[str]) -> float:
    there = counted["num_statements"] + counted["num_branches"]
    return 100 * (counted["covered_lines"] + counted["covered_branches"]) / there if there else 100.0
