"""The part of the Python client that follows from the registry, written as source text.

Belongs here: which operation is which method of the client (`methods`), and writing the modules (`writing`).
`manage.py client_code` puts them into clients/python/assent_client/_generated, and a test fails when they differ. Not
here: what the client does with a call, which is its own code.
"""
