"""Dates a query names."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.search.ranking.dates import MOST_CUES, UNDATED, Cue, agreement, cues, day_of, named_agreement

pytestmark = pytest.mark.pure

TODAY = date(2024, 3, 20)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Who came on May 3, 2023?", [Cue(2023, 5, 3)]),
        ("news of 16 June, 2023", [Cue(2023, 6, 16)]),
        ("the 3rd of July", [Cue(None, 7, 3)]),
        ("in December 2023", [Cue(2023, 12)]),
        ("in Dec 2023", [Cue(2023, 12)]),
        ("since March", [Cue(None, 3)]),
        ("2023-05-08 and 2023-06", [Cue(2023, 5, 8), Cue(2023, 6)]),
        ("what happened in 2022?", [Cue(2022)]),
        ("in May or June 2022", [Cue(2022, 5), Cue(2022, 6)]),
        ("May I go?", []),
        ("a march of 20 miles", []),
        ("2023-13-01", []),
        ("20. November 2026", [Cue(2026, 11, 20)]),
        ("20. Nov. 2026", [Cue(2026, 11, 20)]),
        ("20-Nov-2026", [Cue(2026, 11, 20)]),
        ("Nov 20th", [Cue(None, 11, 20)]),
        ("am 3. März oder 1. Jänner", [Cue(None, 3, 3), Cue(None, 1, 1)]),
        ("im Mai", [Cue(None, 5)]),
        ("20.11.2026, 20. 11. 26", [Cue(2026, 11, 20)]),
        ("20/11/2026 and 11/21/2026", [Cue(2026, 11, 20), Cue(2026, 11, 21)]),
        ("20.11. or am 3.5.", [Cue(None, 11, 20), Cue(None, 5, 3)]),
        ("2026/11/20T10:00", [Cue(2026, 11, 20)]),
        ("2026年11月20日, 2026年12月", [Cue(2026, 11, 20), Cue(2026, 12)]),
        ("am dritten Mai, the twenty-first of June", [Cue(None, 5, 3), Cue(None, 6, 21)]),
        ("20–22 November 2026", [Cue(2026, 11, 20), Cue(2026, 11, 22), Cue(2026, 11, 21)]),
        ("vom 20. bis 22. Nov.", [Cue(None, 11, 20), Cue(None, 11, 22), Cue(None, 11, 21)]),
        ("Nov 20th to 22nd, 2026", [Cue(2026, 11, 20), Cue(2026, 11, 22), Cue(2026, 11, 21)]),
        ("3.-5.6.", [Cue(None, 6, 3), Cue(None, 6, 5), Cue(None, 6, 4)]),
        ("30.4.-1.5.2026", [Cue(2026, 4, 30), Cue(2026, 5, 1)]),
        ("2026-11-20 to 2026-11-21", [Cue(2026, 11, 20), Cue(2026, 11, 21)]),
        ("31 December to 1 January", [Cue(None, 12, 31), Cue(None, 1, 1)]),
        ("1 July – 31 August 2027", [Cue(2027, 7, 1), Cue(2027, 8, 31), Cue(2027, 7), Cue(2027, 8)]),
        ("20 and 22 May, June 11/12", [Cue(None, 5, 20), Cue(None, 5, 22), Cue(None, 6, 11), Cue(None, 6, 12)]),
        ("3., 4. und 5. Mai", [Cue(None, 5, 3), Cue(None, 5, 4), Cue(None, 5, 5)]),
        ("zwischen dem 3. und dem 5.6.2026", [Cue(2026, 6, 3), Cue(2026, 6, 5), Cue(2026, 6, 4)]),
        ("the third to the fifth of May", [Cue(None, 5, 3), Cue(None, 5, 5), Cue(None, 5, 4)]),
        (
            "KW 53/2026, 20261120",
            [Cue(2026, 11, 20), *(Cue(2026, 12, d) for d in range(28, 32)), *(Cue(2027, 1, d) for d in (1, 2, 3))],
        ),
        ("room 12 - 3 May, sheets 3-5, 29 Feb - 1 Mar 2026", [Cue(2026, 5, 3), Cue(2026, 2, 29), Cue(2026, 3, 1)]),
        ("3.5 kg, v1.12.26, 10.0.11.26, PROJ-12-11-26, on 1.5 %", []),
        ("yesterday", [Cue(2024, 3, 19)]),
        ("two weeks ago", [Cue(2024, 3, 6)]),
        ("last year", [Cue(2023)]),
        ("this month", [Cue(2024, 3)]),
        ("algebra 101", []),
    ],
)
def test_a_query_names_these_dates(query: str, expected: list[Cue]) -> None:
    assert list(cues(query, TODAY)) == expected


@pytest.mark.parametrize(
    ("cue", "day", "degree"),
    [
        (Cue(2023, 5, 8), date(2023, 5, 8), 1.0),
        (Cue(2023, 5, 8), date(2023, 5, 15), 1.0),
        (Cue(2023, 5, 8), date(2023, 5, 1), 1.0),
        (Cue(2023, 5, 8), date(2023, 5, 20), 0.6),
        (Cue(2023, 5, 8), date(2022, 5, 8), 0.0),
        (Cue(None, 5, 8), date(2022, 5, 8), 1.0),
        (Cue(2023, 5), date(2023, 5, 31), 0.7),
        (Cue(None, 5), date(2019, 5, 1), 0.7),
        (Cue(2023), date(2023, 12, 31), 0.3),
        (Cue(2023, 6, 31), date(2023, 6, 30), 0.6),
        (Cue(2023), None, 0.0),
    ],
)
def test_a_day_agrees_so_far(cue: Cue, day: date | None, degree: float) -> None:
    days = np.array([day_of(day), UNDATED], dtype=np.int32)
    # Of several cues the best counts.
    assert agreement([cue, Cue(1066), cue], days).tolist() == pytest.approx([degree, 0.0])


@pytest.mark.parametrize(
    ("cue", "named", "degree"),
    [
        (Cue(2026, 11, 20), (2026, 11, 20), 1.0),
        (Cue(2026, 11, 20), (2026, 11, 12), 0.0),
        (Cue(2026, 11, 20), (2025, 11, 20), 0.0),
        (Cue(2026, 11, 20), (0, 11, 20), 0.8),
        (Cue(2026, 11, 20), (2026, 11, 0), 0.3),
        (Cue(None, 11, 20), (2025, 11, 20), 1.0),
        (Cue(2026, 11), (2026, 11, 12), 0.7),
        (Cue(2026, 11), (2026, 12, 11), 0.0),
    ],
)
def test_a_day_in_a_text_agrees_so_far(cue: Cue, named: tuple[int, int, int], degree: float) -> None:
    assert named_agreement(cue, np.array([named], dtype=np.int32)).tolist() == pytest.approx([degree])


@given(st.text())
def test_any_text_can_be_read_and_relative_dates_need_a_today(query: str) -> None:
    cues(query, TODAY)
    assert cues("last week") == ()


def test_a_query_full_of_dates_counts_the_first_few() -> None:
    days = [f"{day} May {year}" for year in range(1990, 2020) for day in range(1, 28)]
    assert len(cues(" ".join(days))) == MOST_CUES
