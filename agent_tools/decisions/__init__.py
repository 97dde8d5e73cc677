"""How agents learn what people decided: a list, beside the answers to other calls, and by waiting.

What counts as a decision is in `approvals.services.events`; webhooks are not here. Called by tools and, through
`calls.execution.additions`, by every call.
"""
