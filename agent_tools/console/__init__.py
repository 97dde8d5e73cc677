"""People's pages about their agents: tokens, and what an agent did.

Called by `urls` only. Everything here is about the viewer's own memory: tutors and staff see no more on these pages
than others do. How agents do in numbers is `approvals.statistics`.
"""
