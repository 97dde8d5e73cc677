"""What Sentry is sent of an error: types, places and names of ours, and nothing that anybody wrote."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.pure

MARK = "zebrafinch"
#: A page, a task, a line of our log, one of another library's and a command that fail over something private.
_FAILING = f"""
import logging, os, sys
import django
django.setup()
import structlog
from celery import shared_task
from django.http import HttpRequest
from django.test import Client
from django.urls import path
from django.conf import settings

MARK = {MARK!r}

def failing(request, name):
    secret = MARK
    raise LookupError(f"{{name}} is not in {{request.body}}")

def handler500(request):
    from django.http import HttpResponse
    return HttpResponse(status=500)

urlpatterns = [path("broken/<str:name>/", failing)]
settings.ROOT_URLCONF = "__main__"

@shared_task(name="broken.task")
def task(text):
    secret = MARK
    raise ValueError(text)

headers = {{"X-Request-ID": "r-1", "User-Agent": MARK, "Host": "127.0.0.1"}}
client = Client(raise_request_exception=False, headers=headers)
assert client.post(f"/broken/{{MARK}}/?q={{MARK}}", MARK, content_type="text/plain").status_code == 500
task.apply(args=[MARK])
try:
    raise KeyError(MARK)
except KeyError:
    structlog.get_logger("memory_app.tests").exception("could_not", user_id=MARK)
logging.getLogger("somebody.elses").error(f"{{MARK}} happened")
raise RuntimeError(MARK)
"""


class _Receiver(ThreadingHTTPServer):
    def __init__(self) -> None:
        self.bodies: list[str] = []
        super().__init__(("127.0.0.1", 0), _Receiving)


class _Receiving(BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append((gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[_Receiver]:
    with _Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ran(script: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = (
        os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings", "ASSENT_DATA_DIR": str(folder)} | settings
    )
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_errors_arrive_with_their_places_and_ids_and_without_a_word_that_anybody_wrote(
    receiver: _Receiver, tmp_path: Path
) -> None:
    done = ran(_FAILING, tmp_path, ASSENT_SENTRY_DSN=f"http://key@127.0.0.1:{receiver.server_port}/1")
    assert f"RuntimeError: {MARK}" in done.stderr  # it came to its end
    events = [
        json.loads(line)
        for body in receiver.bodies
        for line in body.splitlines()
        if '"event_id"' in line and '"level"' in line
    ]
    said = {event["message"]: event for event in events}
    assert sorted(said) == ["celery.app.trace", "could_not", "django.request", "somebody.elses", "uncaught"]
    kinds = {name: event["exception"]["values"][-1]["type"] for name, event in said.items() if "exception" in event}
    assert kinds == {
        "django.request": "LookupError",
        "celery.app.trace": "ValueError",
        "could_not": "KeyError",
        "uncaught": "RuntimeError",
    }
    page = said["django.request"]
    assert page["tags"] == {"request_id": "r-1", "route": "broken/<str:name>/"}
    assert page["exception"]["values"][-1]["stacktrace"]["frames"][-1]["function"] == "failing"
    for body in receiver.bodies:
        assert MARK not in body
    for event in events:
        assert not event.keys() & {"user", "request", "breadcrumbs", "extra", "contexts", "logentry", "modules"}


def test_without_an_address_sentrys_library_is_not_loaded(tmp_path: Path) -> None:
    script = "import django, sys; django.setup(); from memory_app import wsgi; print('sentry_sdk' in sys.modules)"
    assert ran(script, tmp_path).stdout.strip() == "False"


def test_an_address_without_a_key_stops_the_start(tmp_path: Path) -> None:
    done = ran("import django; django.setup()", tmp_path, ASSENT_SENTRY_DSN="https://sentry.example.org/1")
    assert "ASSENT_SENTRY_DSN is no DSN" in done.stderr
