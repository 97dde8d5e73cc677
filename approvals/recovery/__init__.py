"""Backup, restore, recovery after a crash, the consistency check, and rebuilding the ledger.

Called by management commands, by Celery beat, and by services that have to commit stray rows before they write.
"""
