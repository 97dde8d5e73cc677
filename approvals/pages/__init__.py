"""What the pages show, as plain values: the inbox, blocks, notes, search and what an import would do.

Reads only, knows no request. Called by `approvals.views`, and by tools where people and agents are to find the same.
"""
