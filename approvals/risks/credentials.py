"""Keys, tokens, passwords and card numbers in a text: what does not belong into a memory that models read.

Belongs here: the patterns, and what makes a secret different from a text about one. Not here: whether it is new
(`flags`), and that a note with one waits for a person (`services.notes`).

Rules of our own, from the formats that providers publish. detect-secrets, the library for this, reads source code: it
needs 6.6 ms for a note of a sentence, knows no phrase of prose ("Das Passwort lautet …"), and its measure of entropy
takes most words for secrets. A number alone is none (matriculation, telephone, ISBN, a commit's hash), and neither is a
sentence about a password that does not say it. A reviewer still reads what is missed, word for word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Characters of a secret that are shown, at most, and at most this part of it.
_SHOWN, _SHOWN_PART = 4, 3

#: What each begins with, and its pattern. A text is searched only for those whose beginning it has: looking for a word
#: costs a hundredth of trying a pattern at each place. Patterns are bounded, and none can match its beginning twice.
_FORMATS = (
    ("private key", "-----BEGIN", r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"),
    ("AWS access key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("GitHub token", "gho_ ghp_ ghr_ ghs_ ghu_", r"\bgh[oprsu]_[A-Za-z0-9]{36,255}\b"),
    ("GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b"),
    ("GitLab token", "glpat- gldt- glrt-", r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,64}"),
    ("Slack token", "xox xapp-", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}|\bxapp-\d-[A-Za-z0-9-]{10,255}"),
    ("Slack token", "hooks.slack.com/", r"\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,100}"),
    ("Stripe key", "_live_ _test_", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,255}"),
    ("Stripe key", "whsec_", r"\bwhsec_[A-Za-z0-9]{24,255}"),
    ("Anthropic key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,255}"),
    # A digit and a capital among what follows: "sk-" begins words of style sheets too.
    ("OpenAI key", "sk-", r"\bsk-(?!ant-)(?=[A-Za-z_-]{0,60}\d)(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,255}"),
    ("Google key", "AIza GOCSPX-", r"\bAIza[A-Za-z0-9_-]{35}|\bGOCSPX-[A-Za-z0-9_-]{20,64}"),
    ("Google key", "ya29.", r"\bya29\.[A-Za-z0-9_-]{20,255}"),
    ("JSON web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}"),
    ("access token", "npm_ hf_ dop_v1_", r"\b(?:npm_[A-Za-z0-9]{36}|hf_[A-Za-z]{34}|dop_v1_[0-9a-f]{64})"),
    ("access token", "pypi-AgEI asn_", r"\b(?:pypi-AgEI[A-Za-z0-9_-]{20,255}|asn_[A-Za-z0-9_-]{30,64})"),
    ("access token", "shpat_ shpca_ shppa_ shpss_", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("access token", "SG. :AA", r"\b(?:SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}|\d{8,10}:AA[A-Za-z0-9_-]{33})"),
    ("password in an address", "://", r"(?<=://)[^\s:/@]{0,64}:([^\s:/@]{3,128})@[^\s/]"),
)
_BEGINNINGS = tuple(
    (beginning, compiled, kind)
    for kind, beginnings, pattern in _FORMATS
    for compiled in [re.compile(pattern)]
    for beginning in beginnings.split()
)

#: Words for a secret, by their part that is looked for (in lower case): finding a part costs a hundredth of trying a
#: pattern at each letter. With what may or must stand before that part, and how the word goes on from it.
_NAMES = (
    ("pass", "", r"pass(?: ?words?| ?codes?|wd| ?phrases?|w(?:o|ö)rt(?:er|es|e|s)?)"),
    ("pwd", "", "pwd"),
    ("kenn", "", r"kenn ?w(?:o|ö)rt(?:er|es|e|s)?"),
    ("pin", "", r"pins?(?:-?(?:code|nummer))?"),
    ("puk", "", "puk"),
    ("cv", "", "cv[vc]"),
    ("token", r"(?:(?:access|auth|bearer|api)[ _-]?)?", "tokens?"),
    ("secret", r"(?:client[ _-]?)?", "secrets?"),
    ("key", r"(?:api|(?:secret[ _-]?)?access|secret|private|license|recovery|account)[ _-]?", "keys?"),
    ("schl", "(?:api|zugangs|sicherheits|wiederherstellungs)-?", "schl(?:ü|u)ssel"),
    ("code", "(?:zugangs|sicherheits|wiederherstellungs)-?", "codes?"),
    ("daten", "zugangs-?", "daten"),
)
_LETTER = r"[^\W\d_]"
_WORDS = tuple(
    (part, re.compile(f"(?<!{_LETTER}){before}$", re.IGNORECASE), re.compile(f"{word}(?!{_LETTER})", re.IGNORECASE))
    for part, before, word in _NAMES
)
#: The longest that may stand before such a part: "wiederherstellungs-".
_LONGEST_BEFORE = 20
#: What follows such a word: for what it is, what says that it comes, and the secret.
_SAYING = re.compile(
    r"[\"'*`]{0,2}(?:"
    r"[:=](?P<stuck>[^\s:=]\S{2,200})"
    r"|(?: (?:for|to|of|at|on|in|he|she|they|we|you|i|used|für|fürs|zu|zum|zur|vom|von|der|des|im|am|beim)"
    r"(?: [^\s.!?;:=]{1,24}){1,5}?)?"
    r"(?: {0,2}:?=| {0,2}:"
    r"| (?:is|was|are|were|ist|war|sind|lautet|lauten|heißt)(?: now| jetzt| nun| (?:changed|set) to)?(?: {0,2}:)?)"
    r"[ \t]{1,2}(?P<value>[\"'`“„«][^\"'`“”«»\n]{3,128}[\"'`”“»]|\S{3,200})"
    r")",
    re.IGNORECASE,
)
#: Words whose secret may be a number.
_FOR_NUMBERS = re.compile("pass|kenn|pwd", re.IGNORECASE)
#: Where small letters end and capitals begin; a name has one such place, "McDonald".
_HUMP = re.compile("[a-z](?=[A-Z])")
_SHORT = re.compile(r"pin|puk|cv[vc]|pass ?code", re.IGNORECASE)
_QUOTES = "\"'`“”„«»"
_PLACEHOLDER = re.compile(
    r"[x*•.…_-]{4,}|<|\$\{|\{\{|\byour|\bmy[_-]|example|beispiel|placeholder|redacted|changeme", re.IGNORECASE
)
_SYMBOL = re.compile(r"[^\w\s.,;:!?…()\[\]/'\"’-]|_")
#: A number with its unit, and a rate: "token: 120/min".
_AMOUNT = re.compile(r"[\d.,]+(?:[a-z%°€$]{1,3}|/\w+)", re.IGNORECASE)

#: Visa, Mastercard, American Express, Discover, Diners Club and JCB, in the groups they are printed in.
_CARD = re.compile(
    r"(?<![\w.,+/-])(?:(?:4\d{3}|5[1-5]\d{2}|2(?:22[1-9]|2[3-9]\d|[3-6]\d{2}|7[01]\d|720)|6011|65\d{2}|64[4-9]\d|35(?:2[89]|[3-8]\d))"
    r"(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}|3[47]\d{2}(?P<gap2>[ -]?)\d{6}(?P=gap2)\d{5}"
    r"|3(?:0[0-5]|[68]\d)\d(?P<gap3>[ -]?)\d{6}(?P=gap3)\d{4})(?![\w/-]|[.,]\d)"
)

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
