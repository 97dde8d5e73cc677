"""What became slower since the run that is kept in `benchmarks/results/`: `make bench-compare`.

Cases are compared by what a slow machine does not change: ours divided by bare, or p50 in loops of the machine. Where a
case has neither, by milliseconds.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
#: A case that is so much worse is shown in red.
WORSE = 0.15

_RED, _PLAIN = "\033[31m", "\033[0m"


def keep(leg: str, report: dict[str, Any]) -> None:
    """Keep a report as what later runs are compared with; cases that it does not have stay as they were."""
    RESULTS.mkdir(exist_ok=True)
    kept = _kept(leg) | {case: [value, sign] for case, value, sign in _figures(report)}
    (RESULTS / f"{leg}.json").write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def table(leg: str, report: dict[str, Any]) -> str:
    """Return a line for each case of the report that was kept: then, now, and by how much it is worse."""
    kept = _kept(leg)
    lines = [line(case, kept[case][0], value, sign) for case, value, sign in _figures(report) if case in kept]
    return "\n".join(lines or ["Nothing of this is kept: run it with --keep where little else runs."])


def line(case: str, then: float, now: float, sign: int) -> str:
    """Return one line; red where it is worse by more than `WORSE`.

    Args:
        sign: 1 where more is worse, -1 where less is.
    """
    worse = (now / then if sign > 0 else then / now) - 1
    text = f"{case:70} {then:8.2f} → {now:8.2f}   {worse:+.0%} {'worse' if worse > 0 else 'better'}"
    return f"{_RED}{text}{_PLAIN}" if worse > WORSE else text


def _kept(leg: str) -> dict[str, list[Any]]:
    file = RESULTS / f"{leg}.json"
    kept: dict[str, list[Any]] = json.loads(file.read_text()) if file.exists() else {}
    return kept


def _figures(report: dict[str, Any]) -> Iterator[tuple[str, float, int]]:
    for one in report["against"]:
        yield one["case"], one["ours"] / one["bare"], 1 if one["at_most"] else -1
    for one in report["results"]:
        yield one["case"], one["ratio"] or one["p50"], 1
