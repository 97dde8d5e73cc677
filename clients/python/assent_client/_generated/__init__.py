"""What follows from the server's registry. Written by `manage.py client_code`: not edited by hand."""
