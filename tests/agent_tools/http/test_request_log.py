"""What the log says of a page, a task and a command: one line with an id by which the others are found."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.test import Client

from approvals.models import User
from memory_app.celery import app
from memory_app.reads import Block
from tests import environment
from tests.agent_tools.conftest import Machine
from tests.conftest import eventually
from tests.memory_app.configuration.test_logs import logged
from tests.support.fixtures import ClientOf
from tests.support.places import ROOT


def lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


def pages(said: str) -> list[dict[str, Any]]:
    return [line for line in lines(said) if line["event"] == "page"]


def test_a_page_has_one_line_that_names_its_route_and_nobody(goals: Block, tim: User, client_of: ClientOf) -> None:
    client = client_of(tim)
    with logged("json") as written:
        answer = client.get("/memory/alice/", headers={"X-Request-ID": "r-17"})
    (line,) = pages(written.getvalue())
    assert answer["X-Request-ID"] == line["request_id"] == "r-17"
    assert (line["route"], line["method"], line["status"]) == ("memory/<str:owner>/", "GET", 200)
    assert 0 < line["duration_ms"] < 60_000
    assert not [word for word in ("alice", "tim", "127.0.0.1") if f'"{word}"' in json.dumps(line)]


@pytest.mark.parametrize(
    ("path", "route", "status"),
    [("/sign-in/", "sign-in/", 200), ("/", "", 302), ("/nothing-here/", "no route", 404), ("/%00", "no route", 400)],
)
def test_refused_and_unknown_pages_have_one_too(client: Client, path: str, route: str, status: int) -> None:
    with logged("json") as written:
        assert client.get(path).status_code == status
    (line,) = pages(written.getvalue())
    assert (line["route"], line["status"]) == (route, status)


def test_calls_files_and_what_asks_for_health_have_none(goals: Block, api: Machine, client: Client) -> None:
    with logged("json") as written:
        api.call("read_memory_block", block_label="goals")
        assert [client.get(path).status_code for path in ("/favicon.ico", "/healthz", "/readyz")] == [200] * 3
        client.get("/metrics")
    assert pages(written.getvalue()) == []
    assert [line["tool"] for line in lines(written.getvalue()) if line["event"] == "tool_call"] == ["read_memory_block"]


@pytest.mark.skipif(environment.is_embedded(), reason="without Redis, tasks run inline")
def test_the_log_of_a_task_has_its_id_and_that_of_the_request_that_enqueued_it(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    command = f"{sys.executable} -m celery -A memory_app.celery worker --pool prefork --concurrency 1 --queues of-log"
    settings = {"DJANGO_SETTINGS_MODULE": "memory_app.settings", "ASSENT_LOG_FORMAT": "json"}
    with log.open("w") as output:
        process = subprocess.Popen(command.split(), cwd=ROOT, env=os.environ | settings, stderr=output, stdout=output)
    try:
        with structlog.contextvars.bound_contextvars(request_id="r-42"):
            named = app.send_task("memory_app.reindex", ["alice"], queue="of-log").id
        alone = app.send_task("memory_app.reindex", ["alice"], queue="of-log").id

        def succeeded() -> Iterator[tuple[str, str | None]]:
            for line in lines(log.read_text()):
                if "succeeded in" in line["event"]:
                    yield line["task_id"], line.get("request_id")

        assert eventually(lambda: len(found := dict(succeeded())) == 2 and found, seconds=60) == {
            named: "r-42",
            alone: None,
        }
    finally:
        process.terminate()
        process.wait(30)


def test_the_log_of_a_command_names_it(tmp_path: Path) -> None:
    settings = {"ASSENT_DATA_DIR": str(tmp_path), "ASSENT_LOG_FORMAT": "json", "MEMORIES_FILTR_TYPES": "fix"}
    settings |= {"ASSENT_LOG_LEVEL": "INFO"}
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=True)
    found = [line for line in lines(done.stderr) if line["event"] == "unknown_setting"]
    assert len(found) == 1, f"{done.stderr}\n{sorted(os.environ)}"
    (line,) = found
    assert line["command"] == "check"
    assert len(line["request_id"]) == 32
