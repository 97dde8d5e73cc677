"""Django forms: what a person may type, and how it becomes the arguments of a service.

Called by views, which pass the arguments on. Only the forms of an account save their own row.
"""
