"""/healthz and /readyz, open to everybody."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from memory_app.runtime import health
from tests import environment
from tests.agent_tools.checks import answered, refused

embedded = pytest.mark.skipif(not environment.is_embedded(), reason="servers have disks of their own")


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    """The kernel refuses this process every byte in a file, as a full disk does."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_living_process_says_so(client: Any) -> None:
    answered(client.get("/healthz"))


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_another_method_is_told_which_there_are(client: Any, address: str) -> None:
    answer = client.post(address)
    assert refused(answer, 405, "method_not_allowed")["details"]["allowed"] == ["GET", "HEAD"]
    assert answer["Allow"] == "GET, HEAD"


def test_readiness_names_engine_and_version_of_each_part(client: Any) -> None:
    parts = answered(client.get("/readyz"))["data"]["parts"]
    assert parts["memory"]["engine"] in ("DoltLite", "Dolt")
    assert parts["memory"]["version"]
    assert parts["default"]["engine"] in ("SQLite", "PostgreSQL")


def test_a_part_that_does_not_work_is_named(client: Any) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("ALTER TABLE memory_app_change RENAME TO gone")
    try:
        response = client.get("/readyz")
    finally:
        with connections["default"].cursor() as cursor:
            cursor.execute("ALTER TABLE gone RENAME TO memory_app_change")
    error = refused(response, 503, "not_ready")
    assert error["details"]["failed"] == ["default"]
    assert error["details"]["parts"]["memory"]["ok"] is True
    assert response["Retry-After"] == "5"
    assert "memory_app_change" not in response.content.decode()


@override_settings(REDIS_URL="redis://127.0.0.1:1/0")
def test_redis_counts_where_it_is_configured(client: Any) -> None:
    assert refused(client.get("/readyz"), 503, "not_ready")["details"]["failed"] == ["redis"]


@embedded
def test_a_disk_that_cannot_be_written_is_not_ready_although_the_databases_answer(client: Any) -> None:
    assert answered(client.get("/readyz"))["data"]["parts"]["disk"]["ok"] is True
    with nothing_can_be_written():
        response = client.get("/readyz")
    # With them goes what opens the database anew, where nobody else has it open.
    assert set(refused(response, 503, "not_ready")["details"]["failed"]) in ({"disk"}, {"disk", "default"})


@embedded
def test_a_disk_that_is_nearly_full_is_not_ready(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ENOUGH_SPACE", 2**62)  # more than any disk has
    assert refused(client.get("/readyz"), 503, "not_ready")["details"]["failed"] == ["disk"]
