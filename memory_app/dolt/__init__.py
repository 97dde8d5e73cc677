"""The only package that says `dolt_*`: two engines behind one interface.

`connections` opens a branch or a commit as a connection, `operations` is the interface,
`doltlite` (embedded) and `server` (Dolt sql-server) implement it, `errors` and `types` are what
comes out. `library` loads DoltLite into the process.
"""
