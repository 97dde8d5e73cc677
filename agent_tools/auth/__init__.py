"""Who calls and what they may: tokens, the owners a token serves, and how often it may call.

Called from everywhere in this app; the only package that sees a secret.
"""
