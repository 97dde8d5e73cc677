"""The demo: two students, their memory, and proposals in every state, for `manage.py demo`.

Belongs here: the story as data (`story.toml`, `blocks/`), reading it (`story`) and playing it through
`approvals.services` (`load`). Only the command imports it, and no service knows of it.
"""
