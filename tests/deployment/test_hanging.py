"""A server that takes connections and answers nothing: everybody hears it in time, and health tells the truth."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest

from tests import environment, services
from tests.conftest import eventually
from tests.services import Services
from tests.support.pages import form
from tests.support.sites import ENOUGH, answers, serving
from tests.torture.site import descendants

#: Enough for signing in on a busy machine, which is a second of hashing.
PAGE_SECONDS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.pure,
    pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server"),
]

PAGES = """/ /proposals/1/ /memory/ /memory/alice/ /memory/alice/blocks/goals/ /memory/alice/notes/
    /memory/alice/search/?q=goals /memory/alice/export/memory.json /settings/ /agents/ /admin/
    /nothing/here/""".split()
CALLS = ["/api/v1/token/", "/api/v1/users/alice/blocks/", "/api/v1/users/alice/notes/", "/api/v1/proposals/"]


@dataclass(frozen=True)
class Site:
    address: str
    person: httpx.Client
    agent: httpx.Client
    servers: Services


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Everything of its own: what is stopped here is used by nobody else."""
    settings = {"ASSENT_PAGE_TIMEOUT": str(PAGE_SECONDS), "ASSENT_THREADS": "16", "ASSENT_TOOL_TIMEOUT": "1"}
    folder = tmp_path_factory.mktemp("hanging")
    with (
        services.started(below="/tmp") as servers,
        serving(folder, "--demo", has_demo=False, **settings, **servers.environment) as web,
    ):
        limits = httpx.Limits(max_connections=100)
        person = httpx.Client(base_url=web.address, timeout=ENOUGH, follow_redirects=True, limits=limits)
        agent = httpx.Client(base_url=web.address, timeout=ENOUGH, headers={"Authorization": f"Bearer {web.token}"})
        with person, agent:
            page = person.get("/sign-in/")
            fields = form(page, "/sign-in/") | {"username": "admin", "password": "demo"}
            assert person.post("/sign-in/", data=fields).is_success
            yield Site(web.address, person, agent, servers)


@contextmanager
def stopped(servers: Services, name: str) -> Iterator[None]:
    """The server and its children stand still, with their connections open."""
    pid = servers.running[name].pid
    processes = [pid, *descendants(pid)]
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            os.kill(each, signal.SIGCONT)


@pytest.mark.parametrize("name", ["dolt", "postgres", "redis"])
def test_whatever_hangs_everything_is_answered(name: str, site: Site) -> None:
    part = {"dolt": "memory", "postgres": "default", "redis": "redis"}[name]
    with stopped(site.servers, name), ThreadPoolExecutor(8) as askers:
        pages = {path: askers.submit(site.person.get, path) for path in PAGES}
        calls = {path: askers.submit(site.agent.get, path) for path in CALLS}
        ready = [httpx.get(f"{site.address}/readyz", timeout=ENOUGH) for _ in range(2)]
        for _ in range(3):
            assert httpx.get(f"{site.address}/healthz", cookies=dict(site.person.cookies), timeout=ENOUGH).is_success
        for answer in ready:
            assert answer.status_code == 503
            assert answer.json()["error"]["details"]["failed"] == [part]
        for path, asked in pages.items():
            answer = asked.result()
            assert answer.status_code in (200, 404, 503), f"{path}: {answer.status_code}"
            if answer.status_code == 503:
                assert "does not answer at the moment" in answer.text, path
        for path, asked in calls.items():
            answer = asked.result()
            assert answer.status_code in (200, 503, 504), f"{path}: {answer.status_code} {answer.text}"
            assert answer.json()["ok"] is (answer.status_code == 200)
        away = [path for path, asked in (pages | calls).items() if asked.result().status_code > 500]
        if name == "postgres":
            assert sorted(away) == sorted(PAGES + CALLS)
        if name == "dolt":
            assert {"/memory/alice/", "/memory/alice/blocks/goals/", "/api/v1/users/alice/blocks/"} <= set(away)
        if name == "redis":
            assert away == []
    eventually(lambda: answers(f"{site.address}/readyz"), seconds=50)
    assert site.person.get("/memory/alice/").status_code == 200
    assert site.agent.get("/api/v1/users/alice/blocks/").status_code == 200
