"""Keys, tokens, passwords and card numbers in a text: what does not belong into a memory that models read.

Belongs here: the patterns (credentials.toml), and what makes a secret different from a text about one. Not here:
whether it is new (`flags`), and that a note with one waits for a person (`services.notes`).

Rules of our own, from the formats that providers publish. detect-secrets, the library for this, reads source code: it
needs 6.6 ms for a note of a sentence, knows no phrase of prose ("Das Passwort lautet …"), and its measure of entropy
takes most words for secrets. A number alone is none (matriculation, telephone, ISBN, a commit's hash), and neither is a
sentence about a password that does not say it. A reviewer still reads what is missed, word for word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_app.text import patterns

#: Characters of a secret that are shown, at most, and at most this part of it.
_SHOWN, _SHOWN_PART = 4, 3

_READ = patterns.beside(__file__)

#: Each with what it begins with, and its kind. A text is searched only for those whose beginning it has: looking for a
#: word costs a hundredth of trying a pattern at each place.
_BEGINNINGS = tuple(
    (beginning, compiled, kind)
    for kind, formats in _READ["formats"].items()
    for beginnings, pattern in formats
    for compiled in [re.compile(pattern)]
    for beginning in beginnings.split()
)

#: Words for a secret, by their part that is looked for: finding a part costs a hundredth of trying a pattern at each
#: letter.
_LETTER = r"[^\W\d_]"
_WORDS = tuple(
    (part, re.compile(f"(?<!{_LETTER}){before}$", re.IGNORECASE), re.compile(f"{word}(?!{_LETTER})", re.IGNORECASE))
    for part, before, word in _READ["names"]
)
#: The longest that may stand before such a part: "wiederherstellungs-".
_LONGEST_BEFORE = 20
#: What follows such a word: for what it is, what says that it comes, and the secret.
_SAYING = re.compile(_READ["saying"], re.IGNORECASE)
#: Words whose secret may be a number.
_FOR_NUMBERS = re.compile("pass|kenn|pwd", re.IGNORECASE)
#: Where small letters end and capitals begin; a name has one such place, "McDonald".
_HUMP = re.compile("[a-z](?=[A-Z])")
_SHORT = re.compile(r"pin|puk|cv[vc]|pass ?code", re.IGNORECASE)
_QUOTES = "\"'`“”„«»"
_PLACEHOLDER = re.compile(_READ["placeholder"], re.IGNORECASE)
_SYMBOL = re.compile(r"[^\w\s.,;:!?…()\[\]/'\"’-]|_")
#: A number with its unit, and a rate: "token: 120/min".
_AMOUNT = re.compile(r"[\d.,]+(?:[a-z%°€$]{1,3}|/\w+)", re.IGNORECASE)

_CARD = re.compile(_READ["card"])
#: Two groups of digits, as in every card number.
_GAP = re.compile("[ -]")
_CARD_HINT = re.compile(r"\d{4}[ -]?\d{4}")


@dataclass(frozen=True)
class Credential:
    """A secret in a text.

    Attributes:
        kind: what it is, in English: `AWS access key`.
        value: the secret itself; for comparing, never for showing.
    """

    kind: str
    value: str

    @property
    def masked(self) -> str:
        """Return the credential masked, as pages and answers may show it."""
        if self.kind == "private key":
            return self.kind
        return f"{self.kind} {self.value[: min(_SHOWN, len(self.value) // _SHOWN_PART)]}…"


def find(text: str) -> Iterator[Credential]:
    """Yield the secrets in a text, each as often as it stands there."""
    for pattern, kind in {pattern: kind for beginning, pattern, kind in _BEGINNINGS if beginning in text}.items():
        for match in pattern.finditer(text):
            value = match[match.lastindex or 0]
            if not match.lastindex or not _PLACEHOLDER.search(value):
                yield Credential(kind, value)
    yield from _said(text)
    if _CARD_HINT.search(text):
        for match in _CARD.finditer(text):
            if _luhn(digits := _GAP.sub("", match[0])):
                yield Credential("card number", digits)


def _said(text: str) -> Iterator[Credential]:
    """Yield what sentences call a password: "Das Passwort lautet …"."""
    for word, end in _words(text):
        match = _SAYING.match(text, end)
        if match is None:
            continue
        said = match["value"] or match["stuck"]
        value = said.strip(_QUOTES).rstrip(".,;!?)" + _QUOTES)
        if value and not _PLACEHOLDER.search(value) and _is_secret(value, word, is_quoted=said[0] in _QUOTES):
            yield Credential("password", value)


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words for a secret in the text, and where each ends."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters, such as İ, become two
        lower = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    for part, before, word in _WORDS:
        at = lower.find(part)
        while at >= 0:
            if (match := word.match(text, at)) and before.search(text, max(0, at - _LONGEST_BEFORE), at):
                yield match[0], match.end()
            at = lower.find(part, at + 1)


def _is_secret(value: str, word: str, *, is_quoted: bool) -> bool:
    """Whether this is a secret, and no word of a sentence that goes on: "the password is safe", "PIN: see below"."""
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if _SHORT.match(word):
        return value.isdecimal() and 3 <= len(value) <= 10
    if is_quoted:
        return " " not in value.strip() or has_digit
    if value.isdecimal():
        return 4 <= len(value) <= 32 and bool(_FOR_NUMBERS.match(word))
    if len(value) < 6 or "://" in value:
        return False
    if has_digit and has_letter:
        return not _AMOUNT.fullmatch(value)
    return bool(has_letter and (_SYMBOL.search(value) or len(_HUMP.findall(value)) > 1))


def _luhn(digits: str) -> bool:
    total = 0
    for position, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + position % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0 and len(set(digits)) > 1
