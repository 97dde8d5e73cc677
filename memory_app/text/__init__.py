"""Texts as pure values: edits, differences, invisible characters, notes, memories.md, and what fits into a context.

No database and no request; no clock but for new ids and for time limits. Every package may call it.
"""
