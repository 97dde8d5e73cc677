"""Days that texts and queries name, and how well a chunk agrees with those of a query.

Belongs here: reading "8 May 2023", "May 8th", "8. Mai 2023", "8.5.2023", "2023-05-08", "am achten Mai", "8–10 May",
"KW 19/2023", "in 2022", "last week" (`dates.toml`: English and German), and how well the days that a text names, and
the day it was saved or said, agree.
Not here: times of day and time zones (a chunk's day is UTC's, and a named day reaches a week around), and questions
*for* a date (`query`).

The degrees of agreement with a chunk's own day were measured: a day within a week 1, a month .7, the month of a named
but other day .6, a year alone .3. Without dates, recall at 10 on LoCoMo's turns falls from .801 to .792.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory_app.text import patterns
from memory_app.text.stems import folded

Days = npt.NDArray[np.int32]
Degrees = npt.NDArray[np.float32]

#: The day of a chunk without a date; no cue agrees with it.
UNDATED = -(2**31)

#: Dates of one query that count; each is compared with every chunk.
MOST_CUES = 8

_EPOCH = date(1970, 1, 1)
_READ = patterns.beside(__file__)
_MONTHS = {name: number for number, names in enumerate(_READ["words"]["months"], 1) for name in names.split()}
_MONTH = re.compile(_READ["month"])
# "may", "march" and "mar" are words as well: they are months after `before_month`, or beside a number.
_DOUBTFUL = frozenset("may march mar sep dec jan jun nov oct".split())
_BEFORE_MONTH = re.compile(_READ["before_month"])
_DAY_BEFORE = re.compile(_READ["day_before"])
_DAY_AFTER = re.compile(_READ["day_after"])
_FIRST_DAYS = re.compile(_READ["first_days"])
_BETWEEN = re.compile(_READ["between"])
_BOTH = ("between ", "between the ", "zwischen ", "zwischen dem ", "zw. ")
#: Of a longer time each month counts and not each day. With so many days in a text, only the ends of times count.
_LONGEST_SPAN, _MOST_DAYS = 31, 200
_DAYS_IN_WORDS = {name: number for number, names in enumerate(_READ["words"]["days"], 1) for name in names.split()}
_DAY_IN_WORDS = re.compile(_READ["day_in_words"])
_WEEK = re.compile(r"\b(?:kw|kalenderwoche|calendar week)\s?([1-4]?\d|5[0-3])[/,]?\s?((?:19|20)\d\d)\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b(?!-\d)")
_YEAR_AFTER = re.compile(r",?[\s-]+((?:19|20)\d\d)\b")
# What stands before a month is looked for in so many characters, not in the whole text for each of its months.
_NEAR = 16
_DIGIT, _DAY_NUMBER = re.compile(r"\d"), re.compile(r"\d\d?")
# "10.-21.8." has a dash that is none of "10-21-2026".
_AT_DASH = re.compile(r"(?<=\d\.)-(?=\d)")
_NUMBERS = tuple(map(re.compile, _READ["numbers"]))
_RELATIVE = re.compile(_READ["relative"])
_COUNTS: dict[str, int | str] = {"a": 1, "couple of": 2, "few": 3}
_COUNTS |= {word: number for number, word in enumerate("one two three four five six".split(), 1)}
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
_WITHIN = 7


@dataclass(frozen=True)
class Cue:
    """A day, a month or a year, as far as the query names it. A month without a year is that month of any year."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def day_of(at: date | None) -> int:
    """Return days since 1970; `UNDATED` for no date. A datetime counts by its own calendar day."""
    return UNDATED if at is None else at.toordinal() - _EPOCH.toordinal()


class NamedDay(NamedTuple):
    """A day or month in a folded text, from `start` to `end`. A month's bare name, not `is_sure`, may be a person's."""

    cue: Cue
    start: int
    end: int
    is_sure: bool = True


