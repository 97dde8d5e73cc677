"""Marks that several of the tests here have."""

import pytest

from tests import environment

#: Of tests at a server with databases of its own, which are files.
OWN_SITE = [
    pytest.mark.slow,
    pytest.mark.pure,
    pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own"),
]
