"""What a query asks for, parsed once, and the kinds of expression that texts are marked with.

Belongs here: the query's words, dates, author and ids, the kind of expression its answer has, and whether it is broad.
Not here: looking any of it up (`scoring`, `index`) and reading dates (`dates`).

A turn that answers "when" nearly always says "yesterday", "last week" or a month. Together the three kinds of
expression lift the first hit on LoCoMo's turns (MRR .606 → .617, weights fitted on the other conversations each time).
They are English only: a query in another language asks for no kind, and the ranking does without.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import IntFlag

from memory_app.search.ranking.dates import MOST_CUES, Cue, cues, named_days
from memory_app.search.ranking.vocabulary import LONGEST_QUERY, is_stop, query_words, words
from memory_app.text import patterns
from memory_app.text.stems import folded, stems

_READ = patterns.beside(__file__)

# note-…, mem-…, message ids: what has a digit or a joint and is too long to be an everyday word.
_ID = re.compile(r"(?<![\w-])(?=[\w.:-]{0,127}[\d_:-])[\w][\w.:-]{4,126}[\w](?![\w-])")
_MOST_IDS = 20


class ExpressionKind(IntFlag):
    """What a chunk's text is or contains; stored with the chunk, since detecting it takes 20 µs."""

    NONE = 0
    QUESTION = 1
    TIME = 2
    NUMBER = 4
    NAME = 8


@dataclass(frozen=True)
class ParsedQuery:
    """A query, parsed.

    Attributes:
        words: distinct words that count, folded; stop words only where there are no others.
        days: the days and months that it names, looked up among those that texts name.
        day_words: the words that name a day. As words, 2026 and 11 are in "2026-11-12" as in "2026-11-20".
        ids: what may be the id of a note or message.
        author: the key of the one known author it names; None where it names none, or several.
        kind: the kind of expression the answer contains, and how sure that is (0 to 1).
    """

    words: tuple[str, ...]
    days: tuple[Cue, ...]
    day_words: frozenset[str]
    cues: tuple[Cue, ...]
    ids: tuple[str, ...]
    author: int | None
    kind: ExpressionKind
    kind_certainty: float


def parse_query(query: str, authors: Mapping[int, str], today: date | None = None) -> ParsedQuery:
    """Parse a query; of a long one the beginning counts (`LONGEST_QUERY`).

    Arguments:
        authors: the known authors' first names (`first_name`) by key.
        today: what relative dates refer to.
    """
    query = query[:LONGEST_QUERY]
    kind, certainty = asked_kind(query)
    text = rest = folded(query)
    days = [day for day in named_days(text) if day.is_sure]
    for day in days:
        if day.cue.day:
            rest = rest[: day.start] + " " * (day.end - day.start) + rest[day.end :]
    return ParsedQuery(
        words=tuple(query_words(query)),
        days=tuple(dict.fromkeys(day.cue for day in days))[:MOST_CUES],
        day_words=frozenset(words(text, query=True)).difference(words(rest, query=True))
        if rest != text
        else frozenset(),
        cues=cues(query, today),
        ids=tuple(dict.fromkeys(_ID.findall(query)))[:_MOST_IDS],
        author=_one_author(query, authors),
        kind=kind,
        kind_certainty=certainty,
    )


def first_name(author: str) -> str:
    """Return what an author is called in a query: the first word of the name, folded."""
    return next(iter(words(author, query=True)), "")


def _one_author(query: str, authors: Mapping[int, str]) -> int | None:
    """Return the one author that the query names. Several names do not say whose words are wanted."""
    present = set(words(query, query=True))
    named = [key for key, name in authors.items() if name in present]
    return named[0] if len(named) == 1 else None


# -- kinds of expression --------------------------------------------------------------------------

_TIME, _NUMBER = (re.compile(_READ[name], re.IGNORECASE) for name in ("time", "number"))
# A capital inside a sentence, or something in quotes: the names of people, places, books, firms.
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+|[\"“][^\"“”]+[\"”]")
_QUESTION_END = ("?", "？", "؟")

_ASKS = tuple(
    (ExpressionKind[kind.upper()], certainty, re.compile(pattern, re.IGNORECASE))
    for kind, (certainty, pattern) in _READ["asks"].items()
)


def marks(text: str) -> ExpressionKind:
    """Return the kinds of expression that a chunk's text is or contains."""
    found = ExpressionKind.QUESTION if text.rstrip().endswith(_QUESTION_END) else ExpressionKind.NONE
    for mark, pattern in ((ExpressionKind.TIME, _TIME), (ExpressionKind.NUMBER, _NUMBER), (ExpressionKind.NAME, _NAME)):
        if pattern.search(text):
            found |= mark
    return found


def asked_kind(query: str) -> tuple[ExpressionKind, float]:
    """Return the kind of expression `query` asks for, and how sure it is that a text without it is no answer (0 to 1).

    (NONE, 0) where the query does not say.
    """
    for mark, certainty, pattern in _ASKS:
        if pattern.match(query):
            return mark, certainty
    return ExpressionKind.NONE, 0.0


# -- broad queries --------------------------------------------------------------------------------

#: Words that ask for everything known about somebody: "what do you know about me", "user preferences".
_BROAD_STEMS = frozenset(stems(" ".join(_READ["broad"]).split()))


def is_broad(query: str) -> bool:
    """Whether nothing in `query` narrows down what is looked for; a query without words ("*") does not either.

    No note contains what such a query asks for, so similarity orders nothing: the notes most worth knowing come first
    (`memory_app.text.context_budget`).
    """
    content = [word for word in words(query[:LONGEST_QUERY], query=True) if not is_stop(word)]
    return _BROAD_STEMS.issuperset(stems(content))
