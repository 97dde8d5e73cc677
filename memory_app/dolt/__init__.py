"""The only package that says `dolt_*`: two engines behind one interface.

`connections` opens a branch or a commit as a connection. `operations` has the verbs; what the engines do differently,
`doltlite` (embedded) and `server` (Dolt sql-server) implement. `errors` and `types` are what callers get. `library`
loads DoltLite into the process.
"""