def named_days(text: str) -> list[NamedDay]:
    """Return the days and months that a text names, which has to be folded (`memory_app.text.stems`)."""
    whole = text = _DAY_IN_WORDS.sub(lambda match: f"{_DAYS_IN_WORDS[match[1]]}.".rjust(len(match[0])), text)
    found, firsts = list[NamedDay](), dict[int, re.Match[str]]()
    if _DIGIT.search(text):
        text = _AT_DASH.sub("–", text)
        firsts = {match.end(): match for match in _FIRST_DAYS.finditer(text)}
        # "ab" then stands before the last day, since "5.5." is one only after such a word; "3-" has no room for it.
        text = _FIRST_DAYS.sub(lambda match: ("ab " * (len(match[0]) > 2)).rjust(len(match[0])), text)
        for pattern in _NUMBERS:
            found += [
                NamedDay(cue, match.start(1), match.end())
                for match in pattern.finditer(text)
                if (cue := _of_numbers(match))
            ]
            text = pattern.sub(lambda match: " " * len(match[0]), text)
    found += _months(text)
    for day in tuple(found):
        if day.start in firsts:
            found += _days_before(day, whole, firsts[day.start].span(1))
    found.sort(key=lambda day: day.start)
    for one, other in pairwise(tuple(found)):
        if len(found) < _MOST_DAYS and _is_span(one, other, whole):
            found += _from_to(one, other)
    for match in _WEEK.finditer(whole):
        found += _days_of_week(match)
    return found


def _days_before(last: NamedDay, text: str, span: tuple[int, int]) -> Iterator[NamedDay]:
    """Yield the first days of "3, 4 and 5 May", which stand at the span and are of the month of the last one."""
    for first in _DAY_NUMBER.finditer(text, *span):
        if int(first[0]) < (last.cue.day or 0):
            yield NamedDay(replace(last.cue, day=int(first[0])), first.start(), first.end())


def _is_span(first: NamedDay, last: NamedDay, text: str) -> bool:
    """Whether the days between two are named too: of "3 to 5 May" they are, of "3 and 5 May" only after "between"."""
    between = _BETWEEN.fullmatch(text, first.end, last.start) if first.cue.day and last.cue.day else None
    return between is not None and (not between[1] or text.endswith(_BOTH, 0, first.start))


def _days_of_week(match: re.Match[str]) -> Iterator[NamedDay]:
    """Yield the days of a calendar week (ISO 8601)."""
    monday = date.fromisocalendar(int(match[2]), 1, 1) + timedelta(weeks=int(match[1]) - 1)
    for day in (monday + timedelta(days) for days in range(7)):
        yield NamedDay(Cue(day.year, day.month, day.day), *match.span())


def _from_to(first: NamedDay, last: NamedDay) -> list[NamedDay]:
    """Return the days from the first to the last, or else, where they are many, the months."""
    year = last.cue.year or first.cue.year or 2000
    try:
        begin = date(first.cue.year or year, first.cue.month or 1, first.cue.day or 1)
        end = date(year, last.cue.month or 1, last.cue.day or 1)
        if begin.month > end.month and not first.cue.year:  # 20 December to 3 January 2027
            begin = begin.replace(year=year - 1)
    except ValueError:
        return []
    days = [begin + timedelta(days) for days in range(min((end - begin).days, 366) + 1)]
    is_dated = bool(last.cue.year or first.cue.year)
    cues = [Cue(day.year * is_dated or None, day.month, day.day * (len(days) <= _LONGEST_SPAN) or None) for day in days]
    return [NamedDay(cue, first.start, last.end) for cue in dict.fromkeys(cues)]


def cues(query: str, today: date | None = None) -> tuple[Cue, ...]:
    """Return the dates `query` names; relative ones ("last week") only where `today` is given."""
    text = folded(query)
    found = [day.cue for day in named_days(text)]
    years = [int(year) for year in _YEAR.findall(text)]
    if years:
        # "in May or June 2022": a month without a year is one of the year that is named beside it.
        found = [replace(cue, year=cue.year or years[0]) for cue in found] or [Cue(year) for year in years]
    if today is not None:
        found += [_relative(match, today) for match in _RELATIVE.finditer(text)]
    return tuple(dict.fromkeys(found))[:MOST_CUES]


