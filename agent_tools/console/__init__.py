"""People's pages about agents: what became of their proposals, tokens, calls, webhooks.

Called by `urls` only. Tokens, calls and webhooks are those of the viewer's own memory: tutors and staff see no more of
them than others do.
"""
