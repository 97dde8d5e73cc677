"""Texts as pure values: edits, differences, merges, what fits a context.

No database, no request and no clock. Every package may call it. What the `memory` command needs too (notes,
memories.md, unseen characters) is `assent_client.text`.
"""
