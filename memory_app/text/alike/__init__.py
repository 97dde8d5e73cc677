"""Whether two changes are about the same matter, or even say the same.

The same matter is a guess from their words, for linking a second try to the first (`matters`). The same statement is
decided by rules (`terms`, `statements`), and recognised by keyed hashes without its text (`fingerprints`).
"""

from memory_app.text.alike.fingerprints import (
    MOST_OF_IT,
    Fingerprint,
    Said,
    fingerprints,
    probes,
    reasoning_key,
    share_found,
)
from memory_app.text.alike.matters import are_alike, say_the_same
from memory_app.text.alike.statements import Changed, Statement, changed, statements_of

__all__ = [
    "MOST_OF_IT",
    "Changed",
    "Fingerprint",
    "Said",
    "Statement",
    "are_alike",
    "changed",
    "fingerprints",
    "probes",
    "reasoning_key",
    "say_the_same",
    "share_found",
    "statements_of",
]
