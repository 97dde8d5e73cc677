"""DoltLite, the embedded engine: Django's SQLite backend with Dolt's verbs as SQL functions."""
