"""Whose turn it is, as a reviewer reads it: what the agent is asked for, and what changed when it has answered.

Not here: asking and amending (`approvals.services.turn`).
"""
