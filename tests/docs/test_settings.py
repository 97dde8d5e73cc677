"""docs/settings.md names every setting, no setting that does not exist, and is what the code writes."""

import pytest

from memory_app.configuration import reference
from memory_app.configuration.environment import Environment
from memory_app.management.commands.settings_reference import PAGE
from memory_app.settings import env
from memory_app.webserver import options

pytestmark = pytest.mark.pure

MEANINGS = {name: meaning for group in reference.MEANINGS.values() for name, meaning in group.items()}


def test_every_setting_that_is_read_has_a_meaning_and_no_other() -> None:
    assert {"ASSENT_DEBUG", "MEMORY_DATABASE_URL", "REDIS_URL"} <= env.readings.keys()
    assert env.readings.keys() == MEANINGS.keys(), "see memory_app/configuration/reference.py"
    assert sum(map(len, reference.MEANINGS.values())) == len(MEANINGS), "a setting is in two groups"
    assert all(MEANINGS.values())
    assert reference.DEFAULTS.keys() <= MEANINGS.keys()


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.page(env.readings), "run `make docs`"


def test_the_page_shows_no_value_of_this_installation() -> None:
    """It is written on somebody's machine, and committed."""
    given, plain = Environment({"ASSENT_THREADS": "77", "ASSENT_LOG_LEVEL": "DEBUG"}), Environment({})
    options.read(given)
    options.read(plain)
    assert given.readings == plain.readings
    assert plain.readings.keys() <= MEANINGS.keys(), "of the web server"
