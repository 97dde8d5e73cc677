"""The only package that commits to the memory: on main, with rows of the ledger, and on branches of proposals.

Only `approvals.services` and `approvals.recovery` commit, and a migration its schema. Others use its values.
"""
