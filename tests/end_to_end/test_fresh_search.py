"""A search right after a call that changed the memory, in the same process and in another, through HTTP; and what else
two processes that serve the same databases have in common. Of two machines: tests/deployment/test_two_web_servers.py.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from approvals.models import TrustRule, User
from benchmarks.processes import web_server
from memory_app.reads import Block
from tests.conftest import in_a_thread
from tests.support.fixtures import Propose
from tests.support.pages import form

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("worker")]


class Site:
    """Two processes that serve the same databases; the first one writes."""

    def __init__(self, ports: tuple[int, int], token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.writer, self.searcher = (
            httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1/tools/", headers=headers, timeout=60)
            for port in ports
        )

    def write(self, tool: str, **arguments: Any) -> Any:
        answer = self.writer.post(f"{tool}/", json=arguments).json()
        assert answer["ok"], answer
        assert answer["data"]["status"] == "applied", answer
        return answer["data"]

    def found(self, client: httpx.Client, tool: str, query: str) -> str:
        """The text of a search, which is not behind."""
        answer = client.post(f"{tool}/", json={"query": query}).json()
        assert answer["ok"], answer
        assert not answer["data"]["index_behind"], answer
        assert "newest changes" not in answer["text"]
        return str(answer["text"])


@pytest.fixture
def site(tmp_path: Path, alice: User, token: str) -> Iterator[Site]:
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("writer", "searcher")]
        ports = []
        for folder in folders:
            folder.mkdir()
            unlimited = {**os.environ, "ASSENT_RATE_LIMIT": "100000"}
            ports.append(stack.enter_context(web_server("memory_app.wsgi", folder, unlimited)))
        made = Site((ports[0], ports[1]), token)
        for client in (made.writer, made.searcher):
            stack.enter_context(client)
            made.found(client, "memory_search", "the first search makes the index")
        yield made


@pytest.mark.parametrize(
    ("who", "rounds"),
    [
        ("searcher", 3),
        pytest.param("searcher", 100, marks=pytest.mark.nightly),
        pytest.param("writer", 100, marks=pytest.mark.nightly),
    ],
)
def test_a_search_right_after_a_change_is_right(site: Site, goals: Block, alice: User, who: str, rounds: int) -> None:
    TrustRule.objects.create(owner="alice", block="goals", needs=TrustRule.Needs.NOTHING, made_by=alice)
    client, read = getattr(site, who), "She reads one book a month."
    wrong: list[tuple[int, str, str]] = []
    for number in range(rounds):
        tool = ("memory_search", "recall")[number % 2]
        note_id = site.write("memory_save", content=f"Keeps {number} bees in a yellow hive.")["note_id"]
        if f"Keeps {number} bees" not in (text := site.found(client, tool, "bees hive")):
            wrong.append((number, "saved", text))
        site.write("memory_update", note_id=note_id, content=f"Moved the hive with {number} bees to Bonn.")
        text = site.found(client, tool, "bees hive")
        if "yellow" in text or f"with {number} bees" not in text:
            wrong.append((number, "updated", text))
        site.write("memory_delete", note_id=note_id)
        if note_id in (text := site.found(client, tool, "bees hive")):
            wrong.append((number, "deleted", text))
        edit = {"block_label": "goals", "old_string": read, "new_string": f"She reads {number} comics a week."}
        site.write("propose_memory_edit", reasoning="She said so.", **edit)
        text = site.found(client, "memory_search", "what does she read")
        if read in text or edit["new_string"] not in text:
            wrong.append((number, "edited", text))
        read = edit["new_string"]
    assert wrong == []


def test_what_is_signed_in_and_decided_at_one_process_is_known_at_the_other(
    site: Site, alice: User, goals: Block, propose: Propose
) -> None:
    # As the web server hashes it, not as tests do.
    alice.password = PBKDF2PasswordHasher().encode("a long enough passphrase", "a salt of twenty-two letters")
    alice.save()
    proposal = propose(goals, "likes math", "loves math")
    one, two = (str(client.base_url.copy_with(path="")) for client in (site.writer, site.searcher))
    with httpx.Client(base_url=one, timeout=60) as person:
        fields = form(person.get("/sign-in/"), "/sign-in/") | {
            "username": "alice",
            "password": "a long enough passphrase",
        }
        assert person.post("/sign-in/", data=fields).status_code == 302
        path = f"/proposals/{proposal.pk}/"
        assert httpx.get(two + path, cookies=dict(person.cookies), timeout=60).status_code == 200
        headers, heard = dict(site.searcher.headers), []
        waiting = in_a_thread(
            lambda: heard.append(httpx.get(f"{two}/api/v1{path}?wait=15", headers=headers, timeout=60).json())
        )
        time.sleep(1)
        fields = form(person.get(path), f"{path}reject/") | {"reason": "wrong"}
        assert person.post(f"{path}reject/", data=fields).status_code in (302, 303)
        waiting.join()
    assert heard[0]["data"]["status"] == "rejected"


@pytest.mark.nightly
def test_searches_beside_a_writer_give_no_note_twice_and_end_right(site: Site) -> None:
    """Both processes index the same note, each time one of them finds the index behind."""
    note_id = site.write("memory_save", content="Keeps 0 bees.")["note_id"]

    def write() -> None:
        for number in range(1, 31):
            site.write("memory_update", note_id=note_id, content=f"Keeps {number} bees.")

    writing = in_a_thread(write)
    while writing.is_alive():
        hits = site.searcher.post("memory_search/", json={"query": "bees"}).json()["data"]["results"]
        assert [hit["note_id"] for hit in hits] in ([note_id], [])
    for client in (site.writer, site.searcher):
        assert "Keeps 30 bees." in site.found(client, "memory_search", "bees")
