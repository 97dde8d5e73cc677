"""The version of this package."""

#: As in pyproject.toml; a test compares them.
__version__ = "0.2.0"
