"""Dolt sql-server: Django's MySQL backend with Dolt's verbs as stored procedures."""
