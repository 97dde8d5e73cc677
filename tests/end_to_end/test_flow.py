"""The whole way over HTTP, against a live server: an agent proposes, a person decides, the agent sees."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from approvals import services
from approvals.models import Proposal, Status, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.reads import Block
from tests.conftest import eventually

pytestmark = pytest.mark.slow

EDIT = {
    "user_id": "alice",
    "block_label": "goals",
    "old_string": "likes math",
    "new_string": "loves mathematics",
    "reasoning": "On Monday she said that she loves mathematics.",
    "evidence": [{"role": "user", "content": "I really love mathematics!"}],
}


def propose(api: httpx.Client, **changed: Any) -> dict[str, Any]:
    answer = api.post("/tools/propose_memory_edit/", json=EDIT | changed)
    assert answer.status_code in (200, 201), answer.text
    body = answer.json()
    assert body["ok"] is True
    return dict(body["data"])


def get(api: httpx.Client, proposal_id: int) -> dict[str, Any]:
    answer = api.get(f"/proposals/{proposal_id}/")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def test_from_proposal_to_memory(goals: Block, tim: User, api: httpx.Client, person: Any) -> None:
    made = propose(api)
    assert made["status"] == "open"
    path = f"/proposals/{made['proposal_id']}/"

    reviewer = person(tim)
    inbox = reviewer.read("/")
    assert "(1)" in inbox.text
    assert path in inbox.text
    page = reviewer.read(path)
    assert page.status_code == 200
    for said in ("loves mathematics", EDIT["reasoning"], "I really love mathematics!", "scribe", "<ins", "<del"):
        assert str(said) in page.text

    done = reviewer.submit(page, {"comment": "True."}, path=f"{path}approve/")
    assert done.status_code == 200, done.text
    read = api.post("/tools/read_memory_block/", json={"user_id": "alice", "block_label": "goals"}).json()
    assert read["text"].startswith("# Learning goals\n\n")
    assert "loves mathematics" in read["text"]

    history = reviewer.read("/memory/alice/blocks/goals/history/").text
    for said in ("scribe", "Tim Okafor", str(EDIT["reasoning"])):
        assert said in history
    seen = get(api, made["proposal_id"])
    assert seen["status"] == "approved"
    assert list(problems()) == []


def test_a_block_its_owner_changed_meanwhile_in_the_same_place_is_a_conflict(
    goals: Block, alice: User, api: httpx.Client, person: Any
) -> None:
    made = propose(api)
    path = f"/proposals/{made['proposal_id']}/"
    owner = person(alice)
    form = owner.read("/memory/alice/blocks/goals/edit/")
    body = {"body": goals.body.replace("likes math", "is tired of math")}
    saved = owner.submit(form, body, path="/memory/alice/blocks/goals/edit/")
    assert saved.status_code == 200, saved.text
    assert "is tired of math" in reads.block("alice", "goals").body
    page = owner.read(path)
    assert f'action="{path}approve/"' not in page.text
    eventually(lambda: get(api, made["proposal_id"])["mergeability"] == "conflict")
    withdrawn = api.post(f"/proposals/{made['proposal_id']}/withdraw/", json={})
    assert withdrawn.status_code == 200
    assert get(api, made["proposal_id"])["status"] == "withdrawn"


def test_of_two_people_approving_at_once_one_wins_and_the_other_sees_who(
    goals: Block, alice: User, tim: User, api: httpx.Client, person: Any
) -> None:
    made = propose(api)
    path = f"/proposals/{made['proposal_id']}/"
    people = {"alice": person(alice), "tim": person(tim)}
    pages = {name: someone.read(path) for name, someone in people.items()}
    with ThreadPoolExecutor(2) as pool:
        sent = {name: pool.submit(people[name].submit, pages[name], {}, path=f"{path}approve/") for name in people}
    answers = {name: each.result() for name, each in sent.items()}
    winner = Proposal.objects.get().decided_by
    assert winner is not None
    assert answers.pop(winner.username).status_code == 200
    (late,) = answers.values()
    assert late.status_code == 409
    assert winner.display_name in late.text or "Somebody is deciding right now." in late.text
    assert reads.block("alice", "goals").body.count("loves mathematics") == 1


@pytest.mark.parametrize("step", ["commits.record", "events.record"])
def test_a_server_killed_between_merge_and_bookkeeping_is_finished_at_the_next_start(
    goals: Block, tim: User, api: httpx.Client, person: Any, server: Any, tmp_path: Path, step: str
) -> None:
    made = propose(api)
    path = f"/proposals/{made['proposal_id']}/"
    server.end()
    # A server whose process dies at that step of an approval, for certain instead of by luck.
    (tmp_path / "sitecustomize.py").write_text(CRASH.format(step=step))
    server.environment["PYTHONPATH"] = str(tmp_path)
    server.start()
    reviewer = person(tim)
    page = reviewer.read(path)
    with pytest.raises(httpx.TransportError):
        reviewer.submit(page, {"comment": "Yes."}, path=f"{path}approve/")
    server.kill()

    proposal = Proposal.objects.get()
    assert proposal.status == Status.MERGING
    assert "loves mathematics" in reads.block("alice", "goals").body
    server.environment.clear()
    server.start()
    Proposal.objects.update(lease_expires_at="2020-01-01T00:00:00Z")
    report = services.recover()
    assert report.approved == 1
    assert get(api, made["proposal_id"])["status"] == "approved"
    assert "Yes." in reviewer.read(path).text
    assert list(problems()) == []


CRASH = """
import os, signal, sys, threading

def arm():
    import time
    while "approvals.services.merge" not in sys.modules:
        time.sleep(0.01)
    time.sleep(0.2)
    from approvals.services import events
    from memory_app.writing import commits
    def die(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)
    {step} = die

# In the worker: threads of the process that forks it do not live on there.
os.register_at_fork(after_in_child=lambda: threading.Thread(target=arm, daemon=True).start())
"""
