"""Copies of pure modules of the server. Written by `manage.py client_code`: not edited by hand."""
