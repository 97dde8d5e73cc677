"""Faults at awkward moments: a connection lost while committing, servers that are away, a full queue."""

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from approvals import services
from approvals.models import Proposal, Status, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.dolt import errors
from memory_app.dolt.operations import DoltOperations
from memory_app.reads import Block
from tests import environment
from tests.support.acts import approve
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
server_only = pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine has no connection to lose")


def hang_up() -> None:
    """Have the server end this thread's session, from another session."""
    victim = connections["memory"]
    other = victim.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(f"KILL {victim.connection.thread_id()}")
    finally:
        other.close()


@server_only
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_lost_while_merging_is_neither_doubled_nor_forgotten(
    goals: Block, alice: User, propose: Propose, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    proposal = propose(goals, "math", "maths")
    merge = DoltOperations.merge
    calls: list[str] = []

    def interrupted(self: DoltOperations, head: str, *rest: Any) -> str:
        calls.append(head)
        if len(calls) > 1:
            return merge(self, head, *rest)
        if when == "before":
            hang_up()
            return merge(self, head, *rest)
        merged = merge(self, head, *rest)
        hang_up()
        return merged

    monkeypatch.setattr(DoltOperations, "merge", interrupted)
    decided = services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)
    assert decided.status == Status.APPROVED
    assert len(calls) == (2 if when == "before" else 1)
    assert [commit.author for commit in dolt().log(limit=2)] == ["Alice Berg", "scribe"]
    assert [row.action for row in reads.history("alice", "block", "goals")] == ["approved", "created"]
    assert list(problems()) == []


@server_only
def test_a_session_that_ended_in_between_is_opened_again(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    hang_up()
    with pytest.raises(errors.EngineUnavailable):
        reads.block("alice", "goals")
    connections["memory"].close_if_unusable_or_obsolete()  # what every request begins with
    approve(alice, proposal)
    assert list(problems()) == []


def test_an_engine_that_is_away_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    connections["memory"].close()
    away = ("NAME", "/nonexistent/memory.doltlite") if environment.is_embedded() else ("PORT", nobody_listens())
    monkeypatch.setitem(connections["memory"].settings_dict, *away)
    for attempt in (
        lambda: reads.block("alice", "goals"),
        lambda: reads.blocks("alice"),
        lambda: reads.made_at_of_blocks([("alice", "goals")]),
        head_of_main,
    ):
        with pytest.raises(errors.EngineUnavailable):
            attempt()
        connections["memory"].close()


@server_only
@pytest.mark.parametrize("listens", [False, True])
def test_an_approval_does_not_wait_for_a_broker_that_is_away_or_hangs(
    goals: Block, alice: User, propose: Propose, listens: bool
) -> None:
    first, second = propose(goals, "math", "maths"), propose(goals, "June", "July")
    program = f"""
        import django; django.setup()
        from approvals.models import Proposal, User
        from tests.support.acts import approve
        approve(User.objects.get(), Proposal.objects.get(pk={first.pk}))
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        port = silent.getsockname()[1] if listens else nobody_listens()
        environ = os.environ | {"REDIS_URL": f"redis://127.0.0.1:{port}/0"}
        environ["DJANGO_SETTINGS_MODULE"] = "memory_app.settings"
        subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, env=environ, check=True, timeout=60)
    second.refresh_from_db()
    assert Proposal.objects.get(pk=first.pk).status == Status.APPROVED
    assert second.mergeability == "rebasable"  # checked inline instead


def nobody_listens() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
