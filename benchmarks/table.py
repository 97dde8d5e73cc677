"""The report, as text for a terminal."""

from collections.abc import Sequence

from benchmarks.measure import Against, Result

_HEAD = ("case", "p50", "p95", "target", "", "loops", "")


def machine_table(references: Sequence[Result]) -> str:
    rows = [(one.case, _ms(one.p50), _ms(one.p95), one.note) for one in references]
    return _table("This machine", ("reference", "p50", "p95", ""), rows, {1, 2})


def case_table(title: str, results: Sequence[Result]) -> str:
    """One leg's cases; `loops` is p50 in units of the machine's loop, measured before and after the case."""
    return _table(title, _HEAD, [_row(one) for one in results], {1, 2, 3, 5})


def against_table(title: str, results: Sequence[Against]) -> str:
    """Ours beside the bare thing; `aim` is of the ratio."""
    head = ("case", "bare", "ours", "ratio", "aim", "")
    rows = [
        (
            one.case,
            f"{one.bare:.2f}",
            f"{one.ours:.2f}",
            f"{one.ratio:.2f}",
            f"≤ {one.at_most:g}" if one.at_most else f"≥ {one.at_least:g}",
            "within" if one.is_within else "OVER" if one.at_most else "UNDER",
        )
        for one in results
    ]
    return _table(title, head, rows, figures={1, 2, 3})


def _row(one: Result) -> tuple[str, ...]:
    target = f"≤ {one.target:g} ms" if one.target else ""
    verdict = "" if not one.target else "within" if one.p50 <= one.target else "OVER"
    loops = f"{one.ratio:.1f}" if one.ratio else ""
    return (one.case, _ms(one.p50), _ms(one.p95), target, verdict, loops, one.note)


def _ms(value: float) -> str:
    return f"{value:.2f} ms" if value < 10 else f"{value:.1f} ms"


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], figures: set[int]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: tuple[str, ...]) -> str:
        cells = [
            cell.rjust(widths[column]) if column in figures else cell.ljust(widths[column])
            for column, cell in enumerate(row)
        ]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths if width)
    return "\n".join([title, "", line(head), rule, *map(line, rows)])
