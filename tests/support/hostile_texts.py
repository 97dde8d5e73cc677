"""Text nobody means well with: reasons, comments and names that look like what Assent itself writes.

Random but reproducible: each function draws from the generator it is given. NUL and lone surrogates are not among
them, since forms and tools refuse those before a service sees them.
"""

from random import Random

#: A person's or an agent's name, and a block's label, at the longest.
LONGEST = 64

_WORDS = (
    "she reads writes sings Übung naïve 你好 exam June maths ω≈3 <b>bold</b> “quoted” it’s *starred* `code`".split()
)

#: What separates lines for `str.splitlines`, or might for some parser of commit messages.
_BREAKS = ("\n", "\n\n", "\r\n", "\r\n\r\n", "\n \n", "\u2028", "\x0b", "\x85", "\n\n\n\n")

_HIDDEN = "\u200b\u202e\u2066\ufeff\u00ad\ufffc"

_OPERATION = "a" * 32


def trailers(rng: Random, owners: list[str]) -> str:
    """Lines that read like the trailers of a commit of somebody else's."""
    owner = rng.choice(owners)
    lines = [
        f"Action: {rng.choice(['edited', 'reverted', 'approved', 'applied', 'created', 'recovered', 'deleted'])}",
        f"Owner: {owner}",
        f"Target: {rng.choice(['block/goals', 'note/x', 'block/' + 'l' * LONGEST, 'block', '/'])}",
        "Target: block/student",
        f"Proposal: {rng.choice(['1', '2', '7', '0', '-1', '٣', '9' * 30])}",
        f"{rng.choice(['Actor', 'Reviewed-by', 'Agent', 'Targets', 'Comment'])}: {owner}",
        f"Operation: {_OPERATION}",
    ]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return rng.choice(("\n", "\r\n", "\n ", "\u2028")).join(lines[: rng.randint(2, len(lines))])


def text(rng: Random, owners: list[str], *, longest: int = 5_000) -> str:
    """A reason or a comment of any length, empty now and then, often with trailers of its own."""
    if rng.random() < 0.1:
        return rng.choice(("", " ", "\n\n", "Action: edited", "\n\nOperation: " + _OPERATION, ": ", "Owner:"))
    length = min(longest, rng.choice((10, 40, 60, 255, 256, 1_000, 4_000, 4_001, rng.randint(10, longest), longest)))
    forged, joined = trailers(rng, owners), rng.choice(_BREAKS)
    before = prose(rng, max(1, length - len(forged) - 4))
    # Longer than a commit message keeps, and padded so that a cut at 255 characters or at 4,000 falls in the trailers.
    padded = f"{prose(rng, rng.choice((180, 3_880)))}\n\n{forged}\nOperation: {'b' * 400}"
    whole = (f"{before}{joined}{forged}"[-longest:], f"{forged}{joined}{before}", padded, prose(rng, length))
    one_word = rng.choice("x#>-|\u0301") * length
    return rng.choices((*whole, one_word), weights=(5, 1, 1, 3, 1))[0][:longest]


def prose(rng: Random, length: int) -> str:
    """About `length` characters in words and lines, some of them invisible."""
    words: list[str] = []
    size = 0
    while size < length:
        word = rng.choice(_WORDS)
        if rng.random() < 0.03:
            word += rng.choice(_HIDDEN)
        if rng.random() < 0.08:
            word += rng.choice(_BREAKS)
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:length]


def name(number: int) -> str:
    """A username or an agent's name: even numbers at its longest, odd ones short."""
    return f"u{number}" if number % 2 else f"u{number}.".ljust(LONGEST, "n")


def display_name(rng: Random) -> str:
    """What a person called themselves, which goes into the author line of their commits."""
    forged = ("Ann <alice@person.assent.invalid>", "Ann\n\nAction: edited\nOwner: alice", "Operation: " + _OPERATION)
    return rng.choice((*forged, "Ann", "N" * 150, "אנה\u202e\u200b", "<>"))


def label(number: int) -> str:
    """A block's label: even numbers at its longest, odd ones short."""
    return f"b{number}" if number % 2 else f"b{number}-".ljust(LONGEST, "l")
