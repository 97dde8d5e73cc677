"""Processes the benchmarks start (the web server, a Celery worker), and an HTTP client to speak to them."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
START_SECONDS = 60


def set_up_django() -> None:
    """Make a new process ready for the product's code."""
    import django
    from django.conf import settings

    settings.DATA_DIR  # noqa: B018 (reading the settings loads DoltLite, before anything imports sqlite3)
    django.setup()


@contextmanager
def web_server(application: str, folder: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """Serve the `application` of a module the way `make run` does, for the length of the block; yields the port."""
    port = _free_port()
    arguments = ["-m", "memory_app.webserver", "--bind", f"{HOST}:{port}", application]
    with _running(arguments, folder / "web.log", {"ASSENT_LOG_LEVEL": "INFO", **environment}) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The web server did not start:\n{(folder / 'web.log').read_text()[-2000:]}")
            time.sleep(0.05)
        yield port


@contextmanager
def celery_worker(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """One worker process, as on a server; it takes its share of the machine, as there."""
    arguments = ["-m", "celery", "-A", "memory_app.celery", "worker", "--concurrency", "1", "--loglevel", "warning"]
    with _running(arguments, folder / "celery.log", environment):
        yield


@contextmanager
def _running(arguments: list[str], log: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        connection.request("GET", "/healthz")
        return connection.getresponse().status > 0
    except OSError:
        return False


@dataclass(frozen=True)
class Reply:
    status: int
    text: str


class Session:
    """A client that keeps its connection and its cookies, as browsers and agents do."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token
        self.cookies: SimpleCookie = SimpleCookie()
        self.connection = http.client.HTTPConnection(HOST, port, timeout=60)

    def get(self, path: str) -> Reply:
        return self._send("GET", path, None, {})

    def post_json(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        return self._send("POST", path, body, {"Content-Type": "application/json"} | dict(headers or {}))

    def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{HOST}:{self.port}"}
        return self._send("POST", path, urlencode(fields).encode(), headers)

    def close(self) -> None:
        self.connection.close()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())
        try:
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):  # kept open for longer than the server does
            self.connection.close()
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        for value in response.headers.get_all("Set-Cookie", []):
            self.cookies.load(value)
        return Reply(response.status, response.read().decode())


class _Forms(HTMLParser):
    """The forms of a page: where each button leads, and what a browser would send along."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[set[str], dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(({values.get("action", "")}, {}))
        elif self.found and tag == "input" and values.get("type") in ("hidden", "text", "password", None):
            self.found[-1][1][values.get("name", "")] = values.get("value", "")
        elif self.found and tag == "button" and "formaction" in values:
            self.found[-1][0].add(values["formaction"])


def form(page: str, wanted: str) -> dict[str, str]:
    """The fields of the first form that leads to `wanted`, or has a field of that name.

    Raises:
        LookupError: there is no such form.
    """
    parser = _Forms()
    parser.feed(page)
    for actions, fields in parser.found:
        if wanted in actions or wanted in fields:
            return fields
    raise LookupError(f"no form for {wanted!r} among {parser.found}")
