"""A real server process on loopback, real HTTP clients, on the databases of the test."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from django.db import connections
from playwright.sync_api import Browser, Page, sync_playwright

from approvals.models import Proposal, User
from tests.conftest import eventually

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long enough passphrase"


@dataclass
class Server:
    """gunicorn as `make run` and the container start it."""

    port: int
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        connections.close_all()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "--bind", f"127.0.0.1:{self.port}"],
            cwd=ROOT,
            env=os.environ
            | {"DJANGO_SETTINGS_MODULE": "memory_app.settings", "ASSENT_PUBLIC_URL": self.url}
            | self.environment,
            start_new_session=True,
        )
        eventually(self._answers, seconds=90)

    def kill(self) -> None:
        """End it the hard way, workers included, as a power cut would."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server ended at once"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(worker: None) -> Iterator[Server]:
    running = Server(free_port())
    running.start()
    yield running
    running.stop()


@pytest.fixture
def api(server: Server, token: str) -> Iterator[httpx.Client]:
    """scribe's HTTP client."""
    with httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


class Person:
    """A person at the pages without JavaScript: follows links and sends forms, CSRF and all."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, follow_redirects=True, timeout=20)

    def sign_in(self, username: str) -> httpx.Response:
        page = self.http.get("/sign-in/")
        return self.submit(page, {"username": username, "password": PASSWORD}, path="/sign-in/")

    def read(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def submit(self, page: httpx.Response, fields: dict[str, Any], *, path: str) -> httpx.Response:
        """Send the form of `page` whose action is `path`, with its hidden fields, as a browser would."""
        form = self.form(page.text, path)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
        return self.http.post(path, data=hidden | fields, headers={"Referer": str(page.url)})

    @staticmethod
    def form(html: str, path: str) -> str:
        for form in re.findall(r"<form\b.*?</form>", html, re.S):
            action = re.search(r'action="([^"]*)"', form)
            if action is None or action.group(1).split("?")[0] == path:
                return str(form)
        raise AssertionError(f"the page has no form for {path}")


@pytest.fixture
def person(server: Server) -> Callable[[User], Person]:
    """`person(tim)`: tim, signed in with a password, through the sign-in page."""

    def signed_in(user: User) -> Person:
        user.set_password(PASSWORD)
        user.save()
        someone = Person(server.url)
        answer = someone.sign_in(user.username)
        assert answer.status_code == 200, answer.text
        assert "/sign-in/" not in str(answer.url)
        return someone

    return signed_in


#: Nothing may leave the machine, and no browser feature may try.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def browser(chromium: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    # Playwright drives its own event loop in this thread, which Django takes for asynchronous code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


class WindowOf(Protocol):
    """`window_of(tim, …)`: a browser window in which tim has signed in, with the options of a context."""

    def __call__(self, user: User, /, **options: Any) -> Page: ...


@pytest.fixture
def window_of(browser: Browser, server: Server) -> WindowOf:
    """`window_of(tim, …)`: a browser window in which tim has signed in, with the options of a context."""

    def open_window(user: User, /, **options: Any) -> Page:
        user.set_password(PASSWORD)
        user.save()
        window = browser.new_context(base_url=server.url, **options).new_page()
        window.set_default_timeout(15_000)
        window.goto("/sign-in/")
        window.fill("#id_username", user.username)
        window.fill("#id_password", PASSWORD)
        window.click("button:has-text('Sign in')")
        window.wait_for_url(f"{server.url}/")
        return window

    return open_window


def focused(window: Page, attribute: str = "id") -> str:
    return str(window.evaluate(f"document.activeElement.getAttribute('{attribute}') || ''"))


def status_of(proposal: Proposal) -> str:
    proposal.refresh_from_db()
    return proposal.status
