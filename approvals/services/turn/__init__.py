"""Whose turn it is: people ask an agent for changes, the agent amends, and what no longer fits is handed back.

OPEN → CHANGES_REQUESTED → PREPARING → OPEN with the next revision; deciding is `approvals.services.decide`. Called
through `approvals.services`; `approvals.recovery` finishes interrupted amendments.
"""
