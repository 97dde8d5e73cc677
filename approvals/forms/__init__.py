"""Django forms: what a person may type, and how it becomes the arguments of a service.

Called by views; a form never writes.
"""
