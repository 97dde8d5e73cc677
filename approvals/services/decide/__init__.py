"""Deciding about a proposal: approve, reject, withdraw, each bound to the revision and the state that were seen.

A state machine across two databases with leases: OPEN → MERGING → APPROVED, or OPEN → closed.
Called through `approvals.services`; `approvals.recovery` finishes interrupted decisions.
"""
