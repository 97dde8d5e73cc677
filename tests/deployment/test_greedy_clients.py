"""An agent with many connections at the real server: who else is served, and what becomes of its calls."""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Any

import httpx
import pytest

from tests.deployment.conftest import OWN_SITE
from tests.deployment.test_waiting_clients import shell
from tests.support.sites import ROOT, Site, serving

THREADS, AT_ONCE, CONNECTIONS = 8, 3, 24

pytestmark = OWN_SITE

_TOKENS = """
from approvals.models import Agent, User
from agent_tools import auth
from agent_tools.models import Scope
for name in ("alice", "ben"):
    agent, owner = Agent.objects.get(name="scribe"), User.objects.get(username=name)
    print(auth.issue(agent=agent, owners=[owner], scopes=Scope.usual()).secret)
"""
_HOLD = """
import sys
from django.db import connections
connections["memory"].set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = {"ASSENT_THREADS": str(THREADS), "ASSENT_CALLS_UNDER_WAY": str(AT_ONCE), "ASSENT_RATE_LIMIT": "100000"}
    with serving(tmp_path_factory.mktemp("greedy"), **settings) as running:
        yield running
        assert "Traceback" not in running.log


@contextmanager
def nothing_written(site: Site) -> Iterator[None]:
    """Another process holds the memory for writing, so that a save waits until its time is up."""
    arguments = [sys.executable, "manage.py", "shell", "--no-imports", "-c", _HOLD]
    options: dict[str, Any] = {"cwd": ROOT, "env": site.environment, "stdin": PIPE, "stdout": PIPE}
    with Popen(arguments, **options) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.stdin.close()


def test_one_agent_s_connections_leave_threads_for_everybody_else(site: Site) -> None:
    greedy, other = shell(site, _TOKENS).split()

    def call(token: str, tool: str, **arguments: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.post(f"{site.address}/api/v1/tools/{tool}/", json=arguments, headers=headers, timeout=60)

    for token in (greedy, other):
        assert call(token, "list_memory_blocks").status_code == 200
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        with nothing_written(site):
            asked = [
                pool.submit(call, greedy, "memory_save", content=f"Has {number} hats.") for number in range(CONNECTIONS)
            ]
            time.sleep(0.5)
            for _ in range(3):
                assert site.answers("/sign-in/")
                assert call(other, "list_memory_blocks").status_code == 200
            assert sum(each.done() for each in asked) < CONNECTIONS / 2, "others do not wait for its calls"
        statuses = {each.result().status_code for each in asked}
    assert 200 in statuses
    assert statuses <= {200, 504}, "each has its turn"
