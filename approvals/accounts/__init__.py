"""People's accounts: signing in and out, passwords, the time zone and what an owner lets happen automatically.

Pages and their helpers; the models are in `approvals.models`, permissions in `approvals.permissions`.
"""
