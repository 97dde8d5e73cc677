"""What tests of decisions begin with: proposals of scribe's, and reading the feed to its end."""

from typing import Any, Protocol

import pytest

from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine

FEED = "/api/v1/proposals/decisions/"


class ReadOn(Protocol):
    """`read_on(api, cursor)`: every decision after the cursor, page by page, and the cursor to go on from."""

    def __call__(self, api: Machine, since: str = "", /, *, limit: int = 50) -> tuple[list[Any], str]: ...


@pytest.fixture
def read_on() -> ReadOn:
    def read(api: Machine, since: str = "", /, *, limit: int = 50) -> tuple[list[Any], str]:
        found: list[Any] = []
        while True:
            data = answered(api.get(f"{FEED}?limit={limit}&since={since}"))["data"]
            found += data["items"]
            since = data["next"]
            if not data["more"]:
                return found, since

    return read
