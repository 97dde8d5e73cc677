"""The only package that commits to the memory: on main, and on a proposal's branch, each with its row of the ledger.

Called by `approvals.services` and `approvals.recovery` alone, which decide what is written.
"""
