"""What a site sets: environment variables, the data folder, logs, and the checks that refuse wrong values at the start.

Called by `settings` and by Django's checks; nothing here knows what a memory is.
"""
