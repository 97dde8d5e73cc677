"""Whether two changes say the same, and whether they are about the same matter.

The same is decided by words alone, whatever stands around them, and recognised by a keyed hash after the text is gone.
The same matter is a guess from common words, for linking a second try to the first.

Which notes say the same is decided more strictly (`said_by`): of two that do, only one is kept.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from memory_app.text.lines import common
from memory_app.text.sentences import key, sentences
from memory_app.text.stems import folded
from memory_app.text.worddiff import Segment

#: Share of the added words that both have in common, from which they are alike.
_ALIKE = 0.4
#: Words shorter than this are in every sentence.
_SHORT = 4
#: With fewer words than this in common, nothing is alike.
_FEW = 2
#: What may stand at the edges of a word without changing what it says; 5°, C++ and -3 keep theirs.
_EDGES = ".,;:!?…()[]{}“”„‘’\"'«»*_`|"
#: The same of a note, at the beginning and at the end of a word: .5, != and "Vegetarian?" keep their signs.
_OPENING, _CLOSING = "(){}[]“”„‘«»…:;¿¡「『", ".,;:!…(){}[]“”„‘«»。」』।"
#: At both ends only where it opens and closes something: f' and A* are not f and A.
_PAIRED = "\"'*_`|"
_PAIRED_SIGNS = frozenset(_PAIRED)
#: Full-width forms as plain ones, and what is typed for typographic signs.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | str.maketrans("’–—、؟", "'--,?")
_ITEM = re.compile(r"^[ \t]{0,8}[-*+•][ \t]", re.MULTILINE)
# Thai to Myanmar, Khmer, hiragana and Han. Katakana makes words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff"
_PIECE = re.compile(f"[{_UNSPACED}]|[^{_UNSPACED}]+")
_UNSPACED_WORD = re.compile(f"[{_UNSPACED}]")
#: Shorter statements differ by a word in everything they say; longer ones are worded anew rather than by a word.
_SHORTEST_NEAR, _LONGEST_NEAR = 3, 60
#: The same in characters of scripts without spaces, whose words are of one or two.
_SHORTEST_UNSPACED, _WORD_UNSPACED = 5, 2
#: Statements of so many words at most are looked up by all of their forms.
_FEW_WORDS = 6


class Said(NamedTuple):
    """What a change says.

    Args:
        words: its target and its words, normalised: equal where the same is said again.
        passages: the sentences it adds, as they are written.
    """

    words: str
    passages: tuple[str, ...] = ()


def said(target: str, before: str, after: str) -> Said:
    """Return what a change of a text says: the sentences it adds, wherever they stand, or else those it removes.

    Args:
        target: the label of a block, the id of a note; empty for a new note, whose id is another one each time.
    """
    old, new = (Counter(filter(None, map(key, sentences(text)))) for text in _where_they_differ(before, after))
    added = tuple((new - old).elements())
    removed = tuple((old - new).elements())
    if added or removed:
        words = sorted(" ".join(_normalised(sentence)) for sentence in added or removed)
        return Said("\x1f".join((target, "adds" if added else "removes", *words)), added)
    # It only moves or formats.
    return Said("\x1f".join((target, "becomes", *after.split())))


def fingerprint(words: str, secret: bytes) -> int:
    """Return the keyed hash of words, of 64 bits.

    Args:
        secret: the key, of 16 to 64 bytes.
    """
    digest = blake2b(words.encode(errors="surrogatepass"), digest_size=8, key=secret).digest()
    return int.from_bytes(digest, signed=True)


def words_of(text: str) -> str:
    """Return the words of a text in their order, without case, accents and punctuation."""
    return " ".join(_normalised(text))


def said_by(text: str) -> str:
    """Return what a note says: equal for two that say the same.

    Case, white space, the punctuation around words and the form of Unicode do not count. Accents do, and so do the
    signs of C++, -3 and .5: "schon" and "schön" are two words, and of two notes that say the same only one is kept.
    In scripts without spaces each character is a word.
    """
    is_ascii = text.isascii()
    if not is_ascii:
        text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    words = _ITEM.sub("", text.lower()).split()
    paired = ""
    if not _PAIRED_SIGNS.isdisjoint(text):
        inked = [each for each in words if each.strip(_OPENING + _CLOSING + _PAIRED)]
        opening = "".join(each[: len(each) - len(each.lstrip(_OPENING + _PAIRED))] for each in inked)
        closing = "".join(each[len(each.rstrip(_CLOSING + _PAIRED)) :] for each in inked)
        paired = "".join(_PAIRED_SIGNS.intersection(opening).intersection(closing))
    words = [each.lstrip(_OPENING + paired).rstrip(_CLOSING + paired) for each in words]
    if not is_ascii:
        words = [piece for each in words for piece in _PIECE.findall(each)]
    return " ".join(filter(None, words)) or " ".join(text.split())


def near_forms(said: str) -> frozenset[str]:
    """Return what is left of a statement without each of its words in turn, and itself.

    Two statements that have one of these in common differ in one word, which is put in, left out or another one.

    Args:
        said: as `said_by` returns it; none are returned where it is too short or too long to be near another.
    """
    words = said.split(" ")
    least, longest = _length_of_a_word(said, len(words))
    lengths = range(1, min(longest, len(words) - least) + 1)
    cut = (" ".join(words[:at] + words[at + by :]) for by in lengths for at in range(len(words) - by + 1))
    return frozenset([said, *cut] if longest else ())


def _length_of_a_word(said: str, words: int) -> tuple[int, int]:
    """Return how many words a statement has at least that is near another, and how many of them may make up a word of
    it; (0, 0) where it is too short or too long."""
    is_unspaced = not said.isascii() and _UNSPACED_WORD.search(said)
    least, longest = (_SHORTEST_UNSPACED, _WORD_UNSPACED) if is_unspaced else (_SHORTEST_NEAR, 1)
    return (least, longest) if least <= words <= _LONGEST_NEAR else (0, 0)


def near_keys(said: str, *, is_sought: bool = False) -> Iterator[str]:
    """Yield the keys of an index of statements: two that differ in one word have at least one of them in common.

    Of short ones they are the forms: thousands of notes begin "the user likes". Of longer ones they are the halves.

    Args:
        is_sought: for looking up what is near; without it, for putting the statement into the index.
    """
    words = said.split(" ")
    if not any(_length_of_a_word(said, len(words))):
        return
    other = _WORD_UNSPACED if is_sought else 0
    if len(words) - other <= _FEW_WORDS:
        yield from (f"\n{form}" for form in near_forms(said))
    for number in range(max(len(words) - other, _FEW_WORDS + 1), len(words) + other + 1):
        half = (number - 1) // 2  # what differs may be two words in the middle
        yield f"\n{number} {' '.join(words[:half])}"
        yield f"\n{number} {' '.join(words[-half:])}"


def _normalised(text: str) -> Iterable[str]:
    # A sentence of nothing but signs is these signs.
    return [word for each in folded(text).split() if (word := each.strip(_EDGES))] or text.split()


def _where_they_differ(before: str, after: str) -> tuple[str, str]:
    """Return both texts without the paragraphs that they begin and end with alike."""
    old, new = before.split("\n"), after.split("\n")
    head, tail = common(old, new)
    while head and old[head - 1].strip():
        head -= 1
    while tail and old[len(old) - tail].strip():
        tail -= 1
    return "\n".join(old[head : len(old) - tail]), "\n".join(new[head : len(new) - tail])


def are_alike(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    """Whether two changes touch the same lines of their texts before, or add much the same words.

    Args:
        one, other: the word-level differences.
    """
    if touched_lines(one) & touched_lines(other):
        return True
    return have_much_in_common(*(" ".join(each.text for each in of if each.kind == "added") for of in (one, other)))


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


def have_much_in_common(one: str, other: str) -> bool:
    """Whether two texts have much of their longer words in common."""
    words, others = (frozenset(word for word in _normalised(text) if len(word) >= _SHORT) for text in (one, other))
    both = words & others
    return len(both) >= _FEW and len(both) >= _ALIKE * min(len(words), len(others))
