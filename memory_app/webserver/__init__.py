"""Between clients and the application: gunicorn's worker, with all waiting for clients outside its threads.

Why it is our own, and which servers were considered: docs/decisions/0012. Nothing here may import Django's settings at
import time: the arbiter imports this before the worker has chosen its SQLite.
"""
