"""The demo: two students, their memory, and proposals in every state, for `manage.py demo`.

Belongs here: the people, the texts (`blocks/`, `rewrites/`), what happened to them in order (`history`,
`waiting`) and playing that back through `approvals.services` (`load`). Nothing outside imports it but the
command, and no service knows of it.
"""
