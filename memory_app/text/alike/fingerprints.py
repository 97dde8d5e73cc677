"""Fingerprints of what a change says: keyed hashes by which the same is recognised after its text is gone.

A hash is of whole statements, never of a word, and keyed (BLAKE2b): without the key nothing can be guessed from it but
that two statements are the same. What a row tells beside that: how many statements and terms there were.

Which changes are the same is decided in `terms` and `statements`; which rejections count, in `approvals`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from memory_app.text.alike.statements import Statement
from memory_app.text.alike.terms import may_be_added, terms

#: What the shares of one change add up to, about.
WHOLE = 1_000
#: Share of what was rejected from which it is proposed again, when it stands in another change.
MOST_OF_IT = 800
#: A statement may gain or lose one term if this many others stay: with fewer, one makes another statement of it.
_OTHERS = 4
#: The same where a term is a character, which is half a word.
_OTHER_CHARACTERS = 8
#: Statements with more terms than this gain and lose none: each term costs a row.
_LONGEST = 40
#: Changes with more statements than this are compared without gained and lost terms.
_MOST_STATEMENTS = 200
#: Parts of one unit; the last is all of it.
_PARTS = 10_000


@dataclass(frozen=True)
class Said:
    """What a change says; each of its parts may be proposed again.

    Args:
        added: the statements it adds.
        removed: those it removes. They count only where it adds none, and only `where` they stood.
        exact: texts of which each stands for all of it, such as its edits word for word.
    """

    added: tuple[Statement, ...] = ()
    removed: tuple[Statement, ...] = ()
    where: str = ""
    exact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fingerprint:
    """A key of a rejected change.

    Args:
        part: which part of it, by `unit_of` also which of several notes; 0 for the reasoning.
        share: how much of the change the part is, up to `WHOLE`.
    """

    part: int
    key: int
    share: int


def fingerprints(said: Sequence[Said], reasoning: str, secret: bytes, *, is_exact: bool = False) -> list[Fingerprint]:
    """Return the keys to keep of a rejected change.

    Args:
        said: one for a block or a note; one for each note of an import.
        reasoning: the agent's.
        secret: the key, of 16 to 64 bytes.
        is_exact: only the same words in the same order are the same.
    """
    few = sum(len(each.added) + len(each.removed) for each in said) <= _MOST_STATEMENTS
    found = [Fingerprint(0, reasoning_key(reasoning, secret), 0)] if reasoning.strip() else []
    for unit, each in enumerate(said, 1):
        for part, (share, kept) in enumerate(_parts(each)):
            number = unit * _PARTS + min(part, _PARTS - 1)
            keys = kept.keys_exact(secret) if is_exact else kept.keys_to_keep(secret, few=few)
            found += (Fingerprint(number, key, share) for key in keys)
    return found


def probes(said: Sequence[Said], secret: bytes) -> dict[int, str]:
    """Return the keys by which a change finds that it, or part of it, was rejected, each with its passage or ""."""
    few = sum(len(each.added) + len(each.removed) for each in said) <= _MOST_STATEMENTS
    asked: dict[int, str] = {}
    for each in said:
        for _share, part in _parts(each):
            for key in part.keys_to_ask(secret, few=few):
                asked.setdefault(key, part.text if part.terms is not None else "")
    return asked


def share_found(found: Iterable[Fingerprint]) -> int:
    """Return how much of a rejected change was found again: of the note of which most was, if it is about several."""
    parts: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for each in found:
        parts[each.part // _PARTS][each.part] = each.share
    return max((sum(shares.values()) for shares in parts.values()), default=0)


def reasoning_key(reasoning: str, secret: bytes) -> int:
    """Return the key of an agent's reasoning; small rewordings have the same."""
    return _hash(secret, b"reasoning", *sorted(terms(reasoning)))


# -- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """Args:
    kind: what its keys are of, and where that counts.
    may_vary: it may gain or lose a term.
    """

    kind: tuple[str, ...]
    text: str
    terms: frozenset[str] | None = None
    may_vary: bool = True

    def keys_to_keep(self, secret: bytes, *, few: bool) -> Iterator[int]:
        """Yield its own key, and one for each term it may lose."""
        if self.terms is None:
            yield from self.keys_exact(secret)
            return
        yield self._key(secret, b"says", self.terms)
        yield from (self._key(secret, b"says more", rest) for rest in self._shorter(few=few))

    def keys_to_ask(self, secret: bytes, *, few: bool) -> Iterator[int]:
        """Yield the keys of a rejected one that says the same, has a term more, has one less, or the same words."""
        yield from self.keys_exact(secret)
        if self.terms is None:
            return
        yield self._key(secret, b"says", self.terms)
        if self.may_vary:
            yield self._key(secret, b"says more", self.terms)
        yield from (self._key(secret, b"says", rest) for rest in self._shorter(few=few))

    def keys_exact(self, secret: bytes) -> Iterator[int]:
        yield _hash(secret, b"exact", *self.kind, self.text)

    def _key(self, secret: bytes, what: bytes, terms: frozenset[str]) -> int:
        return _hash(secret, what, *self.kind, *sorted(terms))

    def _shorter(self, *, few: bool) -> Iterator[frozenset[str]]:
        """Yield its terms without one each, where it may lose that."""
        if self.terms is None or not (few and self.may_vary) or len(self.terms) > _LONGEST:
            return
        characters = sum(len(term) == 1 and term > "\u0e00" for term in self.terms)
        others = _OTHER_CHARACTERS if 2 * characters > len(self.terms) else _OTHERS
        if len(self.terms) > others:
            yield from (self.terms - {term} for term in self.terms if may_be_added(term))


def _parts(said: Said) -> Iterator[tuple[int, _Part]]:
    """Yield what may be found again, each with its share of the change."""
    for text in said.exact:
        yield WHOLE, _Part(("all",), text)
    statements, kind = (said.added, ("adds",)) if said.added else (said.removed, ("removes", said.where))
    if not statements:
        return
    every = frozenset[str]().union(*(each.terms for each in statements))
    weights = sum(len(each.terms) for each in statements)
    for each in statements:
        yield -(-WHOLE * len(each.terms) // weights), _Part(kind, each.text, each.terms, each.may_vary)
    if len(statements) > 1:
        may_vary = all(each.may_vary for each in statements)
        yield WHOLE, _Part(kind, " ".join(each.text for each in statements), every, may_vary)


def _hash(secret: bytes, what: bytes, *parts: str) -> int:
    message = "\x1f".join(parts).encode(errors="surrogatepass")
    return int.from_bytes(blake2b(message, digest_size=8, key=secret, person=what).digest(), signed=True)
