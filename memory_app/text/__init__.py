"""Texts as pure values: edits, differences, invisible characters, notes, memories.md, and what fits into a context.

No database, no request and no clock; every package may call it.
"""
