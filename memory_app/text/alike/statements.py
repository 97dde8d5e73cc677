"""The statements that a change adds to a text and removes from it, wherever they stand.

Sentence by sentence, since an agent that proposes the same again rarely puts it in the same place, in the same edit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from memory_app.text.alike.terms import terms
from memory_app.text.sentences import key, sentences

#: A statement that has this share of its terms from one that it replaces was edited, and is not new.
_EDITED = 0.5
#: What is between the items of an enumeration, and how many of it make one.
_BETWEEN = re.compile(r"[,;、，；]|\b(?:and|or|und|oder|y|et|ou)\b", re.IGNORECASE)
_ENUMERATES = 2


@dataclass(frozen=True)
class Statement:
    """A sentence, item or heading that a change adds or removes.

    Args:
        text: with single blanks.
        is_edited: most of it stood in a sentence that goes. Only another edit with the same result is the same then:
            what was left out of a sentence and what was put in its place differ by as little as a rewording.
    """

    text: str
    terms: frozenset[str]
    is_edited: bool = False

    @property
    def may_vary(self) -> bool:
        """Whether it says the same with a word more or less: not where it enumerates, and a word is another item."""
        return not self.is_edited and len(_BETWEEN.findall(self.text)) < _ENUMERATES


@dataclass(frozen=True)
class Changed:
    """The statements of a change; none of both where it only moves or formats."""

    added: tuple[Statement, ...]
    removed: tuple[Statement, ...]


def statements_of(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text."""
    return changed("", text).added


def changed(before: str, after: str) -> Changed:
    """Return the statements that are in one of two texts and not in the other."""
    old, new = (Counter(filter(None, map(key, sentences(side)))) for side in _where_they_differ(before, after))
    gone, come = _read((old - new).elements()), _read((new - old).elements())
    # What is only worded, formatted or punctuated otherwise is neither added nor removed.
    stays = Counter(each.terms for each in gone) & Counter(each.terms for each in come)
    removed, added = _without(gone, stays), _without(come, stays)
    return Changed(tuple(_marked(each, removed) for each in added), tuple(removed))


def _where_they_differ(before: str, after: str) -> tuple[str, str]:
    """Return both texts without the paragraphs that they begin and end with alike."""
    old, new = before.split("\n"), after.split("\n")
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    while head and old[head - 1].strip():
        head -= 1
    while tail and old[len(old) - tail].strip():
        tail -= 1
    return "\n".join(old[head : len(old) - tail]), "\n".join(new[head : len(new) - tail])


def _read(texts: Iterable[str]) -> list[Statement]:
    return [Statement(text, found) for text in texts if (found := terms(text))]


def _without(statements: Iterable[Statement], counted: Counter[frozenset[str]]) -> list[Statement]:
    left, kept = Counter(counted), []
    for each in statements:
        if left[each.terms]:
            left[each.terms] -= 1
        else:
            kept.append(each)
    return kept


def _marked(statement: Statement, removed: Iterable[Statement]) -> Statement:
    least = _EDITED * len(statement.terms)
    is_edited = any(len(statement.terms & each.terms) >= least for each in removed)
    return Statement(statement.text, statement.terms, is_edited)
