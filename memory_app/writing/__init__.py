"""The only package that commits to the memory: on main, with rows of the ledger, and on branches of proposals.

Only `approvals.services` and `approvals.recovery` call it; they decide what is written.
"""
