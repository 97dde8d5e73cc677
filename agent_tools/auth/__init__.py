"""Who calls and what they may: tokens, the owners a token serves, and how often it may call.

Called by the views of the API and by `issue_token`; the only package that sees a secret.
"""
