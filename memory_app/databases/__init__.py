"""What the databases need beside the versioned engine (`dolt`): routing, prepared queries, the log of SQLite, backups.

May be called from everywhere; no rule about memory lives here.
"""
