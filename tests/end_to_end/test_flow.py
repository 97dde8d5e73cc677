"""The whole way over HTTP, against a live server: an agent proposes, a person decides, the agent sees."""

import threading
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


def test_a_rejection_reaches_the_agent_with_its_reason(goals: Block, tim: User, api: httpx.Client, person: Any) -> None:
    made = propose(api)
    path = f"/proposals/{made['proposal_id']}/"
    reviewer = person(tim)
    answer = reviewer.submit(
        reviewer.read(path), {"reason": "too_private", "comment": "Not for the files."}, path=f"{path}reject/"
    )
    assert answer.status_code == 200
    seen = get(api, made["proposal_id"])
    assert seen["status"] == "rejected"
    assert "too_private" in str(seen)
    assert "Not for the files." in str(seen)
    assert reads.block("alice", "goals") == goals


def test_two_proposals_on_one_block_and_a_change_in_between(
    goals: Block, alice: User, tim: User, api: httpx.Client, person: Any
) -> None:
    first = propose(api)
    second = propose(api, old_string="in June", new_string="in July")
    reviewer = person(tim)
    one, two = (f"/proposals/{made['proposal_id']}/" for made in (first, second))

    before = reviewer.read(two)
    reviewer.submit(reviewer.read(one), {}, path=f"{one}approve/")
    refused = reviewer.submit(before, {"comment": "I typed this."}, path=f"{two}approve/")
    assert refused.status_code == 409
    assert "I typed this." in refused.text
    assert Proposal.objects.get(pk=second["proposal_id"]).status == Status.OPEN

    accepted = reviewer.submit(reviewer.read(two), {}, path=f"{two}approve/")
    assert accepted.status_code == 200
    body = reads.block("alice", "goals").body
    assert "loves mathematics" in body
    assert "in July" in body
    assert get(api, second["proposal_id"])["revision"] == 2


def test_a_block_its_owner_changed_meanwhile_in_the_same_place_is_a_conflict(
    goals: Block, alice: User, api: httpx.Client, person: Any
) -> None:
    made = propose(api)
    path = f"/proposals/{made['proposal_id']}/"
    owner = person(alice)
    form = owner.read("/memory/alice/blocks/goals/edit/")
    fields = {
        "title": goals.title,
        "description": "",
        "body": goals.body.replace("likes math", "is tired of math"),
        "limit": str(goals.limit),
    }
    saved = owner.submit(form, fields, path="/memory/alice/blocks/goals/edit/")
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
    answers: dict[str, httpx.Response] = {}
    ready = threading.Barrier(2)

    def decide(name: str) -> None:
        ready.wait()
        answers[name] = people[name].submit(pages[name], {}, path=f"{path}approve/")

    threads = [threading.Thread(target=decide, args=(name,)) for name in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers.values()) == [200, 409]
    decided = Proposal.objects.get()
    assert decided.decided_by is not None
    winner = decided.decided_by
    loser = ({"alice", "tim"} - {winner.username}).pop()
    assert answers[loser].status_code == 409
    late = answers[loser].text
    assert winner.display_name in late or "Somebody is deciding right now." in late
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
