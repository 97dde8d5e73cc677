"""The call that is offered for a misquoted edit: whether making it writes the change that was meant, and nothing else.

`python -m benchmarks.repairs [FILE…]` makes edits with one intended change in Markdown texts (or in the files given),
misquotes both of their strings alike, makes the call that is offered, and compares the text that comes out with the
text in which only that change is made. It prints for each kind of slip how often a call is offered, how often it is
exactly right, and how often words or bytes come out otherwise that were to stay; `--pairs` makes two slips at once.
"""

import argparse
import json
import random
import re
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.repair_texts import TEXTS
from memory_app.text.edits import Replace, apply
from memory_app.text.repairs import repair

TITLE = "What we know"
#: Edits of each kind of slip in each text.
_EDITS = 12
#: Characters beside the change in which white space may come out otherwise without damage.
_BESIDE = 3
_MARK = "[\u0300-\u036f]"


class IntendedEdit(NamedTuple):
    """A passage `text[start:end]`, and what it is to become."""

    start: int
    end: int
    passage: str
    becomes: str


@dataclass
class Count:
    """What came of the edits with one kind of slip."""

    made: int = 0
    offered: int = 0
    right: int = 0
    beside: int = 0
    damaged: int = 0


Slip = Callable[[str, random.Random], Callable[[str], str] | None]
"""Returns how a passage is misquoted, alike before and after the change; None where it has nothing to misquote."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pairs", action="store_true", help="two slips at once")
    parser.add_argument("--show", type=int, default=0, help="print so many edits that went wrong")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = {path.name: path.read_text("utf-8") for path in options.files} or TEXTS
    slips = dict(_pairs()) if options.pairs else SLIPS
    counts, slowest = measured(texts, slips, seed=options.seed, show=options.show)
    print(f"{len(texts)} texts, {sum(map(len, texts.values())):,} characters; slowest answer {slowest * 1000:.0f} ms")
    print(f"{'slip':28}{'edits':>7}{'offered':>9}{'right':>8}{'beside':>8}{'damaged':>9}")
    whole = Count()
    for name, count in counts.items():
        print(_row(name, count))
        for field in vars(whole):
            setattr(whole, field, getattr(whole, field) + getattr(count, field))
    print(_row("all", whole))
    print(f"offered {whole.offered / whole.made:.1%}, exactly right of those {whole.right / max(whole.offered, 1):.1%}")


def _row(name: str, count: Count) -> str:
    return f"{name:28}{count.made:7}{count.offered:9}{count.right:8}{count.beside:8}{count.damaged:9}"


def measured(
    texts: dict[str, str], slips: dict[str, Slip], *, seed: int, edits: int = _EDITS, show: int = 0
) -> tuple[dict[str, Count], float]:
    """Return what came of the edits by slip, and the seconds the slowest answer took."""
    counts: dict[str, Count] = {}
    slowest = 0.0
    for slip_name, slip in slips.items():
        count = counts[slip_name] = Count()
        for text_name, text in texts.items():
            chance = random.Random(f"{seed} {slip_name} {text_name}")
            for edit, wanted in _misquoted(text, slip, chance, edits):
                expected = text[: edit.start] + edit.becomes + text[edit.end :]
                began = time.perf_counter()
                result = written(text, wanted)
                slowest = max(slowest, time.perf_counter() - began)
                count.made += 1
                if result is None:
                    verdict = "not offered"
                else:
                    count.offered += 1
                    verdict = judged(result, expected, edit)
                    setattr(count, verdict, getattr(count, verdict) + 1)
                if show and verdict != "right":
                    show -= 1
                    print(f"-- {verdict}: {slip_name}, {text_name}\n{wanted.old_string!r}\n{wanted.new_string!r}")
                    print(f"{edit.passage!r}\n{edit.becomes!r}")
                    if result is not None:
                        print(repr(result[max(edit.start - 20, 0) : edit.end + 40]))
    return counts, slowest


def written(text: str, wanted: Replace) -> str | None:
    """Return the text that the offered call makes; None where no call is offered."""
    found = repair(text, wanted, heading=TITLE)
    return apply(text, [found.edit]).text if found.edit else None


def judged(result: str, expected: str, edit: IntendedEdit) -> str:
    """Return whether a text is `right`, differs `beside` the change in white space alone, or is `damaged`."""
    if result == expected:
        return "right"
    ends = min(len(result), len(expected))
    same = next((at for at in range(ends) if result[at] != expected[at]), ends)
    same_end = next((at for at in range(ends - same) if result[-1 - at] != expected[-1 - at]), ends - same)
    first = next((at for at, pair in enumerate(zip(edit.passage, edit.becomes, strict=False)) if len({*pair}) > 1), 0)
    is_beside = edit.start + first - _BESIDE <= same <= edit.start + len(edit.becomes) + _BESIDE
    is_white = result[same : len(result) - same_end].strip() == expected[same : len(expected) - same_end].strip()
    return "beside" if is_beside and is_white else "damaged"


# -- edits ----------------------------------------------------------------------------------------


def _misquoted(text: str, slip: Slip, chance: random.Random, count: int) -> list[tuple[IntendedEdit, Replace]]:
    found: list[tuple[IntendedEdit, Replace]] = []
    for _ in range(60 * count):
        if len(found) == count:
            break
        edit = _edit(text, chance)
        if not edit:
            continue
        try:
            misquote = slip(edit.passage, chance)
            if not misquote:
                continue
            old, new = misquote(edit.passage), misquote(edit.becomes)
        except LookupError:  # the change took the word that is misquoted
            continue
        if old not in (new, edit.passage) and old not in text and old.strip():
            found.append((edit, Replace(old, new)))
    return found


def _edit(text: str, chance: random.Random) -> IntendedEdit | None:
    """Return a passage that is there once, of whole lines or from word to word, and one change of it."""
    starts = [match.start() for match in re.finditer(r"^(?=.*\S)", text, re.MULTILINE)]
    start = end = chance.choice(starts)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        found = re.compile(r"\r?\n").search(text, end + 1)
        end = found.start() if found else len(text)
    if chance.random() < 0.4 and "\n" not in text[start:end]:
        words = [match.span() for match in re.finditer(rf"(?:\w{_MARK}*)+", text[start:end])]
        if len(words) > 7:
            first = chance.randrange(len(words) - 6)
            last = min(first + chance.randint(5, 12), len(words) - 1)
            start, end = start + words[first][0], start + words[last][1]
    passage = text[start:end]
    becomes = chance.choice(CHANGES)(passage.replace("\r\n", "\n"), chance)
    if becomes and "\r\n" in text:
        becomes = becomes.replace("\n", "\r\n")
    if len(passage) < 16 or text.count(passage) > 1 or becomes in (None, passage):
        return None
    return IntendedEdit(start, end, passage, becomes or "")


def _word_replaced(passage: str, chance: random.Random) -> str | None:
    words = list(re.finditer(rf"(?<!{_MARK})[^\W\d_]{{2,}}(?!{_MARK})", passage))
    if not words:
        return None
    word = chance.choice(words)
    new = chance.choice(_WORDS_BY_SCRIPT[_script(word[0])])
    new = new.capitalize() if word[0][0].isupper() else new
    if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", word[0]):  # two characters of it
        at = chance.randrange(word.start(), word.end() - 1)
        return passage[:at] + new + passage[at + 2 :]
    return passage[: word.start()] + unicodedata.normalize("NFC", new) + passage[word.end() :]


def _number_changed(passage: str, chance: random.Random) -> str | None:
    numbers = list(re.finditer(r"\d+", passage))
    if not numbers:
        return None
    number = chance.choice(numbers)
    new = str(int(number[0]) + chance.randint(1, 9))
    if number[0] >= "０":  # full width
        new = "".join(chr(ord(digit) + 0xFEE0) for digit in new)
    return passage[: number.start()] + new + passage[number.end() :]


def _word_added(passage: str, chance: random.Random) -> str | None:
    spaces = list(re.finditer(r"(?<=\w) (?=\w)", passage))
    if not spaces:
        return None
    at = chance.choice(spaces).end()
    return f"{passage[:at]}{chance.choice(_WORDS_BY_SCRIPT[_script(passage)])} {passage[at:]}"


def _word_removed(passage: str, chance: random.Random) -> str | None:
    words = list(re.finditer(r"(?<=\w )\w+ (?=\w)", passage))
    if not words:
        return None
    word = chance.choice(words)
    return passage[: word.start()] + passage[word.end() :]


def _line_added(passage: str, chance: random.Random) -> str | None:
    lines = passage.split("\n")
    items = [at for at, line in enumerate(lines) if re.match(r"\s*[-*] \S", line)]
    if not items or not re.match(r"\s*[-*] ", lines[0]):
        return None
    at = chance.choice(items)
    mark = re.match(r"\s*[-*] ", lines[at])
    new = f"{mark[0] if mark else ''}{' '.join(chance.sample(_WORDS_BY_SCRIPT['latin'], 3))}"
    return "\n".join([*lines[:at], new, *lines[at:]])


def _line_removed(passage: str, chance: random.Random) -> str | None:
    lines = passage.split("\n")
    if len(lines) < 3:
        return None
    at = chance.randrange(1, len(lines) - 1)
    return "\n".join([*lines[:at], *lines[at + 1 :]])


def _ending_added(passage: str, chance: random.Random) -> str | None:
    if passage[-1:] not in ".!?":
        return None
    words = " ".join(chance.sample(_WORDS_BY_SCRIPT[_script(passage)], 4))
    return f"{passage} {words.capitalize()}."


def _two_words_replaced(passage: str, chance: random.Random) -> str | None:
    once = _word_replaced(passage, chance)
    return _word_replaced(once, chance) if once else None


CHANGES = (
    _word_replaced,
    _word_replaced,
    _word_replaced,
    _number_changed,
    _word_added,
    _word_removed,
    _line_added,
    _line_removed,
    _ending_added,
    _two_words_replaced,
)
_WORDS_BY_SCRIPT = {
    "latin": ["violet", "harbour", "seldom", "marble", "thirteen", "kettle", "northern", "gravel"],
    "cyrillic": ["озеро", "редко", "мрамор", "северный", "чайник"],
    "cjk": ["海港", "北方", "石頭", "紫色"],
}


def _script(text: str) -> str:
    if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text):
        return "cjk"
    return "cyrillic" if re.search(r"[\u0400-\u04ff]", text) else "latin"


# -- slips ----------------------------------------------------------------------------------------


def _always(misquote: Callable[[str], str]) -> Slip:
    """Return a slip that is a function of the text; it is one where it changes something."""
    return lambda passage, _: misquote if misquote(passage) != passage else None


def _of_a_word(change: Callable[[str], str], pattern: str = r"[^\W\d_]{3,}") -> Slip:
    """Return a slip at one word that is there once, with the space before it."""

    def slip(passage: str, chance: random.Random) -> Callable[[str], str] | None:
        words = re.findall(rf"(?: |\b){pattern}\b", passage)
        once = [word for word in words if len(re.findall(rf"{re.escape(word)}\b", passage)) == 1]
        if len(re.findall(r"\w+", passage)) < 5 or not once:
            return None
        word = chance.choice(once)
        end = r"\b"
        if _script(word) == "cjk":
            at = chance.randrange(len(word))
            word, end = word[at : at + 2], ""
        where = re.compile(re.escape(word) + end)

        def misquote(text: str) -> str:
            if len(where.findall(text)) != 1:
                raise LookupError(word)
            return str(where.sub(lambda _: change(word), text))

        return misquote

    return slip


def _in_old_alone(slip: Slip) -> Slip:
    """Return the slip of an old_string whose new_string quotes the text as it is."""

    def other(passage: str, chance: random.Random) -> Callable[[str], str] | None:
        misquote = slip(passage, chance)
        return misquote and (lambda text: misquote(text) if text == passage else text)

    return other


def _elided(passage: str, _: random.Random) -> Callable[[str], str] | None:
    words = [match.span() for match in re.finditer(r"\S+", passage)]
    if len(words) < 12 or "\n" in passage:
        return None
    left_out = passage[words[4][1] : words[-4][0]]
    return lambda text: text.replace(left_out, " ... ", 1)


def _numbered(text: str) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(text.split("\n"), 12))


SLIPS: dict[str, Slip] = {
    "spaces for tabs": _always(lambda text: text.replace("\t", "    ")),
    "tabs for spaces": _always(
        lambda text: re.sub(r"^( {2,4})+", lambda found: "\t" * (len(found[0]) // 2), text, flags=re.M)
    ),
    "two spaces": _always(lambda text: re.sub(r"(?<=\w) (?=\w)", "  ", text)),
    "straight quotes": _always(
        lambda text: text.translate({ord(a): b for a, b in zip("“”„‘’", '"""\'\'', strict=True)})
    ),
    "typographic quotes": _always(lambda text: re.sub(r'"([^"]*)"', "“\\1”", text).replace("'", "’")),
    "- for –": _always(lambda text: re.sub("[–—]", "-", text)),
    "... for …": _always(lambda text: text.replace("…", "...")),
    "space for NBSP": _always(lambda text: text.replace("\u00a0", " ")),
    "NFD for NFC": _always(lambda text: unicodedata.normalize("NFD", text)),
    "NFC for NFD": _always(lambda text: unicodedata.normalize("NFC", text)),
    "half width": _always(lambda text: unicodedata.normalize("NFKC", text) if max(text, default="") >= "０" else text),
    "LF for CRLF": _always(lambda text: text.replace("\r\n", "\n")),
    "CRLF for LF": _always(lambda text: text if "\r" in text else text.replace("\n", "\r\n")),
    "Markdown marks lost": _always(lambda text: re.sub(r"\*\*|(?<!`)`(?!`)", "", text)),
    "a word dropped": _of_a_word(lambda _: ""),
    "a word added": _of_a_word(lambda word: f"{word} rather"),
    "a word misspelt": _of_a_word(lambda word: word[:-2] + word[:-3:-1]),
    "case of the first letter": _always(
        lambda text: re.sub(r"[^\W\d_]", lambda found: found[0].swapcase(), text, count=1)
    ),
    "another case": _always(str.lower),
    "line numbers": _always(_numbered),
    "line numbers with colon": _always(
        lambda text: "\n".join(f"{n}: {line}" for n, line in enumerate(text.split("\n"), 3))
    ),
    "title line": _always(lambda text: f"# {TITLE}\n\n{text}"),
    "in quotation marks": _always(lambda text: f'"{text}"'),
    "in a code fence": _always(lambda text: f"```markdown\n{text}\n```"),
    "escaped \\n and \\t": _always(
        lambda text: text.replace("\r\n", "\\r\\n").replace("\n", "\\n").replace("\t", "\\t")
    ),
    "* for -": _always(lambda text: re.sub(r"^(\s*)- ", r"\1* ", text, flags=re.M)),
    "50% for 50 %": _always(lambda text: re.sub(r"(?<=\d)[ \u00a0](?=[%€°])", "", text)),
    "a line break inside": _of_a_word(lambda word: word.replace(" ", "\n")),
    "line breaks lost": _always(lambda text: re.sub(r"(?<=[\w,]) *\r?\n(?=\w)", " ", text)),
    "trailing spaces lost": _always(lambda text: re.sub(r"[ \t]+(?=\r?$)", "", text, flags=re.M)),
    "white space around": _always(lambda text: f"  {text}\n\n"),
    "an elision": _elided,
    "two spaces after a stop": _always(lambda text: re.sub(r"(?<=[.!?]) (?=\S)", "  ", text)),
    "two spaces at line ends": _always(lambda text: re.sub(r"(?<=\S)(?=\r?\n)", "  ", text)),
    "an empty line lost": _always(lambda text: re.sub(r"\n\r?\n", "\n", text)),
    "cells without padding": _always(lambda text: re.sub(r" *\| *", "|", text)),
    "no bars around rows": _always(lambda text: re.sub(r"^\| | \|(?=\r?$)", "", text, flags=re.M)),
    "a heading deeper": _always(lambda text: re.sub(r"^#", "##", text, flags=re.M)),
    "> before lines": _always(lambda text: re.sub("^", "> ", text, flags=re.M)),
    "[12] before lines": _always(
        lambda text: "\n".join(f"[{n}] {line}" for n, line in enumerate(text.split("\n"), 12))
    ),
    "- of a diff": _always(lambda text: re.sub("^", "-", text, flags=re.M)),
    "a JSON string": _always(json.dumps),
    "a tag around": _always(lambda text: f"<old>{text}</old>"),
}
SLIPS |= {
    f"{name}, in old": _in_old_alone(SLIPS[name])
    for name in (
        "two spaces",
        "straight quotes",
        "a word misspelt",
        "a word added",
        "a heading deeper",
        "an empty line lost",
        "> before lines",
    )
}


def _pairs() -> Sequence[tuple[str, Slip]]:
    """Return slips of two kinds at once."""
    names = list(SLIPS)
    chance = random.Random(3)
    pairs = {tuple(chance.sample(names, 2)) for _ in range(60)}

    def both(one: Slip, other: Slip) -> Slip:
        def slip(passage: str, chance: random.Random) -> Callable[[str], str] | None:
            first = one(passage, chance)
            second = other(first(passage), chance) if first else None
            return (lambda text: second(first(text))) if first and second else None

        return slip

    return [(" + ".join(pair)[:27], both(*(SLIPS[name] for name in pair))) for pair in sorted(pairs)]


if __name__ == "__main__":
    main()
