"""What the databases need beside the versioned engine (`dolt`): routing, prepared queries, the log of SQLite, backups.

Called by the reads, by `writing` and by `approvals.recovery`; no rule about memory lives here.
"""
