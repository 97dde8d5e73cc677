"""Carrying the change of a quotation over to the passage that was quoted, which says nearly the same.

The quotation is the base of the merge, the passage our side, the changed quotation theirs. What differs between the
first two is a slip and no change of anybody, so it may stand directly beside the change: all that has to be certain is
where in the passage the change belongs, and what it takes out there.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel

from memory_app.text.folding import fold
from memory_app.text.lines import STOPS
from memory_app.text.worddiff.compare import (
    Difference,
    coded,
    differences,
    is_word,
    joined_changes,
    matched,
    tokens,
    unchanged,
)

# -- tokens ---------------------------------------------------------------------------------------

#: The sign of a list item, which may be another one in a quotation; and "...", which may be one sign.
_SIGN = re.compile(r"(?:(?<=\n)|\A)([ \t]*)([-*+•][ \t]+)|\.{2,}")
_ITEM = "\n-"
_LINE_END = re.compile(r"\r?\n")


class _Token(NamedTuple):
    """A word, sign or white space; `key` is the same for all forms of it."""

    text: str
    key: str


def _cut(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    for sign in _SIGN.finditer(text):
        found += _pieces(text[at : sign.start()] + (sign[1] or ""))
        found.append(_Token(sign[2], _ITEM) if sign[2] else _token(sign[0]))
        at = sign.end()
    return [*found, *_pieces(text[at:])]


def _pieces(text: str) -> Iterator[_Token]:
    """Yield the tokens of a text. White space up to the end of a line is one: a line end is not taken for a space."""
    white = ""
    for piece in tokens(text):
        if white and not (piece.isspace() and "\n" in piece):
            yield _token(white)
            white = ""
        if piece.isspace():
            white += piece
        else:
            yield _token(piece)
    if white:
        yield _token(white)


def _token(text: str) -> _Token:
    return _Token(text, " " if text.isspace() else fold(text) or text)


def _is_other_case(one: str, other: str) -> bool:
    return one != other and one.casefold() == other.casefold()


# -- the form of the passage ----------------------------------------------------------------------

#: From a letter or digit to its full-width form.
_WIDE = 0xFEE0
_NORMAL: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


class _Form:
    """How the passage writes what the quotation writes otherwise: learnt from what is in both, for what is put in."""

    def __init__(self, pairs: Sequence[tuple[_Token, _Token]], line_end: str) -> None:
        seen: dict[str, set[str]] = {}
        for one, other in pairs:
            seen.setdefault(one.text, set()).add(other.text)
        changed = {one: min(others) for one, others in seen.items() if len(others) == 1 and others != {one}}
        breaks = [("\n" in one.text) == ("\n" in other.text) for one, other in pairs]
        self.is_wrapped_anew = not all(breaks)
        self._line_end = line_end
        self._texts: dict[str, str] = {}
        for said, written in changed.items():
            is_white = said in (" ", "\n", "\r\n") or said.count("\n") != written.count("\n")
            if not (is_white or _is_other_case(said, written)):
                self._texts[said] = written
        words = {one: other for one, other in changed.items() if not one.isspace()}
        self._normal: list[Literal["NFC", "NFD"]] = [
            form
            for form in _NORMAL
            if words and all(unicodedata.normalize(form, one) == other for one, other in words.items())
        ]
        chars = {pair for one, other in changed.items() for pair in zip(one, other, strict=False)}
        self._signs = {ord(one): other for one, other in chars if one in "'’" and other in "'’"}
        for kind in (str.isdigit, str.isalpha):
            if any(kind(one) and ord(other) - ord(one) == _WIDE for one, other in chars):
                self._signs |= {at: chr(at + _WIDE) for at in range(0x21, 0x7F) if kind(chr(at))}

    def __call__(self, text: str) -> str:
        text = _LINE_END.sub(self._line_end, self._texts.get(text) or text.translate(self._signs))
        for form in self._normal:
            text = unicodedata.normalize(form, text)
        return text


# -- carrying it over -----------------------------------------------------------------------------


class _Uncertain(Exception):
    """Where a change belongs, or what it is there."""


#: Words that may be replaced beside words that the quotation lacks: more are a sentence written anew.
_MOST_REPLACED = 4


def carried(base: str, ours: str, theirs: str, *, line_end: str = "\n") -> str | None:
    """Return `ours` with what `theirs` changed of `base`, and nothing else changed; None where that is not certain.

    Args:
        line_end: of what is put in.
    """
    try:
        head, base, ours, theirs = _without_edge(base, ours, theirs, _head)
        tail, base, ours, theirs = _without_edge(base, ours, theirs, _tail)
        cuts = _cuts(base, ours, theirs)
        result = "".join(_Carrying(*cuts, line_end).result())
    except _Uncertain:
        return None
    old, there, new = (Counter(each.key.strip() for each in cut if each.key != " ") for cut in cuts)
    is_twice = (old - there) & (old - new) or (there - old) & (new - old)
    is_prefix = theirs.count("\n") > base.count("\n") and (old - there) & (new - old)
    if is_twice or is_prefix:
        return None  # whether what the caller changed alike is the slip or the change
    words = (Counter(each.key for each in cut if is_word(each.text)) for cut in (*cuts, _cut(result)))
    old, there, new, made = words
    is_the_same = made - there == new - old and there - made <= old - new
    return f"{head}{result}{tail}" if is_the_same else None


def _head(text: str) -> slice:
    return slice(0, len(text) - len(text.lstrip()))


def _tail(text: str) -> slice:
    return slice(len(text.rstrip()), len(text))


def _without_edge(base: str, ours: str, theirs: str, edge: Callable[[str], slice]) -> tuple[str, str, str, str]:
    """Return the white space of ours at one end that stays, and the three without theirs.

    It stays where the base has more or fewer line ends. Raise _Uncertain where theirs has line ends of its own.
    """
    there = ours[edge(ours)]
    old, white, new = (_LINE_END.sub("\n", each[edge(each)]) for each in (base, ours, theirs))
    if white and (old.count("\n") == white.count("\n") or not theirs.strip()):
        return "", base, ours, theirs
    if white and new not in (old, white):
        raise _Uncertain
    base, ours, theirs = (each[: edge(each).start] + each[edge(each).stop :] for each in (base, ours, theirs))
    return there, base, ours, theirs


def corrects(base: str, ours: str, theirs: str) -> bool:
    """Whether `theirs` says what `ours` says wherever `base` does not, and something else besides."""
    cut, there, _ = _cuts(base.strip(), ours.strip(), theirs.strip())
    return [each.text for each in cut] == [each.text for each in there]


#: Slips that are looked at one by one. What has more is of one kind, and in both strings or in one.
_MOST_SLIPS = 60
#: No token has these codes.
_BEGIN, _END = "\U0010fffe", "\U0010ffff"


def _cuts(base: str, ours: str, theirs: str) -> tuple[list[_Token], list[_Token], list[_Token]]:
    """Return the tokens of the three, the base without the slips that theirs does not have.

    Such a slip is no change of the caller's. Theirs is as much nearer to the base without it as the slip is long.
    """
    old, there, new = _cut(base), _cut(ours), _cut(theirs)
    codes, those, wanted = coded(*([_LINE_END.sub("\n", each.text) for each in part] for part in (old, there, new)))
    slips = joined_changes(matched(codes, those))
    length = sum(slip.end - slip.start + slip.new_end - slip.new_start for slip in slips)
    distance = Indel.distance(codes, wanted)
    if slips and Indel.distance(those, wanted) == distance - length and len(slips) > _MOST_SLIPS:
        return there, there, new
    deleted = [change for change in joined_changes(matched(codes, wanted)) if change.new_start == change.new_end]
    wanted_whole = f"{_BEGIN}{wanted}{_END}"
    for slip in reversed(slips[:_MOST_SLIPS]):
        put_in = those[slip.new_start : slip.new_end]
        without = codes[: slip.start] + put_in + codes[slip.end :]
        nearer = distance - Indel.distance(without, wanted)
        words = there[slip.new_start : slip.new_end]
        if nearer != slip.end - slip.start + len(put_in) or _is_case_of_another(old, slip, words, new):
            continue
        # A space or a comma may be another one, of what the caller puts in beside it.
        ends = [at for at, each in enumerate(old) if is_word(each.text) or "\n" in each.text]
        before = max((at for at in ends if at < slip.start), default=-1)
        after = min((at for at in ends if at >= slip.end), default=len(old))
        around = f"{_BEGIN}{codes}"[before + 1 : slip.start + 1] + put_in + f"{codes}{_END}"[slip.end : after + 1]
        # What is not in the passage goes with what the caller takes out around it.
        is_deleted = not put_in and any(each.start <= slip.start and slip.end <= each.end for each in deleted)
        if is_deleted or around in wanted_whole or any(is_word(each.text) for each in words):
            codes, distance = without, distance - nearer
            old[slip.start : slip.end] = words
    return old, there, new


def _is_case_of_another(old: list[_Token], slip: Difference, words: list[_Token], new: list[_Token]) -> bool:
    """Whether the slip is the case of the first word, and another word is the first one of the new text."""
    first = next((each.text for each in new if is_word(each.text)), "")
    is_case = len(words) == 1 == slip.end - slip.start and _is_other_case(old[slip.start].text, words[0].text)
    return is_case and words[0].text != first and not any(is_word(each.text) for each in old[: slip.start])


class _Carrying:
    """One change, of `base` to `theirs`, on its way to `ours`."""

    def __init__(self, base: list[_Token], ours: list[_Token], theirs: list[_Token], line_end: str) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self.slips = matched(*coded([each.key for each in base], [each.key for each in ours]))
        self.match = dict(unchanged(self.slips, len(base)))
        pairs = [(base[at], ours[place]) for at, place in self.match.items()]
        self.form = _Form(pairs, line_end)
        self.cases = [at for at, place in self.match.items() if _is_other_case(base[at].text, ours[place].text)]
        self.changes = differences([each.text for each in base], [each.text for each in theirs])

    def result(self) -> Iterator[str]:
        """Yield the parts of ours with the change. Raise _Uncertain."""
        for change in self.changes:
            self._require_lines_alike(change)
        plain = [self.ours[self.match[at]].text if at in self.match else "" for at in range(len(self.base))]
        before = after = ""  # what stands around all that the base has
        for slip in self.slips:
            put_in = "".join(each.text for each in self.ours[slip.new_start : slip.new_end])
            kept = self._kept_at(slip)
            if kept is None:
                before, after = (before, put_in) if slip.start else (put_in, after)
            elif slip.start < slip.end or kept < slip.start:
                plain[kept] += put_in
            else:
                plain[kept] = put_in + plain[kept]
        yield before
        at = 0
        for change in self.changes:
            yield from plain[at : change.start]
            yield from self._written(change)
            at = change.end
        yield from (*plain[at:], after)

    def _kept_at(self, slip: Difference) -> int | None:
        """Return with which token of the base the passage's words of a slip go; None for those before and after all.

        It is one that stays, so that they stay. Raise _Uncertain where the slip and a change cannot be told apart.
        """
        taken: set[int] = set()
        for change in self.changes:
            is_near = change.start <= slip.end and slip.start <= change.end
            if is_near or self._is_beside(change, slip):
                self._require_apart(change, slip)
            if is_near:
                taken |= {*range(change.start, change.end)}
        if slip.start < slip.end:
            return slip.start
        for place in (slip.start - 1, slip.start):
            if 0 <= place < len(self.base) and place not in taken:
                return place
        if 0 < slip.start < len(self.base):
            raise _Uncertain
        return None

    def _require_lines_alike(self, change: Difference) -> None:
        """Raise _Uncertain for new lines, where lines of ours have other signs before or after them than the base."""
        new = self.theirs[change.new_start : change.new_end]
        if not any("\n" in each.text for each in new):
            return
        for slip in self.slips:
            is_first = slip.start == 0 or "\n" in self.base[slip.start - 1].text
            is_last = slip.end == len(self.base) or "\n" in self.base[slip.end].text
            lost = _signs(self.ours[slip.new_start : slip.new_end])
            added = _signs(self.base[slip.start : slip.end])
            if (is_first and (lost or added & _signs(new))) or (is_last and "|" in lost | added):
                raise _Uncertain

    def _is_beside(self, change: Difference, slip: Difference) -> bool:
        """Whether only white space is between a change and a slip of words."""
        between = self.base[change.end : slip.start] or self.base[slip.end : change.start]
        return all(each.key == " " for each in between) and any(each.key != " " for each in self._tokens_of(slip))

    def _tokens_of(self, slip: Difference) -> list[_Token]:
        """Return what the base has and ours has not, and what ours has instead."""
        return [*self.base[slip.start : slip.end], *self.ours[slip.new_start : slip.new_end]]

    def _require_apart(self, change: Difference, slip: Difference) -> None:
        """Raise _Uncertain where a change and a slip that touch may be about the same."""
        old, new = self.base[change.start : change.end], self.theirs[change.new_start : change.new_end]
        here = self._tokens_of(slip)
        is_inside = change.start < slip.end and slip.start < change.end
        if is_inside and not new and slip.new_start == slip.new_end and slip.end <= change.end:
            return  # it takes out what is not there
        is_shared = {each.key for each in here} & {each.key for each in (*old, *new)} - {" "}
        is_rewrite = sum(is_word(each.text) for each in old) > _MOST_REPLACED and any(
            is_word(each.text) for each in here
        )
        facing = slice(1) if slip.end <= change.start else slice(-1, None)
        edges = [each.key == " " for side in (old, new) for each in side[facing]]
        is_white = any(each.key == " " for each in here) and edges == [False, True]
        if is_inside or not old or not new or is_shared or is_white or is_rewrite:
            raise _Uncertain

    def _written(self, change: Difference) -> list[str]:
        """Return what a change puts in, in the form of ours."""
        old, new = self.base[change.start : change.end], self.theirs[change.new_start : change.new_end]
        there = [self.ours[self.match[at]] if at in self.match else old[0] for at in range(change.start, change.end)]
        if all(each.key == " " for each in (*old, *new)):
            return self._spaced(old, there, new)
        texts = [self.form(each.text) for each in new]
        as_ours = {each.text for each in there}
        if self.cases and any(text.lower() != text.upper() and text not in as_ours for text in texts):
            self._as_cased(change, old, there, texts)
        if sum(is_word(each.text) for each in old) > _MOST_REPLACED:
            return texts
        kept = matched(*coded([each.text for each in old], [each.text for each in new]))
        for at, number in unchanged(kept, len(old)):
            texts[number] = there[at].text
        return texts

    def _spaced(self, old: list[_Token], there: list[_Token], new: list[_Token]) -> list[str]:
        """Return white space that took the place of other white space."""
        ours = [each.text for each in there]
        if self.form.is_wrapped_anew:
            return ours  # lines are wrapped elsewhere
        is_ours = [each.text.replace("\r\n", "\n") for each in old] == [each.replace("\r\n", "\n") for each in ours]
        if not is_ours and [self.form(each.text) for each in new] != ours:
            raise _Uncertain
        return [self.form(each.text) for each in new]

    def _as_cased(self, change: Difference, old: list[_Token], there: list[_Token], texts: list[str]) -> None:
        """Give new words the case of those they replace. Raise _Uncertain where they may be of another case."""
        if len(old) == len(texts) and sum(is_word(each.text) for each in old) <= _MOST_REPLACED:
            for number, (one, other) in enumerate(zip(old, there, strict=True)):
                texts[number] = _cased_as(texts[number], one.text, other.text)
            return
        first = self.cases[0]
        is_first = _begins(self.theirs, change.new_start) or change.start <= first <= change.end + 1
        was, now = self.base[first].text, self.ours[self.match[first]].text
        if len(self.cases) > 1 or (is_first and (_begins(self.base, first) or was[1:] != now[1:])):
            raise _Uncertain


def _signs(text: Sequence[_Token]) -> set[str]:
    return {each.text.strip() for each in text if each.key != " " and not is_word(each.text)}


def _begins(text: Sequence[_Token], at: int) -> bool:
    """Whether a sentence or an item begins there."""
    before = (each for each in reversed(text[:at]) if is_word(each.text) or each.key == _ITEM or each.text in STOPS)
    return not is_word(next(before, _Token(".", ".")).text)


def _cased_as(word: str, one: str, other: str) -> str:
    """Return a word with what `other` has of case where `one` has another: "keeps" for "holds" and "Holds"."""
    if word != other and _is_other_case(one, word):
        raise _Uncertain  # whether that is the change
    if word == other or not _is_other_case(one, other) or word.lower() == word.upper():
        return word
    if one[1:] != other[1:] or word[0].isupper() != one[0].isupper():
        raise _Uncertain
    return (word[0].upper() if other[0].isupper() else word[0].lower()) + word[1:]
