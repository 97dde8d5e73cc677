"""Two web servers with folders of their own on one Dolt server, PostgreSQL and Redis, with a worker and one beat: what
docs/several-machines.md promises. What kills do to them is torture's (`test_torture.py`)."""

import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import httpx
import pytest

from tests import environment, services
from tests.conftest import early_in_a_minute, eventually
from tests.deployment.test_hanging import stopped
from tests.deployment.test_waiting_clients import shell
from tests.services import Services
from tests.support.pages import form
from tests.support.places import ROOT
from tests.support.receiver import Receiver, at_work, receiver
from tests.support.sites import ENOUGH, Site, serving
from tests.support.smtp import MailServer
from tests.torture.site import descendants

pytestmark = [
    pytest.mark.slow,
    pytest.mark.pure,
    pytest.mark.skipif(environment.is_embedded(), reason="a file is for one machine"),
]

THREADS, RATE_LIMIT = 8, 90
SETTINGS = {
    "ASSENT_SECRET_KEY": "of-all-machines-" + "abcdefgh" * 5,
    "ASSENT_THREADS": str(THREADS),
    "ASSENT_RATE_LIMIT": str(RATE_LIMIT),
    "ASSENT_LEASE_SECONDS": "3",
    "ASSENT_PENDING_CAP": "1000",
    "ASSENT_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}
#: Tokens for the tests, and a webhook.
_PREPARE = """
from approvals.models import Agent, User
from agent_tools import auth
from agent_tools.models import Scope
from agent_tools.webhooks import endpoints
alice, scribe = User.objects.get(username="alice"), Agent.objects.get(name="scribe")
for number in range({tokens}):
    print(auth.issue(agent=scribe, owners=[alice], scopes=Scope.usual()).secret)
User.objects.update(mail="never")
admin = User.objects.get(username="admin")
endpoints.create(actor=admin, agent=scribe, url="{hook}", events=["proposal.rejected"], all_owners=True)
"""


@dataclass
class Machines:
    """Two web servers, and what they share."""

    webs: list[Site]
    servers: Services
    hook: Receiver
    mail: MailServer
    tokens: list[str] = field(default_factory=list)

    def agent(self, web: int, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.webs[web].address, headers=headers, timeout=60)

    @contextmanager
    def person(self, web: int) -> Iterator[httpx.Client]:
        """tim, signed in at one of them."""
        with httpx.Client(base_url=self.webs[web].address, timeout=ENOUGH) as client:
            fields = form(client.get("/sign-in/"), "/sign-in/") | {"username": "tim", "password": "demo"}
            assert client.post("/sign-in/", data=fields).status_code == 302
            yield client


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with ExitStack() as stack:
        hook, mail = stack.enter_context(receiver()), stack.enter_context(MailServer())
        stack.enter_context(at_work(mail))
        servers = stack.enter_context(services.started(below="/tmp"))
        settings = SETTINGS | servers.environment | {"ASSENT_EMAIL_URL": f"smtp://127.0.0.1:{mail.port}"}
        webs = []
        for name, arguments in (("one", ["--demo"]), ("two", [])):
            folder = tmp_path_factory.mktemp(name)
            webs.append(stack.enter_context(serving(folder, *arguments, has_demo=False, **settings)))
        made = Machines(webs, servers, hook, mail)
        made.tokens = shell(webs[0], _PREPARE.format(tokens=12, hook=hook.url)).split()
        celery = [sys.executable, "-m", "celery", "-A", "memory_app.celery"]
        for name, arguments in (
            ("worker", ["--concurrency", "2", "--without-mingle"]),
            ("beat", ["--schedule", str(servers.folder / "beat")]),
        ):
            command = [*celery, name, "--loglevel", "WARNING", *arguments]
            servers.start(name, command, ready=lambda: True, env=webs[0].environment, cwd=ROOT)
        yield made


@pytest.fixture
def token(machines: Machines) -> str:
    return machines.tokens.pop()


def propose(agent: httpx.Client) -> int:
    """A new proposal's number."""
    label = next(each["label"] for each in called(agent, "list_memory_blocks")["items"] if not each["read_only"])
    arguments = {"block_label": label, "content": f"Said at {time.monotonic()}.", "reasoning": "She said so."}
    return int(called(agent, "propose_memory_append", **arguments)["proposal_id"])


def called(agent: httpx.Client, tool: str, **arguments: Any) -> Any:
    answer = agent.post(f"/api/v1/tools/{tool}/", json=arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def reject(person: httpx.Client, number: int) -> None:
    path = f"/proposals/{number}/reject/"
    fields = form(person.get(f"/proposals/{number}/"), path) | {"reason": "wrong"}
    assert person.post(path, data=fields).status_code in (302, 303)


def test_a_session_of_one_is_one_of_the_other_and_ends_at_both(machines: Machines) -> None:
    with machines.person(0) as person:
        there = httpx.Client(base_url=machines.webs[1].address, cookies=dict(person.cookies), timeout=ENOUGH)
        page = there.get("/memory/alice/")
        assert page.status_code == 200
        assert there.post("/sign-out/", data=form(page, "/sign-out/")).status_code == 302
        assert person.get("/memory/alice/").status_code == 302


def test_calls_are_counted_together(machines: Machines, token: str) -> None:
    early_in_a_minute()
    with machines.agent(0, token) as one, machines.agent(1, token) as two, ThreadPoolExecutor(3) as pool:
        ask = lambda agent: agent.get("/api/v1/token/").status_code  # noqa: E731
        assert set(pool.map(ask, [one] * 60)) == {200}
        assert sorted(pool.map(ask, [two] * 60)) == [200] * (RATE_LIMIT - 60) + [429] * (120 - RATE_LIMIT)


def test_calls_under_way_are_counted_together_and_no_longer_when_their_machine_is_killed(
    machines: Machines, token: str
) -> None:
    other = machines.tokens.pop()
    export = "/api/v1/users/alice/memories.md"  # which has a minute
    # All threads have their connections first: opening one to a server that stands still ends after five seconds.
    with ThreadPoolExecutor(THREADS) as pool, ExitStack() as stack:
        agents = [stack.enter_context(machines.agent(0, each)) for each in machines.tokens[:THREADS]]
        with stopped(machines.servers, "dolt"):
            warm = [pool.submit(agent.get, export) for agent in agents]
            time.sleep(2)
        assert {each.result().status_code for each in warm} == {200}
    with (
        machines.agent(0, token) as one,
        machines.agent(1, token) as two,
        machines.agent(1, other) as rival,
        ThreadPoolExecutor(4) as pool,
    ):
        with stopped(machines.servers, "dolt"):
            hanging = [pool.submit(one.get, export) for _ in range(4)]
            time.sleep(2)
            assert rival.get("/api/v1/token/").status_code == 200
            refused = two.get("/api/v1/token/")
            assert (refused.status_code, refused.headers.get("Retry-After")) == (429, "2"), refused.text
            assert refused.json()["error"]["code"] == "too_many_at_once"
            parent = machines.webs[0].process.pid
            for pid in [*descendants(parent), parent]:
                os.kill(pid, signal.SIGKILL)
            machines.webs[0].process.wait()
            began = time.monotonic()
            assert two.get("/api/v1/token/").status_code == 200, "not refused for what nobody does"
            assert time.monotonic() - began < 5
        for each in hanging:
            assert isinstance(each.exception(), httpx.HTTPError)
        called(two, "list_memory_blocks")
    machines.webs[0].services.begin("serve")
    machines.webs[0].services.wait_for("serve")


def test_who_waits_at_one_hears_what_is_decided_at_the_other(machines: Machines, token: str) -> None:
    with machines.person(0) as person, machines.agent(1, token) as agent, ThreadPoolExecutor(1) as pool:
        number = propose(agent)
        asked = pool.submit(agent.get, f"/api/v1/proposals/{number}/?wait=20")
        time.sleep(1)
        assert not asked.done()
        began = time.monotonic()
        reject(person, number)
        assert asked.result().json()["data"]["status"] == "rejected"
        assert time.monotonic() - began < 10


def test_a_note_saved_at_one_is_found_at_the_other_at_once(machines: Machines, token: str) -> None:
    with machines.agent(0, token) as one, machines.agent(1, token) as two:
        for number in range(5):
            writer, reader = (one, two) if number % 2 else (two, one)
            said = f"Keeps {number} hedgehogs in the attic."
            note_id = called(writer, "memory_save", content=said)["note_id"]
            found = reader.post("/api/v1/tools/memory_search/", json={"query": "hedgehogs attic"}).json()["text"]
            listed = reader.post("/api/v1/tools/recall/", json={}).json()["text"]
            assert said in found
            assert said in listed
            called(writer, "memory_delete", note_id=note_id)
            assert note_id not in reader.post("/api/v1/tools/recall/", json={}).json()["text"]


def test_an_import_at_both_is_done_once_and_a_decision_is_told_once(machines: Machines, token: str) -> None:
    file = "# Memories\n\n## Notes\n\n" + "\n".join(
        f"### mem-700000000000-{number:04d}\n> Rides horse {number}\n<!-- tags: | created: 2025-01-20 -->\n"
        for number in range(30)
    )

    def bring(agent: httpx.Client) -> httpx.Response:
        headers = {"Content-Type": "text/markdown", "Idempotency-Key": "horses"}
        return agent.post("/api/v1/users/alice/memories.md", content=file, headers=headers)

    with machines.agent(0, token) as one, machines.agent(1, token) as two, machines.person(1) as person:
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(bring, (one, two)))
        assert sorted({answer.status_code for answer in answers} | {200}) in ([200], [200, 409], [200, 429])
        assert bring(one).status_code == bring(two).status_code == 200
        exported = one.get("/api/v1/users/alice/memories.md").text
        assert all(exported.count(f"Rides horse {number}\n") == 1 for number in range(30))
        numbers = [propose(agent) for agent in (one, two) * 3]
        for number in numbers[1:]:
            reject(person, number)
    shell(machines.webs[0], _TELL_TIM)
    # As if each had a beat of its own, too.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(shell, machines.webs, [_BY_THE_CLOCK] * 2))
    told = lambda: [each.message["data"]["proposal_id"] for each in machines.hook.received]  # noqa: E731
    eventually(lambda: set(numbers[1:]) <= set(told()), seconds=60)
    eventually(lambda: machines.mail.mails, seconds=90)
    time.sleep(25)  # the beat's next turn of each
    assert all(told().count(number) == 1 for number in numbers[1:])
    ((recipient, mail),) = machines.mail.mails
    assert recipient == "tim@example.org"
    assert "/proposals/" in next(mail.iter_parts()).get_content()


_TELL_TIM = """
from approvals.models import User
User.objects.filter(username="tim").update(mail="at_once", email="tim@example.org")
"""
_BY_THE_CLOCK = """
import time
from agent_tools.webhooks import sending
from memory_app.celery import app, load_tasks
load_tasks()
for _ in range(10):
    for task in ("approvals.recover", "approvals.send_digests", "agent_tools.send_webhooks"):
        app.tasks[task]()
    time.sleep(1)
sending.settle()
"""


def test_a_process_has_no_more_connections_than_the_document_says(machines: Machines, token: str) -> None:
    web, document = machines.webs[0], (ROOT / "docs/several-machines.md").read_text()
    with ExitStack() as stack:
        agents = [stack.enter_context(machines.agent(0, each)) for each in (token, *machines.tokens)]
        label = called(agents[0], "list_memory_blocks")["items"][0]["label"]
        tools: list[tuple[str, dict[str, str]]] = [
            ("memory_save", {"content": "Rows on day {}."}),
            ("read_memory_block", {"block_label": label, "as_of": "2999-01-01"}),
            ("memory_search", {"query": "day {}"}),
        ]
        with ThreadPoolExecutor(2 * THREADS) as pool:
            for number in range(90):
                tool, arguments = tools[number % len(tools)]
                given = {name: value.format(number) for name, value in arguments.items()}
                pool.submit(agents[number % len(agents)].post, f"/api/v1/tools/{tool}/", json=given)
            pool.submit(agents[0].get, "/readyz")
            most: Counter[str] = Counter()
            for _ in range(20):
                for name in ("MEMORY_DATABASE_URL", "DATABASE_URL"):
                    most[name] = max(most[name], connections_to(web, name))
                time.sleep(0.1)
    for name, engine in (("MEMORY_DATABASE_URL", "Dolt"), ("DATABASE_URL", "PostgreSQL")):
        said = re.search(rf"\| {engine} \| (?:(\d) × )?threads \+ (\d+) \|", document)
        assert said is not None
        assert THREADS // 2 <= most[name] <= int(said[1] or 1) * THREADS + int(said[2]), (engine, most)


def connections_to(web: Site, name: str) -> int:
    """How many connections a web server holds to a server of its settings."""
    port = urlparse(web.environment[name]).port
    held = 0
    for pid in [web.process.pid, *descendants(web.process.pid)]:
        handles = [Path(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        sockets = {os.readlink(handle) for handle in handles if handle.is_symlink()}
        for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            remote, inode = line.split()[2], line.split()[9]
            held += f"socket:[{inode}]" in sockets and int(remote.rpartition(":")[2], 16) == port
    return held
