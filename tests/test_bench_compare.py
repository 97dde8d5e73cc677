"""A benchmark's case that became worse is shown in red, whichever way worse is."""

from pathlib import Path

import pytest

from benchmarks import compare

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("then", "now", "sign", "is_red"),
    [(2.0, 2.2, 1, False), (2.0, 2.4, 1, True), (2.0, 1.0, 1, False), (100, 80, -1, True), (100, 130, -1, False)],
)
def test_what_became_worse_is_red(then: float, now: float, sign: int, is_red: bool) -> None:
    assert ("\033[31m" in compare.line("list", then, now, sign)) is is_red


def test_a_kept_run_is_what_later_ones_are_compared_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "RESULTS", tmp_path)
    report = {
        "against": [{"case": "list", "ours": 6.0, "bare": 3.0, "at_most": 2.5, "at_least": None}],
        "results": [{"case": "inbox", "p50": 40.0, "ratio": None}],
    }
    assert "Nothing of this is kept" in compare.table("embedded", report)
    compare.keep("embedded", report)
    report["against"][0]["ours"] = 9.0
    assert "+50% worse" in compare.table("embedded", report)
