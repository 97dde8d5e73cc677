"""docs/settings.md has every setting, no setting that does not exist, and the defaults and limits of the code."""

import re

import pytest

from memory_app.configuration.environment import READ_ELSEWHERE, Environment, Reading
from memory_app.settings import BASE_DIR, env
from memory_app.webserver import options

pytestmark = pytest.mark.pure

PAGE = (BASE_DIR / "docs" / "settings.md").read_text(encoding="utf-8")
OURS, _, ELSEWHERE = PAGE.partition("\n## Read outside the program\n")
ROWS = re.findall(r"^\| `(\w+)`( ⤷)? \| (.+?) \| (.*?) ?\| (.+) \|$", OURS, re.MULTILINE)

#: Their defaults depend on the machine or on another setting, and are said in words.
_IN_WORDS = {
    *("ASSENT_DATA_DIR", "ASSENT_EMAIL_URL", "ASSENT_HSTS_SECONDS", "ASSENT_LOG_FORMAT", "ASSENT_MAX_OPEN_PROPOSALS"),
    *("ASSENT_SECOND_FACTOR_REQUIRED", "ASSENT_SSL_REDIRECT", "DATABASE_URL", "MEMORY_DATABASE_URL"),
    *("ASSENT_ERASED_LIST", "ASSENT_TEXT_KEY"),
}


def test_every_setting_that_is_read_has_a_row_and_no_other() -> None:
    assert {"ASSENT_DEBUG", "MEMORY_DATABASE_URL", "REDIS_URL"} <= env.readings.keys()
    assert sorted(name for name, *_ in ROWS) == sorted(env.readings)
    assert set(re.findall(r"^\| `(\w+)`", ELSEWHERE, re.MULTILINE)) == READ_ELSEWHERE


@pytest.mark.parametrize(("name", "mark", "default", "allowed"), [row[:4] for row in ROWS])
def test_a_row_says_what_the_code_reads(name: str, mark: str, default: str, allowed: str) -> None:
    reading = env.readings[name]
    said = f"`{reading.default}`" if reading.default else "–"
    assert default != "–" if name in _IN_WORDS else default == said, said
    assert allowed == reading.allowed.removeprefix("of ")
    assert bool(mark) == reading.is_secret


def test_what_is_compared_is_no_value_of_this_machine() -> None:
    given, plain = Environment({"ASSENT_THREADS": "77", "ASSENT_LOG_LEVEL": "DEBUG"}), Environment({})
    options.read(given)
    options.read(plain)
    assert given.readings == plain.readings
    assert plain.readings["ASSENT_THREADS"] == Reading("8", "from 1 to 1000")
