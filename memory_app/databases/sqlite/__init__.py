"""Django's SQLite backend, with what Assent adds: named as `ENGINE` in the settings, imported by nothing."""
