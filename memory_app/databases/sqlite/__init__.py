"""Django's SQLite backend, with what Assent adds: the `ENGINE` of `default` in the settings."""
