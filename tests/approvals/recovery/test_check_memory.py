"""`check_memory` finds what was changed past Assent, says what to do, and never fails itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

from approvals import services
from approvals.models import Agent, Proposal, Revision, Status, User
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.models import Change
from memory_app.reads import Block
from tests.databases import reset_hard
from tests.support.acts import approve
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose


def codes() -> list[str]:
    return [problem.code for problem in problems()]


@pytest.fixture
def approved(goals: Block, tim: User, propose: Propose) -> Proposal:
    return approve(tim, propose(goals, "math", "maths"), comment="Fine.")


@pytest.fixture
def waiting(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "math", "maths")


def move_branch(name: str) -> None:
    dolt().drop_branch(name)
    dolt().create_branch(name, head_of_main())


@pytest.mark.parametrize(
    ("which", "damage", "code"),
    [
        ("approved", lambda _: Proposal.objects.update(status=Status.REJECTED), "decision_contradicted"),
        ("approved", lambda _: Revision.objects.update(result_text="Something else."), "text_altered"),
        # The memory's own user can: it takes no more than `CALL dolt_reset`.
        ("approved", lambda _: reset_hard(dolt().parent(head_of_main())), "memory_older"),
        ("approved", lambda _: dolt().create_branch("p/77", head_of_main()), "orphan_branch"),
        ("waiting", lambda _: Revision.objects.update(result_text="Something else."), "text_altered"),
        ("waiting", lambda _: Revision.objects.update(base_text="Something else."), "text_altered"),
        ("waiting", lambda found: move_branch(found.current_revision.branch), "branch_moved"),
    ],
)
def test_a_proposal_that_was_damaged(
    request: pytest.FixtureRequest, which: str, damage: Callable[[Proposal], object], code: str
) -> None:
    proposal = request.getfixturevalue(which)
    assert codes() == []
    damage(proposal)
    assert codes() == [code]


def test_a_note_that_was_altered_while_it_waits_and_one_applied_whose_proposal_was_deleted(
    alice: User, scribe: Agent
) -> None:
    for may_apply in (False, True):
        by = ChangeContext(actor=scribe, may_apply=may_apply, reasoning="Said so.")
        notes.save(by=by, owner="alice", content=f"She likes maths. {may_apply}")
    assert codes() == []
    revision = Revision.objects.earliest("pk")
    revision.note_changes[0]["after"]["content"] = "She hates maths."
    revision.save()
    assert codes() == ["text_altered"]
    Proposal.objects.filter(status=Status.APPLIED).delete()
    assert set(codes()) == {"text_altered", "proposal_missing"}


@pytest.mark.parametrize(
    "change", [{"actor": "mallory"}, {"agent": "other"}, {"action": "edited"}, {"comment": "x"}, {"owner": "ben"}]
)
def test_a_row_of_the_ledger_that_was_rewritten(approved: Proposal, change: dict[str, str]) -> None:
    Change.objects.filter(commit=approved.merge_commit).update(**change)
    assert "ledger_differs" in codes()
    call_command("rebuild_ledger", verbosity=0)
    assert codes() == []


def test_a_merge_without_a_lease_is_found_and_finished(goals: Block, tim: User, waiting: Proposal) -> None:
    claim = {"decided_by": tim, "seen_sha256": goals.sha256, "merge_operation": "f" * 32, "main_before": head_of_main()}
    Proposal.objects.update(status=Status.MERGING, **claim)
    assert codes() == ["interrupted"]
    services.recover()
    waiting.refresh_from_db()
    assert waiting.status == Status.APPROVED
    assert codes() == []


def test_findings_say_what_to_do_also_as_json_and_looking_changes_nothing(approved: Proposal, capsys: Any) -> None:
    Change.objects.filter(commit=approved.merge_commit).delete()
    before = head_of_main(), Change.objects.count()
    with pytest.raises(CommandError, match="1 problem"):
        call_command("check_memory")
    assert "Run `manage.py recover`." in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("check_memory", "--json")
    (finding,) = json.loads(capsys.readouterr().out)
    assert finding.keys() == {"code", "about", "what", "advice"}
    assert (finding["code"], finding["about"]) == ("ledger_lacks", approved.merge_commit)
    assert (head_of_main(), Change.objects.count()) == before
    services.recover()
    call_command("check_memory", "--json")
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.skipif(not settings.EMBEDDED_MEMORY, reason="the servers' files are the servers'")
@pytest.mark.parametrize("at", [0, 5_000])
@pytest.mark.parametrize("name", ["assent.sqlite3", "memory.doltlite"])
def test_a_damaged_file_is_a_finding(approved: Proposal, name: str, at: int) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connections.close_all()
    file = Path(settings.DATA_DIR) / name
    data = bytearray(file.read_bytes())
    data[at : at + 3_000] = b"\xff" * len(data[at : at + 3_000])
    file.write_bytes(data)
    try:
        found = list(problems())
    finally:
        connections.close_all()
    if at < 100:  # the headers; elsewhere it may be room nobody uses
        assert found
    assert all(problem.advice for problem in found)
