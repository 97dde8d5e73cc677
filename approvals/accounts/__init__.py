"""People's accounts: signing in and out, sessions, passwords, the time zone and what an owner lets happen by itself.

Pages and their helpers; the models are in `approvals.models`, permissions in `approvals.permissions`.
"""
