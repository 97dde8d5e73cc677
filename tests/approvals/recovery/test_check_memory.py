"""`check_memory` finds what was changed past Assent, says what to do, and never fails itself."""

import json
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
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.fixtures import Propose


def codes() -> list[str]:
    return [problem.code for problem in problems()]


@pytest.fixture
def approved(goals: Block, tim: User, propose: Propose) -> Any:
    proposal = propose(goals, "math", "maths")
    return services.approve(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256, comment="Fine.")


@pytest.fixture
def applied(alice: User, scribe: Agent) -> Any:
    by = ChangeContext(actor=scribe, may_apply=True, reasoning="Said so.")
    return notes.save(by=by, owner="alice", content="She likes maths.").proposal


def test_an_approved_proposal_set_to_rejected(approved: Any) -> None:
    Proposal.objects.update(status=Status.REJECTED)
    assert codes() == ["decision_contradicted"]


def test_an_applied_proposal_that_was_deleted(applied: Any) -> None:
    assert codes() == []
    Proposal.objects.all().delete()
    assert set(codes()) == {"proposal_missing"}


@pytest.mark.parametrize(
    "change", [{"actor": "mallory"}, {"agent": "other"}, {"action": "edited"}, {"comment": "x"}, {"owner": "ben"}]
)
def test_a_row_of_the_ledger_that_was_rewritten(approved: Any, change: dict[str, str]) -> None:
    Change.objects.filter(commit=approved.merge_commit).update(**change)
    assert "ledger_differs" in codes()
    call_command("rebuild_ledger", verbosity=0)
    assert codes() == []


@pytest.mark.parametrize("column", ["result_text", "base_text"])
def test_the_text_of_an_open_proposal_that_was_altered(goals: Block, propose: Propose, column: str) -> None:
    propose(goals, "math", "maths")
    assert codes() == []
    Revision.objects.update(**{column: "Something else."})
    assert codes() == ["text_altered"]


def test_the_note_of_an_open_proposal_that_was_altered(alice: User, scribe: Agent) -> None:
    notes.save(
        by=ChangeContext(actor=scribe, may_apply=False, reasoning="Said so."), owner="alice", content="She likes maths."
    )
    assert codes() == []
    revision = Revision.objects.get()
    revision.note_changes[0]["after"]["content"] = "She hates maths."
    revision.save()
    assert codes() == ["text_altered"]


def test_the_text_of_an_approved_proposal_that_was_altered(approved: Any) -> None:
    Revision.objects.update(result_text="Something else.")
    assert codes() == ["text_altered"]


def test_a_memory_that_was_put_back_past_assent(approved: Any) -> None:
    """The memory's own user can: it takes no more than `CALL dolt_reset`."""
    dolt().reset_hard(dolt().parent(head_of_main()))
    assert codes() == ["memory_older"]


def test_a_branch_of_nobody(goals: Block) -> None:
    dolt().create_branch("p/77", head_of_main())
    assert codes() == ["orphan_branch"]


def test_a_branch_that_was_moved(goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    dolt().drop_branch(proposal.current_revision.branch)
    dolt().create_branch(proposal.current_revision.branch, head_of_main())
    assert codes() == ["branch_moved"]


def test_a_merge_without_a_lease_is_found_and_finished(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    Proposal.objects.filter(pk=proposal.pk).update(
        status=Status.MERGING,
        decided_by=tim,
        seen_sha256=goals.sha256,
        merge_operation="f" * 32,
        main_before=head_of_main(),
    )
    assert codes() == ["interrupted"]
    services.recover()
    proposal.refresh_from_db()
    assert proposal.status == Status.APPROVED
    assert codes() == []


def test_findings_say_what_to_do_also_as_json(approved: Any, capsys: Any) -> None:
    Change.objects.filter(commit=approved.merge_commit).delete()
    with pytest.raises(CommandError, match="1 problem"):
        call_command("check_memory")
    assert "Run `manage.py recover`." in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("check_memory", "--json")
    (finding,) = json.loads(capsys.readouterr().out)
    assert finding.keys() == {"code", "about", "what", "advice"}
    assert (finding["code"], finding["about"]) == ("ledger_lacks", approved.merge_commit)
    services.recover()
    call_command("check_memory", "--json")
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("at", [0, 5_000])
@pytest.mark.parametrize("alias", ["default", "memory"])
def test_a_damaged_file_is_a_finding(approved: Any, alias: str, at: int) -> None:
    if not settings.EMBEDDED_MEMORY:
        pytest.skip("the servers' files are the servers'")
    with connections["default"].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connections.close_all()
    file = Path(settings.DATA_DIR) / {"default": "assent.sqlite3", "memory": "memory.doltlite"}[alias]
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


def test_reading_the_check_changes_nothing(approved: Any, applied: Any) -> None:
    head, rows = reads.head(), Change.objects.count()
    assert codes() == []
    assert (reads.head(), Change.objects.count()) == (head, rows)
