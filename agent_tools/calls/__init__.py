"""A tool call from its name to its answer: arguments, the registry, idempotency, its time limit and its audit row.

Called by views, tools and answers; knows no HTTP.
"""
