"""Tests of the search core."""
