"""Text that reads as if it were addressed to a model rather than being about a person.

Belongs here: the patterns (prompt_injection.toml), in the languages our users write (English, German, French, Spanish),
and the folding that keeps accents, look-alike forms and unseen characters from hiding a phrase. Not here: deciding
whether it is new (`flags`).

A memory is full of sentences about rules and instructions ("he forgets the instructions"), so a pattern wants both the
imperative and its object. What is missed is still shown to a person word for word.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from assent_client.text import invisible
from memory_app.text import patterns
from memory_app.text.folding import QUOTES

# A snippet is a reminder of where to look; the change itself is on the same page.
_LONGEST_SNIPPET = 80

_READ = patterns.beside(__file__)["patterns"]
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029]+")
# What takes the place of one character: ⒪ is three. The few with more (ﷺ has 18) spell nothing above.
_LONGEST_SPREAD = 3
#: Words spelled letter by letter: "i g n o r e", "p-r-e-v-i-o-u-s".
_SPELLED = re.compile(r"(?<!\w)(?:[a-z][ ._*-]){2,40}[a-z](?!\w)")
_BETWEEN = re.compile("[ ._*-]")
_QUOTES = QUOTES | dict.fromkeys(map(ord, "«»"), '"')


@dataclass(frozen=True, slots=True)
class Instruction:
    """A passage that reads like an instruction to a model.

    Attributes:
        snippet: the words that do, folded: lower case, without accents and unseen characters.
        is_override: whether it asks to set other instructions aside, or imitates a model's own markup.
    """

    snippet: str
    is_override: bool


@cache
def _any_of(*kinds: str) -> re.Pattern[str]:
    """Return what finds one of some kinds; compiled when it is needed first, since each takes 60 ms."""
    return re.compile("|".join(f"(?:{each})" for kind in kinds for each in _READ[kind]))


def instructions(text: str) -> Iterator[Instruction]:
    """Yield every passage of `text` that reads like an instruction to a model, in order."""
    for line in _folded_lines(text):
        strong = list(_any_of("overrides", "markup").finditer(line))
        found = [(match.start(), Instruction(_snippet(match), True)) for match in strong]
        covered = {at for match in strong for at in range(*match.span())}
        found += (
            (match.start(), Instruction(_snippet(match), False))
            for match in _any_of("commands").finditer(line)
            if covered.isdisjoint(range(*match.span()))
        )
        yield from (instruction for _, instruction in sorted(found, key=lambda item: item[0]))


def _snippet(match: re.Match[str]) -> str:
    return match[0].strip()[:_LONGEST_SNIPPET]


def _folded_lines(text: str) -> Iterator[str]:
    """Yield the lines as the patterns want them, and one more with what tag characters spell."""
    readings = invisible.inked(_LINE_ENDS.sub("\n", text))
    lines = [line for seen in readings for line in _folded(seen).split("\n")]
    for line in (*lines, invisible.tagged(text).lower()):
        if line:
            yield _SPACES.sub(" ", _SPELLED.sub(lambda spelled: _BETWEEN.sub("", spelled[0]), line))


def _folded(seen: str) -> str:
    # Each character by itself: combining marks go anyway, and bringing 200,000 of them in order took 30 s.
    return seen.translate({ord(char): _folded_character(char) for char in set(seen)})


@lru_cache(maxsize=10_000)
def _folded_character(char: str) -> str:
    spread = unicodedata.normalize("NFKD", char.translate(_QUOTES))
    if len(spread) > _LONGEST_SPREAD:
        return char
    return "".join(one for one in spread if not unicodedata.combining(one)).casefold()