def agreement(found: Sequence[Cue], days: Days) -> Degrees:
    """Return how well each of `days` agrees with the best of the cues, 0 to 1."""
    result = np.zeros(len(days), dtype=np.float32)
    known = days != UNDATED
    dates = np.where(known, days, 0).astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    years, month_of_year = months // 12 + 1970, months % 12 + 1
    for cue in found:
        same_year = known if cue.year is None else known & (years == cue.year)
        if cue.month is None:
            np.maximum(result, np.float32(0.3) * same_year, out=result)
            continue
        same_month = same_year & (month_of_year == cue.month)
        if cue.day is None:
            np.maximum(result, np.float32(0.7) * same_month, out=result)
            continue
        np.maximum(result, np.float32(0.6) * same_month, out=result)
        result[known & _near(cue, days, years)] = 1.0
    return result


def _near(cue: Cue, days: Days, years: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each day lies within a week of the cue's day: of that year, or of the chunk's own."""
    near = np.zeros(len(days), dtype=bool)
    for year in [cue.year] if cue.year is not None else sorted({int(y) for y in np.unique(years)}):
        try:
            named = day_of(date(year, cue.month or 1, cue.day or 1))
        except ValueError:  # 31 June, 29 February
            continue
        near |= np.abs(days.astype(np.int64) - named) <= _WITHIN
    return near


def named_agreement(cue: Cue, named: Days) -> Degrees:
    """Return how well each of the days that texts name agrees with the cue, 0 to 1; another day does not at all.

    Arguments:
        named: year, month and day in its columns, 0 where the text names none.
    """
    years, months, days = named.T
    agrees = (months == cue.month) & ((years == 0) | (years == (cue.year or years)))
    degrees = np.where((years == 0) & (cue.year is not None), 0.8, 1.0)
    if cue.day is None:
        degrees *= 0.7
    else:
        agrees &= (days == 0) | (days == cue.day)
        degrees = np.where(days == 0, 0.3, degrees)
    return np.where(agrees, degrees, 0).astype(np.float32)


def _of_numbers(match: re.Match[str]) -> Cue | None:
    named = match.groupdict()
    year, month, day = (int(named.get(part) or 0) for part in ("year", "month", "day"))
    if month > 12 and "/" in match[0]:
        month, day = day, month
    if 0 < year < 100:
        year += 1900 if year >= 70 else 2000
    return Cue(year or None, month, day or None) if 1 <= month <= 12 and day <= 31 else None


def _months(text: str) -> Iterator[NamedDay]:
    for match in _MONTH.finditer(text):
        near = max(match.start() - _NEAR, 0)
        before = _DAY_BEFORE.search(text, near, match.start())
        after = None if before else _DAY_AFTER.match(text, match.end())
        year = _YEAR_AFTER.match(text, after.end() if after else match.end())
        told = before or after or year or _BEFORE_MONTH.search(text, near, match.start())
        if match[1] in _DOUBTFUL and not told:
            continue
        number = before or after
        day = int(number[1]) if number and 1 <= int(number[1]) <= 31 else None
        cue = Cue(int(year[1]) if year else None, _MONTHS[match[1]], day)
        start, last = (before or match).start(), year or after or match
        if day and after and after[2] and int(after[2]) <= 31:
            yield NamedDay(cue, start, after.end(1))
            cue, start = replace(cue, day=int(after[2])), after.start(2)
        yield NamedDay(cue, start, last.end(), told is not None)


def _relative(match: re.Match[str], today: date) -> Cue:
    near, which, span, count, unit = (part or "" for part in match.groups())
    if near:
        day = today - timedelta(days=near == "yesterday")
        return Cue(day.year, day.month, day.day)
    back = (which == "last") * _LENGTHS[span] if which else int(_COUNTS.get(count, count)) * _LENGTHS[unit]
    day = today - timedelta(days=back)
    kind = span or unit
    if kind == "year":
        return Cue(day.year)
    return Cue(day.year, day.month) if kind == "month" else Cue(day.year, day.month, day.day)
