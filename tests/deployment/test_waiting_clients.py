"""Clients that wait for decisions, at the real server: who else is served, and what ends their wait."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from tests.conftest import eventually
from tests.deployment.conftest import OWN_SITE
from tests.services import HOST
from tests.support.sites import ROOT, Site, serving

#: A third of them may wait.
THREADS = 6
PLACES = 2
WAIT = 20
#: Seconds in which a busy machine answers if it answers at all.
ENOUGH = 10
#: Seconds in which a call has surely arrived, and waits.
ARRIVES = 2

pytestmark = OWN_SITE

_TOKENS = """
from approvals.models import Agent, User
from agent_tools import auth
from agent_tools.models import Scope
alice, scribe = User.objects.get(username="alice"), Agent.objects.get(name="scribe")
for _ in range(6):
    print(auth.issue(agent=scribe, owners=[alice], scopes=Scope.usual()).secret)
"""
_REJECT = """
from approvals import services
from approvals.models import Proposal, User
found = Proposal.objects.get(pk={number})
services.reject(actor=User.objects.get(username="alice"), proposal_id=found.pk,
    revision=found.current_revision_number, reason="wrong", comment="No.")
"""


@dataclass(frozen=True)
class Waiting:
    """A site, and tokens of an agent's whose calls wait."""

    site: Site
    tokens: list[str]

    def get(self, path: str, token: int = 0) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[token]}"}
        return httpx.get(f"{self.site.address}{path}", headers=headers, timeout=WAIT + ENOUGH)

    def propose(self) -> int:
        """A new proposal's number."""
        listed = self.get("/api/v1/users/alice/blocks/").json()["data"]["items"]
        label = next(item["label"] for item in listed if not item["read_only"])
        address = f"{self.site.address}/api/v1/users/alice/blocks/{label}/propose/"
        body = {"body": f"Made at {time.monotonic()}.", "reasoning": "She said so."}
        headers = {"Authorization": f"Bearer {self.tokens[0]}"}
        made = httpx.post(address, json=body, headers=headers, timeout=ENOUGH).json()
        return int(made["data"]["proposal_id"])


def shell(site: Site, program: str) -> str:
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=site.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    """One server for these tests, of which the last one ends it."""
    with serving(tmp_path_factory.mktemp("waiting"), ASSENT_THREADS=str(THREADS), ASSENT_PENDING_CAP="1000") as running:
        yield Waiting(running, shell(running, _TOKENS).split())
        assert "Traceback" not in running.log


def finds_no_place(response: httpx.Response) -> bool:
    return response.status_code == 200 and response.headers.get("Retry-After") == "5"


def test_who_waits_leaves_threads_for_others_and_hears_what_another_process_decides(site: Waiting) -> None:
    number = site.propose()
    path = f"/api/v1/proposals/{number}/?wait={WAIT}"
    with ThreadPoolExecutor(len(site.tokens)) as pool:
        asked = [pool.submit(site.get, path, token) for token in range(len(site.tokens))]
        eventually(lambda: sum(each.done() for each in asked) == len(asked) - PLACES, seconds=ENOUGH)
        assert all(finds_no_place(each.result()) for each in asked if each.done())
        began = time.monotonic()
        assert site.site.answers("/sign-in/")
        assert site.get("/api/v1/token/").status_code == 200
        assert time.monotonic() - began < ENOUGH
        shell(site.site, _REJECT.format(number=number))
        states = sorted(each.result().json()["data"]["status"] for each in asked)
    assert states == ["open"] * (len(asked) - PLACES) + ["rejected"] * PLACES


def test_a_client_that_hangs_up_gives_its_place_back(site: Waiting) -> None:
    path = f"/api/v1/proposals/{site.propose()}/?wait={WAIT}"
    short = path.replace(f"wait={WAIT}", "wait=1")
    with socket.create_connection((HOST, site.site.port)) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {site.tokens[0]}\r\n\r\n"
        connection.sendall(head.encode())
        time.sleep(ARRIVES)
        assert finds_no_place(site.get(short))
    began = time.monotonic()
    eventually(lambda: "Retry-After" not in site.get(short).headers, seconds=ENOUGH)
    assert time.monotonic() - began < ENOUGH


def test_the_server_stops_without_waiting_for_them(site: Waiting) -> None:
    number = site.propose()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(site.get, f"/api/v1/proposals/{number}/?wait={WAIT}")
        time.sleep(ARRIVES)
        assert not asked.done()
        began = time.monotonic()
        site.site.process.terminate()
        answer = asked.result()
        assert site.site.process.wait(10) == 0  # what `docker stop` waits
        assert time.monotonic() - began < 6
    assert (answer.json()["data"]["status"], answer.headers["Retry-After"]) == ("open", "1")
