"""What a backup is made of: copies of the two databases and a manifest that says what they hold.

Belongs here: copying one database and putting it back (`default` in `databases`; the memory's engines do
their own, see `dolt.operations`), ids that must not be used twice (`sequences`) and the manifest. Which
database comes first, and what is checked afterwards, is decided in `approvals.recovery`.
"""
