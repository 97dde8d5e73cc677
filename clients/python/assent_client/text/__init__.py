"""Texts that a server and the `memory` command both read and write: notes, the memories.md format, unseen characters.

Pure values: no Django, no HTTP, nothing else of the client. The server imports this package and nothing beside it.
"""
