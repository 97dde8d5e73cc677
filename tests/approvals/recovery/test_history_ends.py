"""A squashed history: what can still be read, decided, undone and checked, and what says that it cannot."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Proposal, Status, User
from approvals.recovery import history, proof
from approvals.recovery.integrity import problems
from approvals.recovery.ledger import rebuild_ledger
from approvals.recovery.recover import recover
from approvals.services import erasing, notes
from approvals.services.errors import DecisionRefused
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.databases.prepared import insert
from memory_app.dolt import moving
from memory_app.dolt.errors import DoltError, EngineUnavailable, MemoryMoving, RevisionNotFound
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryBlock, MemoryDatabase, MemoryNote, block_id, note_pk
from memory_app.reads import Block
from memory_app.writing.authors import ASSENT
from tests.support.acts import approve, as_seen, change, edit, reject, save
from tests.support.first import dolt, dolt_transaction
from tests.support.fixtures import ClientOf
from tests.support.traces import files_with


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process writes here that would have to hear of it. The state before stays for the tests after this."""
    monkeypatch.setattr(moving, "SETTLES", 0)
    if not settings.EMBEDDED_MEMORY:
        with suppress(DoltError, DatabaseError):  # there is one
            dolt()._call("dolt_tag", "before", dolt().head())


def line(number: int) -> str:
    return f"Line {number} of it."


@pytest.fixture
def lines(alice: User) -> Block:
    """A block of alice's with lines far from each other."""
    body = "\n\n".join(map(line, range(12)))
    fields = services.BlockFields(title="", description="", body=body, limit=5_000)
    services.create_block(actor=alice, owner="alice", label="lines", fields=fields)
    return reads.block("alice", "lines")


def undo(person: User, proposal: Proposal) -> None:
    """Undo as it is shown now."""
    seen = as_seen(proposal)["seen_sha256"]
    services.undo(actor=person, proposal_id=proposal.pk, seen_sha256=seen)


def asked(scribe: Agent, number: int) -> Proposal:
    return change(scribe, (line(number), f"Line {number} is new."), label="lines")


def test_a_squashed_history_is_read_decided_and_undone_as_before(
    lines: Block, alice: User, tim: User, scribe: Agent
) -> None:
    before = edit(alice, "lines", line(11), "The last line.").commit
    gone = save(alice, "She had a cat.")
    gone_at = dolt().head()
    waits, approved, undone, rejected = (asked(scribe, number) for number in (0, 3, 6, 9))
    approve(tim, approved)
    approve(tim, undone)
    services.undo(actor=tim, proposal_id=undone.pk)
    reject(tim, rejected)
    rows = Change.objects.count()
    text = reads.block("alice", "lines").body

    said = StringIO()
    call_command("end_history", now=FIRST, stdout=said)
    (kept,) = dolt().kept()
    assert said.getvalue() == f"Squashed or dropped: memory, kept as {kept}.\n"

    assert len(dolt().log()) == 2
    assert {before, gone_at} <= {commit.hash for commit in dolt().own_log()}
    assert list(dolt().kept()) == [kept]
    assert list(problems()) == []
    assert rebuild_ledger(FIRST) == (0, 0, rows)
    assert str(recover()) == str(recover())
    assert reads.block("alice", "lines").body == text
    assert reads.find_block("alice", "lines", reads.resolve_revision("alice", before)).body.endswith("The last line.")

    # What was deleted since does not come back with what is based on the former history.
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=gone)
    approve(tim, waits)
    undo(tim, approved)
    approve(tim, approved)
    approve(tim, undone)
    services.undo(actor=tim, proposal_id=rejected.pk)
    approve(tim, rejected)
    assert reads.notes("alice") == ()
    for number in (0, 3, 6, 9):
        text = text.replace(line(number), f"Line {number} is new.")
    assert reads.block("alice", "lines").body == text
    assert list(problems()) == []
    rows = Change.objects.count()
    assert rebuild_ledger(FIRST) == (0, 0, rows)


