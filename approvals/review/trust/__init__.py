"""What an agent may do without a person: the owner's policy for notes, and the owner's rules. Reads only.

`verdicts` says which rule counts for a change and what it lets through; `services.trust` makes rules and applies.
"""

from approvals.review.trust.verdicts import (
    SEEN_FIRST,
    Verdict,
    Weight,
    agents_serving,
    as_data,
    in_words,
    kind_in_words,
    matches,
    needs_in_words,
    rule_for,
    rules_of,
    serving,
    verdict,
)

__all__ = [
    "SEEN_FIRST",
    "Verdict",
    "Weight",
    "agents_serving",
    "as_data",
    "in_words",
    "kind_in_words",
    "matches",
    "needs_in_words",
    "rule_for",
    "rules_of",
    "serving",
    "verdict",
]
