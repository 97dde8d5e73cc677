"""A tool call from its name to its answer: arguments, the registry, idempotency, its time limit and its audit row.

Called by `agent_tools.views` and by tools for their arguments; knows no HTTP.
"""
