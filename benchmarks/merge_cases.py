"""Made-up cases for merging whose right result is known: two people change one list of units, each in some places.

A unit is a sentence, an item, a row or a section. Each person edits, rewrites, takes out or moves units of their own,
or puts one in after them. In a third of the cases both also do something to one unit that cannot be had together.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

Text = Callable[[random.Random], str]
Layout = Callable[[Sequence[str]], str]

_CJK = "我你他们在上海北京工作学习每天早上喝绿茶晚看书听音乐喜欢旅行猫狗花园房子校老师医生公司新年春夏秋冬气很好"
_THAI = "กขคงจชซญดตถทธนบปผพภมยรลวศสหอ"
_ARABIC = (
    "ذهب الولد إلى المدرسة في الصباح وقرأ كتابا جديدا عن تاريخ المدينة القديمة مع أصدقائه ثم عاد بيته مساء".split()
)
_MARKED = ("e\u0301", "i\u0308", "n\u0303", "ह", "िन्", "दी", "क", "ा", "o\u0302", "s", "t", "👩‍👩‍👧")


class MergeCase(NamedTuple):
    """Three texts and what a merge of them should be; None where it should be a conflict."""

    base: str
    ours: str
    theirs: str
    expected: str | None


class Language(NamedTuple):
    """How units are made up, and changed in a word."""

    unit: Text
    edited: Callable[[random.Random, str], str]


class _Side(NamedTuple):
    """What one person did: by unit what it became (None: taken out), what was put in after it, and where it went."""

    became: dict[int, str | None]
    put_in: dict[int, str]
    moved: dict[int, int]


def cases(kind: str, pool: Sequence[str], chance: random.Random) -> MergeCase:
    """Return one case of a kind; `pool` is sentences to make texts of."""
    language, layout, moves = KINDS[kind]
    return _case(chance, language(pool), layout, moves=moves)


def _case(chance: random.Random, language: Language, layout: Layout, *, moves: bool) -> MergeCase:
    while True:
        units = [language.unit(chance) for _ in range(chance.randint(8, 16) if moves else chance.randint(3, 14))]
        free = list(range(len(units)))
        chance.shuffle(free)
        ours, theirs = (_Side({}, {}, {}) for _ in range(2))
        clash = chance.random() < 1 / 3
        if moves:
            at, to = free.pop(), chance.randrange(len(units))
            if to in (at, at - 1):
                continue
            ours.moved[at] = to
            # Beside a move neither place is the same for both.
            near = {at - 1, at, at + 1, to, to + 1}
            free = [each for each in free if each not in near]
            if clash and chance.random() < 0.5:
                theirs.became[at] = None
            elif clash:
                others = [each for each in range(len(units)) if each not in (at, at - 1, to)]
                theirs.moved[at] = chance.choice(others)
        elif clash:
            _contradict(chance, language, units, (ours, theirs), free.pop())
        for side in (ours, theirs):
            for at in [free.pop() for _ in range(min(chance.randint(1, 3), len(free)))]:
                _change(chance, language, units, side, at)
        new = [text for side in (ours, theirs) for text in (*side.became.values(), *side.put_in.values()) if text]
        if len({*units, *new}) < len(units) + len(new) or not _made(units, [ours, theirs]):
            continue  # which of two equal ones is meant cannot be told
        sides = [ours, theirs] if chance.random() < 0.5 else [theirs, ours]
        chosen: tuple[list[_Side], ...] = ([], sides[:1], sides[1:], sides)
        base, our_text, their_text, both = (layout(_made(units, each)) for each in chosen)
        if len({base, our_text, their_text}) == 3:
            return MergeCase(base, our_text, their_text, None if clash else both)


def _change(chance: random.Random, language: Language, units: Sequence[str], side: _Side, at: int) -> None:
    what = chance.random()
    if what < 0.5:
        side.became[at] = language.edited(chance, units[at])
    elif what < 0.65:
        side.became[at] = language.unit(chance)
    elif what < 0.8:
        side.became[at] = None
    else:
        side.put_in[at] = language.unit(chance)


def _contradict(
    chance: random.Random, language: Language, units: Sequence[str], sides: tuple[_Side, _Side], at: int
) -> None:
    what = chance.randrange(3)
    for number, side in enumerate(sides):
        if what == 0:
            side.put_in[at] = language.unit(chance)
        elif what == 1:
            side.became[at] = language.edited(chance, units[at]) if number else None
        else:
            side.became[at] = language.edited(chance, units[at]) if number else language.unit(chance)


def _made(units: Sequence[str], sides: Sequence[_Side]) -> list[str]:
    """Return the units with the changes of some sides; what they contradict each other in is of no matter."""
    moved = {at: to for side in sides for at, to in side.moved.items()}
    became = {at: text for side in sides for at, text in side.became.items()}
    made = []
    for at, unit in enumerate(units):
        made += [] if at in moved else [became.get(at, unit)]
        made += [side.put_in[at] for side in sides if at in side.put_in]
        made += [became.get(origin, units[origin]) for origin, to in moved.items() if to == at]
    return [each for each in made if each is not None]


# -- languages ---------------------------------------------------------------------------------------


def _of_sentences(pool: Sequence[str]) -> Language:
    return Language(lambda chance: chance.choice(pool), _another_word)


def _of_letters(letters: Sequence[str]) -> Callable[[Sequence[str]], Language]:
    """Return sentences of words that are made of the letters."""

    def unit(chance: random.Random) -> str:
        words = ("".join(chance.choices(letters, k=chance.randint(2, 7))) for _ in range(chance.randint(4, 12)))
        return " ".join(words) + "."

    return lambda pool: Language(unit, _another_word)


def _of_signs(signs: str, *, ends: str) -> Callable[[Sequence[str]], Language]:
    def unit(chance: random.Random) -> str:
        return "".join(chance.choices(signs, k=chance.randint(8, 30))) + chance.choice(ends or " ").strip()

    def edited(chance: random.Random, text: str) -> str:
        at = chance.randrange(1, len(text) - 2)
        return text[:at] + "鸡鸭鱼"[at % 3] + text[at + 1 :]

    return lambda pool: Language(unit, edited)


def _of_items(pool: Sequence[str]) -> Language:
    words = sorted({word for each in pool for word in each.split() if word.isalpha() and len(word) > 3})

    def unit(chance: random.Random) -> str:
        return " ".join(chance.choices(words, k=chance.randint(2, 7)))

    return Language(unit, _another_word)


def _another_word(chance: random.Random, text: str) -> str:
    words = text.split(" ")
    at = chance.randrange(1, max(len(words) - 1, 2))
    words[at] = "".join(chance.choices("abcdefghijklmnop", k=6))
    return " ".join(words)


# -- layouts -----------------------------------------------------------------------------------------


def _paragraph(joint: str) -> Layout:
    return lambda units: joint.join(units) + "\n"


def _items(units: Sequence[str]) -> str:
    return "# List\n\n" + "".join(f"- {each}\n" for each in units)


def _steps(units: Sequence[str]) -> str:
    return "# Steps\n\n" + "".join(f"{number}. {each}\n" for number, each in enumerate(units, 1)) + "\nThat is all.\n"


def _nested(units: Sequence[str]) -> str:
    return "- All\n" + "".join("  " * (1 + len(each) % 3) + f"- {each}\n" for each in units)


def _rows(units: Sequence[str]) -> str:
    return "| what | when |\n|---|---|\n" + "".join(f"| {each.replace('|', '/')} | today |\n" for each in units)


def _sections(units: Sequence[str]) -> str:
    return "\n".join(f"## {' '.join(each.split()[:3])}\n\n{each}\n" for each in units)


def _windows(units: Sequence[str]) -> str:
    return "\r\n\r\n".join(units)  # and no line end at the end


KINDS: dict[str, tuple[Callable[[Sequence[str]], Language], Layout, bool]] = {
    "sentences": (_of_sentences, _paragraph(" "), False),
    "paragraphs, CRLF": (_of_sentences, _windows, False),
    "items": (_of_items, _items, False),
    "numbered items": (_of_items, _steps, False),
    "nested items": (_of_items, _nested, False),
    "rows": (_of_items, _rows, False),
    "sections": (_of_sentences, _sections, False),
    "Chinese": (_of_signs(_CJK, ends="。！"), _paragraph(""), False),
    "Thai": (_of_signs(_THAI, ends=""), _items, False),
    "Arabic": (_of_letters(_ARABIC), _paragraph(" "), False),
    "accents, emoji": (_of_letters(_MARKED), _paragraph(" "), False),
    "moved sentences": (_of_sentences, _paragraph(" "), True),
    "moved items": (_of_items, _steps, True),
    "moved sections": (_of_sentences, _sections, True),
}
