"""Refusals about rules of trust. The message of each is a sentence for people."""

from __future__ import annotations

from approvals.models import TrustRule
from approvals.services.errors import Refused


class RuleInvalid(Refused):
    """A field of a rule is invalid. `field` is its name in the form."""

    code = "rule_invalid"

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class RuleTaken(Refused):
    """The owner has a rule about the same changes. `rule` is that one."""

    code = "rule_taken"

    def __init__(self, rule: TrustRule, message: str) -> None:
        self.rule = rule
        super().__init__(message)


class RuleGone(Refused):
    """The owner has no such rule, or no longer."""

    code = "rule_gone"
