"""The version of this package."""

#: As in pyproject.toml; a test compares them.
__version__ = "0.1.0"
