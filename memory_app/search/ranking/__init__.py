"""Which chunks answer a query, and in which order: pure, from arrays and the query alone.

Called by `memory_app.search`, which loads the arrays; nothing here reads a database.
"""
