"""Between clients and the application: gunicorn's worker, with all waiting for clients outside its threads.

Why it is our own, and what else was looked at: docs/decisions/0012. Nothing here may import Django's settings when
it is imported: the arbiter does so before the worker has chosen its SQLite.
"""
