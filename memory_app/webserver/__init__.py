"""Between clients and the application: waitress, and what the entry points know of a request before Django reads it.

Clients wait in waitress's loop: a thread gets a request only when all of it is there. Why waitress, and which servers
were considered: docs/decisions/0012. `python -m memory_app.webserver` serves. Nothing here may import Django's settings
when it is imported: the process that starts the others opens no database.
"""