def test_a_history_ends_in_two_steps(
    lines: Block, alice: User, tim: User, scribe: Agent, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = edit(alice, "lines", line(11), "The last line.").commit
    approved, waits = asked(scribe, 0), asked(scribe, 3)
    approve(tim, approved)
    with override_settings(HISTORY_DAYS=0):
        assert history.end_history() == []
    with override_settings(HISTORY_DAYS=30):
        assert history.end_history() == []  # all of it is younger
        kept = history.squash(FIRST)
        assert history.end_history() == []
        long_ago = timezone.now().date() - timedelta(days=40)
        dolt().create_branch(f"h/{long_ago}", dolt().kept()[kept])
        dolt().drop_branch(kept)
        assert history.end_history() == [FIRST]
    (again,) = dolt().kept()
    assert again > kept
    # What the second squash keeps begins with the first.
    with pytest.raises(RevisionNotFound):
        reads.find_block("alice", "lines", old)
    assert list(problems()) == []
    recover()
    rows = Change.objects.count()
    assert rebuild_ledger(FIRST)[:2] == (0, 0)
    assert Change.objects.count() == rows
    client.force_login(tim)
    page = client.get(reverse("block_history", args=["alice", "lines"]), {"v": old})
    assert page.status_code == 404
    assert "are kept no more" in page.content.decode()
    approve(tim, waits)
    assert "Line 3 is new." in reads.block("alice", "lines").body
    with pytest.raises(DecisionRefused, match="no longer has the commit"):
        undo(tim, approved)


def test_nothing_is_written_while_a_history_is_squashed(lines: Block, alice: User, tim: User, scribe: Agent) -> None:
    waits = asked(scribe, 0)
    with moving.held(MemoryDatabase.objects.get(name=FIRST)):
        with pytest.raises(MemoryMoving):
            save(alice, "She sails.")
        with pytest.raises(MemoryMoving):
            approve(tim, waits)
        with pytest.raises(EngineUnavailable):
            history.squash(FIRST)
    save(alice, "She sails.")
    approve(tim, waits)
    other = asked(scribe, 3)
    type(other).objects.filter(pk=other.pk).update(
        status=Status.MERGING, lease_expires_at=timezone.now() + timedelta(hours=1)
    )
    with pytest.raises(EngineUnavailable, match="under way"):
        history.squash(FIRST)
    assert not dolt().kept()


class Died(BaseException):
    """The process, before a verb."""


@pytest.mark.parametrize("verb", range(9))
def test_a_squash_that_dies_anywhere_is_made_by_the_next_run(
    lines: Block, alice: User, tim: User, scribe: Agent, monkeypatch: pytest.MonkeyPatch, verb: int
) -> None:
    edit(alice, "lines", line(11), "The last line.")
    waits = asked(scribe, 0)
    call, calls = DoltOperations._call, count()

    def dies(*arguments: Any) -> Any:
        if next(calls) == verb:
            raise Died
        return call(*arguments)

    later = SimpleNamespace(now=lambda: timezone.now() + timedelta(days=40))
    monkeypatch.setattr(history, "timezone", later)
    with monkeypatch.context() as patch, suppress(Died):
        patch.setattr(DoltOperations, "_call", dies)
        history.squash(FIRST)
    was_squashed = len(dolt().log()) == 2
    recover(everything=True)
    assert list(problems()) == []
    with override_settings(HISTORY_DAYS=30):
        assert history.end_history() == ([] if was_squashed else [FIRST])
    assert len(dolt().log()) == 2
    assert len(dolt().kept()) == 1
    recover(everything=True)
    assert list(problems()) == []
    approve(tim, waits)
    assert reads.block("alice", "lines").body.endswith("The last line.")
    assert history.squash(FIRST) != history.squash(FIRST)  # on one day
    assert list(problems()) == []


def from_before(alice: User, word: str) -> str:
    """A block and a note as they were written before texts were sealed; the note's id."""
    at = {"created_at": alice.date_joined, "updated_at": alice.date_joined}
    said = {"title": "Old", "description": "", "body": f"She has a {word}.\n\nShe sails.", "limit": 1000}
    plain = reads.canonical_sha256(said | {"schema_ref": None, "label": "old", "read_only": False})
    note = {"content": f"Has a {word}.", "type": "note", "tags": [word], "confidence": 1, "importance": 1}
    note |= {"source": "user", "rationale": f"She said {word}.", "category": word}
    with dolt_transaction() as verbs:
        insert(MemoryBlock(id=block_id("alice", "old"), owner="alice", label="old", sha256=plain, **said, **at))
        insert(MemoryNote(id=note_pk("alice", "n-1"), note_id="n-1", owner="alice", sha256="0" * 64, **note, **at))
        verbs.commit("From before", ASSENT)
    recover()
    return "n-1"


def test_a_history_from_before_texts_were_sealed_ends_for_good(
    alice: User, tim: User, scribe: Agent, client_of: ClientOf, tmp_path: Path
) -> None:
    word = "zebrafinch"
    id_ = from_before(alice, word)
    before = reads.block("alice", "old"), reads.note("alice", id_)
    head = dolt().head()
    waits = change(scribe, ("She sails.", "She rows."), label="old")
    with override_settings(ERASED_LIST=tmp_path / "erased"):
        assert erasing.may_be_plain("alice")
        assert "stay readable" in client_of(alice).get("/memory/alice/erase/?block=old").content.decode()
        assert not erasing.may_be_plain("alice", "block", "another")
        call_command("end_history", now=FIRST, for_good=True, stdout=StringIO())
        assert not erasing.may_be_plain("alice")
        assert dolt().kept() == {}
        assert files_with(word, "memory") == []
        assert (reads.block("alice", "old"), reads.note("alice", id_)) == (
            replace(before[0], sha256=reads.block("alice", "old").sha256),
            replace(before[1], sha256=reads.note("alice", id_).sha256),
        )
        with pytest.raises(RevisionNotFound):
            reads.block_at("alice", "old", head)
        assert reads.history_from("alice")
        assert list(problems()) == []
        approve(tim, waits)
        assert reads.block("alice", "old").body.endswith("She rows.")
        erasing.ask(by=None, owner="alice", waits=True)
        erasing.finish()
        assert [*proof.in_default(word), *proof.in_memory(word)] == files_with(word, "default") == []
        assert list(problems()) == []
