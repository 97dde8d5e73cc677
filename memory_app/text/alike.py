"""Whether two changes are about the same matter, or even say the same.

The same matter is a guess from their words, for linking a second try to the first (`matters`). The same statement is
decided by rules (`terms`, `statements`), and recognised by keyed hashes without its text (`fingerprints`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from memory_app.text.sentences import key, sentences
from memory_app.text.stems import DEGREES, PAST_FORMS, folded, stems
from memory_app.text.worddiff import Segment

# -- What a statement says, as a set of terms: equal for small rewordings, and different as soon as the meaning may
# be.

#: Words without which a statement says the same.
_EMPTY = frozenset(
    """
    a an the this that these those there here i me my mine myself we us our ours you your yours he him his himself she
    her hers herself it its itself they them their theirs themselves user student learner is am are be been being do
    does has have having and also too but of in on at for with by about as to into so such then which who whom
    whose what where when how very really quite just actually currently now still rather lot lots much s re ve m d ll
    der die das den dem des ein eine einen einem einer und ist sind hat haben sehr auch er sie es im am zu mit von
    el la los las un una unos unas y es son de del en con muy tambien le les du et est sont tres il elle
    """.split()
)
#: Words that turn round or direct what follows: each is bound to the next word that counts.
_BINDING = frozenset(
    """
    no not never without nor neither nothing nobody none nowhere cannot from before after until till since under over
    above below against except unless than nicht kein keine keinen keiner nie niemals ohne vor nach bis seit
    nunca sin ni antes despues hasta desde ne pas jamais sans avant apres jusque depuis
    """.split()
)
#: Words that a statement may not gain or lose, though they stand by themselves: number, degree, time and possibility.
_WEIGHTY = frozenset(
    """
    was were had did will would shall should can could may might must only all every each some any many most more few
    fewer less least several both half always sometimes often rarely seldom usually hardly almost former formerly ex
    yet already no-longer stop quit if or off out up down fake false true maybe perhaps probably possibly allegedly
    better best worse worst nur alle manchmal immer selten oft ehemalig war waren wird solo siempre veces era fue
    """.split()
)
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}

# Scripts whose words hang together: one term for each character. Thai to Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED += "\U00020000-\U0003134f"
#: What says nothing in them: particles, polite endings, "very".
_EMPTY_UNSPACED = re.compile(
    "非常|十分|真的|とても|すごく|本当に|정말|아주|매우|(?:です|ます|である|だ)(?=[^\\w]|$)|입니다(?=[^\\w]|$)|[的了吗呢吧很也はがをにもと은는이가을를]"
)
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_NEGATED_UNSPACED = "不没沒無无未别勿否안못"
_NUMERALS_UNSPACED = "〇零一二三四五六七八九十百千万萬億两兩半每毎全只"

_NEGATED = re.compile(r"\b(?:(ca|wo|sha)n't|(\w+)n't|cannot)\b")
_FULL = {"ca": "can not", "wo": "will not", "sha": "shall not"}
_NO_LONGER = re.compile(r"\b(?:no longer|not any ?more|no more)\b")
_ENGLISH_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_BOX = re.compile(r"(?:(?:[-*+•]|\d{1,9}[.)])\s*)?\[([ xX])\]")
_PIECE = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}])"
    r"|(?P<number>(?:(?<![\w.,)])[-−])?\d+(?:[.,:/]\d+)*+)"
    rf"|(?P<word>(?:(?![{_UNSPACED}])[^\W\d_])++(?:\+\+|\#(?!\w))?)"
    r"|(?P<struck>~~)"
    r"|(?P<sign>[<>≤≥≠±](?=\s*\d)|[%‰$€£¥₹₩°\u2600-\u27bf\U0001f000-\U0001faff])"
)


def terms(statement: str) -> frozenset[str]:
    """Return the terms of a statement; of one that has none, its characters without white space.

    Args:
        statement: one sentence, item or heading, or a whole text.
    """
    statement = statement.lstrip()
    box = _BOX.match(statement)
    said = key(statement[box.end() :] if box else statement)
    text = _ENGLISH_ORDINAL.sub("", _THOUSANDS.sub("", folded(said)))
    text = _NO_LONGER.sub(" no longer ", _NEGATED.sub(_written_out, text))
    counted = _with_bound(_pieces(text))
    if box:
        counted.add("[x]" if box[1] != " " else "[ ]")
    return frozenset(counted or {"".join(statement.split())} - {""})


def may_be_added(term: str) -> bool:
    """Whether a statement that gains or loses this term is taken for the same, if it has several others."""
    if term in _WEIGHTY or "+" in term[1:-1] or term[-1] in "<~":
        return False
    if len(term) == 1:
        return bool(_UNSPACED_LETTER.match(term)) and term not in _NUMERALS_UNSPACED
    return not any(char.isdigit() for char in term) and term[0].isalnum()


def _written_out(found: re.Match[str]) -> str:
    if found[1]:
        return _FULL[found[1]]
    return f"{found[2]} not" if found[2] else "can not"


def _pieces(text: str) -> list[str]:
    """Return the terms in the order of the text, before any is bound."""
    words: list[str] = []
    found = [(match.lastgroup or "", match[0]) for match in _PIECE.finditer(_EMPTY_UNSPACED.sub(" ", text))]
    plain = [word for kind, word in found if kind == "word"]
    stemmed = dict(zip(plain, stems(plain), strict=True))
    for kind, piece in found:
        if kind == "word":
            if piece not in _EMPTY:
                words.append(_term(piece, stemmed[piece]))
        else:
            words.append(piece.replace("−", "-").lstrip("0") or "0" if kind == "number" else piece)
    return words


def _term(word: str, stem: str) -> str:
    """Return the term of a word: what was is another statement than what is, so the past keeps a mark."""
    if word in _BINDING or word in _WEIGHTY or word in DEGREES:
        return word
    if word in _NUMBERS:
        return _NUMBERS[word]
    is_past = word in PAST_FORMS or (word.endswith("ed") and not stem.endswith("ed"))
    return f"{stem}<" if is_past else stem


def _with_bound(words: list[str]) -> set[str]:
    """Return the terms, with each binding word together with the next one that counts."""
    counted: set[str] = set()
    bound = ""
    for word in words:
        if word in _BINDING or (len(word) == 1 and word in _NEGATED_UNSPACED):
            bound += f"{word}+"
            continue
        counted.add(bound + word)
        bound = ""
    if bound:
        counted.add(bound)
    numbers = [word for word in words if word.lstrip("-")[:1].isdigit()]
    if len(numbers) > 1:  # 2 cats and 3 dogs are not 3 cats and 2 dogs
        counted.add(" ".join(numbers))
    return counted


# -- The statements that a change adds to a text and removes from it, wherever they stand.

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


# -- Whether two changes are about the same matter: a guess from their words, for linking a second try to the first.

#: Share of the added words that both have in common, from which they are alike.
_ALIKE = 0.4
#: Words shorter than this are in every sentence.
_SHORT = 4
#: With fewer words than this in common, nothing is alike.
_FEW = 2


def are_alike(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    """Whether two changes touch the same lines of their texts before, or add much the same words.

    Args:
        one, other: the word-level differences.
    """
    if touched_lines(one) & touched_lines(other):
        return True
    return say_the_same(_added(one), _added(other))


def touched_lines(segments: Iterable[Segment]) -> frozenset[str]:
    """Return the lines of the text before in which something was removed, replaced or put in."""
    touched: set[str] = set()
    line, is_touched = "", False
    for segment in segments:
        if segment.kind == "added":
            # Whole lines put in between two others touch neither: the next entry of a log is about nothing before it.
            is_inside = bool(line.strip()) or not segment.text.endswith("\n")
            is_touched |= is_inside and segment.text[0] not in "\r\n"
            continue
        first, *others = segment.text.split("\n")
        line += first
        is_touched |= segment.kind == "removed" and bool(first.strip())
        for text in others:
            if is_touched:
                touched.add(line.strip())
            line, is_touched = text, segment.kind == "removed" and bool(text.strip())
    if is_touched:
        touched.add(line.strip())
    return frozenset(touched - {""})


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts have much of their longer words in common."""
    words, others = _words(one), _words(other)
    both = words & others
    return len(both) >= _FEW and len(both) >= _ALIKE * min(len(words), len(others))


def _added(segments: Iterable[Segment]) -> str:
    return " ".join(segment.text for segment in segments if segment.kind == "added")


def _words(text: str) -> frozenset[str]:
    stripped = (word.strip(".,;:!?()[]“”„‘’\"'*_#|`") for word in text.casefold().split())
    return frozenset(word for word in stripped if len(word) >= _SHORT)


# -- Fingerprints of what a change says: keyed hashes by which the same is recognised after its text is gone.

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
            for asked_key in part.keys_to_ask(secret, few=few):
                asked.setdefault(asked_key, part.text if part.terms is not None else "")
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
