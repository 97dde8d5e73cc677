"""What a query asks for, read once.

Belongs here: its words, the dates, the author and the ids it names, the shape of the answer.
Not here: looking any of it up (`signals`, `index`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from memory_app.search.ranking.dates import Cue, cues
from memory_app.search.ranking.shape import ExpressionKind, asked
from memory_app.search.ranking.words import LONGEST_QUERY, query_words, words

# note-…, mem-…, message ids: what has a digit or a joint and is too long to be an everyday word.
_ID = re.compile(r"(?<![\w-])(?=[\w.:-]{0,127}[\d_:-])[\w][\w.:-]{4,126}[\w](?![\w-])")
_MOST_IDS = 20


@dataclass(frozen=True)
class Asked:
    """A query, read.

    Attributes:
        words: distinct words that count, folded; stop words only when there are no others.
        ids: what may be the id of a note or message.
        author: the key of the one known author it names; None when it names none, or several.
        shape: what kind of expression the answer holds, and how surely (0 to 1).
    """

    query: str
    words: tuple[str, ...]
    cues: tuple[Cue, ...]
    ids: tuple[str, ...]
    author: int | None
    shape: ExpressionKind
    shape_sure: float


def asked_for(query: str, authors: Mapping[int, str], today: date | None = None) -> Asked:
    """Read a query.

    Arguments:
        authors: the known authors' first names (`first_name`) by key.
        today: what relative dates refer to.
    """
    query = query[:LONGEST_QUERY]
    shape, sure = asked(query)
    return Asked(
        query=query,
        words=tuple(query_words(query)),
        cues=cues(query, today),
        ids=tuple(dict.fromkeys(_ID.findall(query)))[:_MOST_IDS],
        author=_one_author(query, authors),
        shape=shape,
        shape_sure=sure,
    )


def first_name(author: str) -> str:
    """What an author is called in a query: the first word of the name, folded."""
    return next(iter(words(author, query=True)), "")


def _one_author(query: str, authors: Mapping[int, str]) -> int | None:
    """The one author that the query calls by name; several named say nothing about whose words are wanted."""
    said = set(words(query, query=True))
    named = [key for key, name in authors.items() if name in said]
    return named[0] if len(named) == 1 else None
