"""Texts as pure values: edits, differences, merges, invisible characters, notes, memories.md, what fits a context.

No database and no request; no clock but for new ids. Every package may call it.
"""
