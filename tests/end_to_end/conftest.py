"""A real server process on loopback, real HTTP clients, on the databases of the test."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.conftest import eventually
from tests.services import free_ports
from tests.support.copies import Copy, Origin
from tests.support.fixtures import Propose
from tests.support.pages import form

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long enough passphrase"
_FOR_BROWSERS = "DJANGO_ALLOW_ASYNC_UNSAFE"

# What is expected has to come, not to be fast: a batch of 25 took over five seconds of a machine that runs both legs.
expect.set_options(timeout=45_000)


@dataclass
class Server:
    """The web server as `make run` and the container start it, or a copy of a process that has loaded what it needs.

    Args:
        origin: what to make a copy of, where the server is to have the same variables.
        environment: variables besides those of this process.
    """

    port: int
    origin: Origin | None = None
    process: subprocess.Popen[bytes] | Copy | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        connections.close_all()
        environment = variables(self.port) | self.environment
        arguments = ["--bind", f"127.0.0.1:{self.port}"]
        if self.origin and self.origin.environment == environment:
            self.process = self.origin.web_server(arguments)
        else:
            command = [sys.executable, "-m", "memory_app.webserver", *arguments]
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        eventually(self._answers, seconds=90)

    def kill(self) -> None:
        """End it the hard way, workers included, as a power cut would."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        eventually(self._is_port_free)  # its workers hold it until they are gone, a moment later

    def end(self) -> None:
        """End it at once: what it waits for when it is told to end takes seconds, and is tested beside."""
        if self.process and self.process.poll() is None:
            self.kill()

    def _is_port_free(self) -> bool:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server has it
            try:
                probe.bind(("127.0.0.1", self.port))
            except OSError:
                return False
        return True

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server ended at once"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


def variables(port: int) -> dict[str, str]:
    """Return the variables of a server's process."""
    # What pytest says of the running test, and what only the process with the browser needs, makes no other server. How
    # much of the pages runs is measured in tests of views: a server that measures itself takes twice as long.
    of_tests = {"PYTEST_CURRENT_TEST", _FOR_BROWSERS, "COVERAGE_PROCESS_START", "COVERAGE_FILE"}
    return {name: value for name, value in os.environ.items() if name not in of_tests} | {
        "DJANGO_SETTINGS_MODULE": "memory_app.settings",
        "ASSENT_PUBLIC_URL": f"http://127.0.0.1:{port}",
    }


@pytest.fixture(scope="session")
def port() -> int:
    """The port of the servers of this process, of which one runs at a time."""
    return free_ports(1)[0]


@pytest.fixture(scope="session")
def origin(port: int) -> Iterator[Origin]:
    made = Origin(variables(port))
    yield made
    made.close()


@pytest.fixture
def server(worker: None, port: int, origin: Origin) -> Iterator[Server]:
    running = Server(port, origin)
    running.start()
    yield running
    running.end()


@pytest.fixture
def api(server: Server, token: str) -> Iterator[httpx.Client]:
    """scribe's HTTP client."""
    with httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


class Person:
    """A person at the pages without JavaScript: follows links and sends forms, CSRF and all."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, follow_redirects=True, timeout=20)

    def read(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def submit(self, page: httpx.Response, fields: dict[str, Any], *, path: str) -> httpx.Response:
        """Send the form of `page` that goes to `path`, with what is in it already, as a browser would."""
        return self.http.post(path, data=form(page, path) | fields, headers={"Referer": str(page.url)})


@pytest.fixture
def person(server: Server) -> Callable[[User], Person]:
    """`person(tim)`: tim, signed in with a password, through the sign-in page."""

    def signed_in(user: User) -> Person:
        give_password(user)
        someone = Person(server.url)
        typed = {"username": user.username, "password": PASSWORD}
        answer = someone.submit(someone.read("/sign-in/"), typed, path="/sign-in/")
        assert answer.status_code == 200, answer.text
        assert "/sign-in/" not in str(answer.url)
        return someone

    return signed_in


def give_password(user: User) -> None:
    user.password = _hashed()
    user.save()


@cache
def _hashed() -> str:
    """Return the hash of the password that a server knows, made once: it takes a quarter of a second, as it should."""
    return make_password(PASSWORD, hasher="pbkdf2_sha256")


#: Nothing may leave the machine, and no browser feature may try.
FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync""".split()


@pytest.fixture(scope="module")
def running_browser(chromium: str) -> Iterator[Browser]:
    """One browser for the tests of a file: to start one takes a second of the processor."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright drives its own event loop in this thread, which Django takes for asynchronous code.
        patch.setenv(_FOR_BROWSERS, "true")
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def browser(running_browser: Browser) -> Iterator[Browser]:
    """A browser without windows: what a test opens goes with it, cookies and all."""
    yield running_browser
    for context in running_browser.contexts:
        context.close()


class WindowOf(Protocol):
    """`window_of(tim, …)`: a browser window in which tim has signed in, with the options of a context."""

    def __call__(self, user: User, /, **options: Any) -> Page: ...


@pytest.fixture
def window_of(browser: Browser, server: Server) -> WindowOf:
    """`window_of(tim, …)`: a browser window in which tim has signed in, with the options of a context."""

    def open_window(user: User, /, **options: Any) -> Page:
        give_password(user)
        client = Client()
        client.force_login(user)
        context = browser.new_context(base_url=server.url, **options)
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": server.url}])
        window = context.new_page()
        window.set_default_timeout(15_000)
        window.goto("/")
        return window

    return open_window


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    """Scribe wants to write July where alice's goals say June."""
    return propose(goals, "in June", "in July", reasoning="The exam was moved.")


@pytest.fixture
def inbox(window_of: WindowOf, tim: User, proposal: Proposal) -> Page:
    """tim's list, with the proposal on it."""
    return window_of(tim)


@pytest.fixture
def proposal_page(inbox: Page, proposal: Proposal) -> Page:
    """The proposal's page, as tim opens it from the list."""
    inbox.goto(proposal.get_absolute_url())
    return inbox


def focused(window: Page, attribute: str = "id") -> str:
    return str(window.evaluate(f"document.activeElement.getAttribute('{attribute}') || ''"))


def status_of(proposal: Proposal) -> str:
    proposal.refresh_from_db()
    return proposal.status
