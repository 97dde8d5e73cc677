"""People's accounts: signing in and out, providers, second factors, invitations, sessions and passwords; courses,
people from a file, and leaving.

Their settings are a page of `approvals.views`; the models are in `approvals.models`, permissions in
`approvals.permissions`.
"""
