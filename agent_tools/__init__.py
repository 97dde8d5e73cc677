"""Everything a machine touches: tokens, tools, the REST API.

Agents read and propose through `approvals.services`; nothing here can write the memory, and an import
contract (pyproject.toml) keeps it so.
"""
