"""A database or Redis is away: every address says so in words its asker can read, and none breaks."""

import contextlib
import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client, override_settings
from django.urls import NoReverseMatch, get_resolver, reverse

from tests import environment
from tests.approvals.recovery.test_faults import nobody_listens
from tests.end_to_end.test_isolation import World, addresses, values_of, world  # noqa: F401 - a fixture
from tests.support.holding import held

pytestmark = pytest.mark.slow

SENTENCE = "does not answer at the moment"


@contextmanager
def gone(alias: str) -> Iterator[None]:
    """Nobody listens at the address of a server; a file is not there."""
    away = ("NAME", "/nonexistent/file") if environment.is_embedded() else ("PORT", nobody_listens())
    with replaced(alias, *away):
        yield


@contextmanager
def replaced(alias: str, key: str, value: Any) -> Iterator[None]:
    given = connections[alias].settings_dict
    before = given[key]
    connections[alias].close()
    given[key] = value  # that of all threads
    try:
        yield
    finally:
        given[key] = before
        connections[alias].close()


@contextmanager
def redis_gone() -> Iterator[None]:
    url = f"redis://127.0.0.1:{nobody_listens()}/0"
    caches = copy.deepcopy(settings.CACHES)
    caches["default"]["LOCATION"] = url
    with override_settings(CACHES=caches, REDIS_URL=url):
        yield


def text_of(response: Any) -> str:
    return str(response.getvalue().decode(errors="replace"))


def is_away(response: Any, path: str) -> bool:
    """Whether the answer is that something is away, said as it should be; anything else may be no error of ours."""
    if response.status_code != 503:
        assert response.status_code < 500, f"{path}: {response.status_code}\n{text_of(response)[:2_000]}"
        return False
    assert int(response["Retry-After"]) > 0
    text = text_of(response)
    if path.startswith("/mcp"):
        assert json.loads(text)["error"]["data"]["code"] == "engine_unavailable", text
    elif path.startswith(("/api/", "/readyz")):
        answer = json.loads(text)
        assert answer["ok"] is False
        assert answer["error"]["code"] in ("engine_unavailable", "not_ready"), answer
    else:
        assert SENTENCE in text or "did not answer" in text, f"{path}\n{text[:2_000]}"
    return True


def one_of_each(world: World) -> list[str]:  # noqa: F811
    """Each kind of address once, about alice."""
    values = values_of(world.alice, world.alice)
    found = []
    for name, pattern in addresses(get_resolver()):
        named = {key: values[key][0] for key in pattern.pattern.regex.groupindex}
        with contextlib.suppress(NoReverseMatch):
            found.append(reverse(name, kwargs=named))
    return [path for path in found if path != "/sign-out/"]


BY_MCP = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}})


def sweep(world: World, browser: Client) -> set[str]:  # noqa: F811
    """Ask every address, to read and to write; those that say something is away."""
    away = set()
    fields = {"revision": "1", "reason": "wrong", "content": "x", "type": "note", "comment": "c"}
    for path in one_of_each(world):
        if path.startswith("/api/v1/"):
            answers = [world.agent.get(path), world.agent.post(path, "{}", content_type="application/json")]
        elif path.startswith("/mcp"):
            answers = [world.agent.post(path, BY_MCP, content_type="application/json")]
        else:
            answers = [browser.get(path), browser.post(path, fields)]
        if True in [is_away(answer, path) for answer in answers]:  # each is looked at
            away.add(path)
    return away


def test_every_address_says_that_the_books_are_away(world: World) -> None:  # noqa: F811
    browser = world.sign_in()
    with gone("default"):
        away = sweep(world, browser)
    # Health, the door, descriptions of the API and files of ours.
    allowed = ("/healthz", "/llms.txt", "/sign-", "/password/", "/api/docs/", "/api/schema/", "/admin/jsi18n/")
    assert {path for path in set(one_of_each(world)) - away if not path.startswith(allowed)} == set()


def test_every_address_says_that_the_memory_is_away(world: World) -> None:  # noqa: F811
    browser = world.sign_in()
    with gone("memory"):
        away = sweep(world, browser)
    assert {"/memory/alice/", "/memory/alice/notes/", "/readyz", "/api/v1/users/alice/notes/"} <= away


@pytest.mark.skipif(environment.is_embedded(), reason="there is no Redis")
def test_every_address_says_that_redis_is_away_or_does_without(world: World) -> None:  # noqa: F811
    browser = world.sign_in()
    with redis_gone():
        away = sweep(world, browser)
        guess = Client(raise_request_exception=False).post("/sign-in/", {"username": "alice", "password": "x"})
    assert "/readyz" in away
    assert "/memory/alice/" not in away
    assert is_away(guess, "/sign-in/"), "nobody counts the tries"


@pytest.mark.skipif(not environment.is_embedded(), reason="the servers look after their files")
def test_a_damaged_file_is_away_too(world: World, tmp_path: Path) -> None:  # noqa: F811
    browser = world.sign_in()
    damaged = tmp_path / "damaged.sqlite3"
    damaged.write_bytes(b"no database at all" * 1000)
    for alias in ("default", "memory"):
        name = f"file:{damaged}?doltlite_engine=sqlite" if alias == "default" else str(damaged)
        with replaced(alias, "NAME", name):
            assert is_away(browser.get("/memory/alice/"), "/memory/alice/")


@pytest.mark.parametrize("is_part", [False, True])
def test_the_page_is_a_part_where_a_part_was_asked_for(world: World, is_part: bool) -> None:  # noqa: F811
    browser = world.sign_in()
    with gone("default"):
        answer = browser.get("/memory/alice/", headers={"HX-Request": "true"} if is_part else {})
    assert is_away(answer, "/memory/alice/")
    assert ("<html" in text_of(answer)) is not is_part


@pytest.mark.skipif(not environment.is_embedded(), reason="a row, not a file, is locked there")
@override_settings(PAGE_TIMEOUT=1)
def test_who_would_wait_for_a_lock_is_told_in_time(world: World) -> None:  # noqa: F811
    world.person.set_password("a long enough one")
    world.person.save()
    with held("default"):
        typed = {"username": "alice", "password": "a long enough one"}
        answer = Client(raise_request_exception=False).post("/sign-in/", typed)
        health = Client().get("/healthz", headers={"Cookie": "assent_session=x"})
    assert is_away(answer, "/sign-in/")
    assert health.status_code == 200
