"""What blocks and notes say is in the memory sealed alone, and opens where it was written and nowhere else."""

import os
from dataclasses import replace
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connections
from django.test import override_settings

from approvals import services
from approvals.models import User
from approvals.recovery.integrity import problems
from approvals.services import BlockFields, notes
from memory_app import reads, sealing
from memory_app.databases.prepared import insert
from memory_app.models import MemoryBlock, MemoryNote, TextKey, block_id
from memory_app.sealing import TextKeyMissing, WrongTextKey
from memory_app.search import store
from memory_app.writing.authors import ASSENT
from tests.support.first import dolt_transaction
from tests.support.fixtures import MakeBlock
from tests.support.traces import files_with

WORD = "zebrafinch"


def raw(table: str) -> list[dict[str, Any]]:
    with connections["memory"].cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_what_is_said_is_in_the_memory_sealed_alone(alice: User) -> None:
    fields = BlockFields(title=f"The {WORD}", description=WORD, body=f"She keeps a {WORD}.\n" * 50, limit=5000)
    services.create_block(actor=alice, owner="alice", label="birds", fields=fields, comment="")
    said = {"content": f"Her {WORD} is called Kea.", "tags": (WORD,), "category": WORD, "rationale": f"A {WORD}!"}
    made = notes.save(by=notes.ChangeContext(actor=alice), owner="alice", type="note", **said)
    for row in raw(reads.BLOCKS) + raw(reads.NOTES):
        assert not any(WORD in str(value) for value in row.values())
    assert files_with(WORD, "memory") == []
    assert reads.block("alice", "birds").body == fields.body
    assert reads.block("alice", "birds").title == fields.title
    note = reads.note("alice", made.note_id)
    assert (note.content, note.tags, note.category, note.rationale) == tuple(said.values())
    sealing.forget()  # another process
    assert reads.note("alice", made.note_id) == note
    assert reads.note_at("alice", made.note_id, reads.head("alice")) == note
    assert MemoryNote.objects.get().content == said["content"]


def test_versions_have_keys_of_their_own_and_no_save_stores_one(make_block: MakeBlock, alice: User) -> None:
    make_block(alice, "goals", "one")
    first = raw(reads.BLOCKS)[0]["sealed"]
    roots = TextKey.objects.count()
    goals = reads.block("alice", "goals")
    fields = BlockFields(**{name: getattr(goals, name) for name in BlockFields.__dataclass_fields__})
    services.edit_block(
        actor=alice,
        owner="alice",
        label="goals",
        fields=replace(fields, body="two"),
        loaded_sha256=goals.sha256,
        comment="",
    )
    assert TextKey.objects.count() == roots
    assert raw(reads.BLOCKS)[0]["sealed"][:14] != first[:14]
    assert reads.block("alice", "goals").body == "two"


def test_two_targets_with_a_version_of_the_same_number_have_two_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_app.sealing.secrets.token_bytes", bytes)
    targets = [("alice", label, {"title": label, "description": "", "body": "", "schema_ref": ""}) for label in "ab"]
    cells = sealing.seal("block", targets)
    sealing.forget()
    rows: list[dict[str, Any]] = [
        {"owner": "alice", "label": label, "title": "", "sealed": cell} for label, cell in zip("ab", cells, strict=True)
    ]
    for some in (rows[::-1], rows):
        assert [row["title"] for row in sealing.opened("block", [*map(dict, some)], anew=False)] == [
            row["label"] for row in some
        ]


def test_the_hash_of_a_row_tells_nothing_to_who_has_the_memory_alone(make_block: MakeBlock, alice: User) -> None:
    make_block(alice, "goals", "yes")
    goals = reads.block("alice", "goals")
    with override_settings(TEXT_KEY=os.urandom(32)):
        sealing._hash_key.cache_clear()
        assert reads.row_sha256(vars(goals)) != goals.sha256
    sealing._hash_key.cache_clear()
    assert reads.row_sha256(vars(goals)) == goals.sha256


def test_a_row_from_before_is_read_and_sealed_when_it_changes(alice: User) -> None:
    with dolt_transaction() as verbs:
        at = {"created_at": alice.date_joined, "updated_at": alice.date_joined}
        said = {"title": "", "description": "", "body": "as it was", "limit": 1000, "schema_ref": None}
        plain = reads.canonical_sha256(said | {"label": "old", "read_only": False})
        insert(MemoryBlock(id=block_id("alice", "old"), owner="alice", label="old", sha256=plain, **said, **at))
        verbs.commit("From before", ASSENT)
    old = reads.block("alice", "old")
    assert (old.body, old.sha256) == ("as it was", plain)
    fields = BlockFields(title="", description="", body="as it is", limit=1000)
    services.edit_block(actor=alice, owner="alice", label="old", fields=fields, loaded_sha256=old.sha256, comment="")
    assert raw(reads.BLOCKS)[0]["body"] == ""
    assert reads.block("alice", "old").body == "as it is"
    change = reads.history("alice", "block", "old")[0]
    assert reads.block_at("alice", "old", reads.parent("alice", change.commit)).body == "as it was"


def test_a_text_moved_to_another_row_does_not_open(make_block: MakeBlock, alice: User) -> None:
    make_block(alice, "goals", "one")
    make_block(alice, "plans", "two")
    with dolt_transaction() as verbs:
        cell = MemoryBlock.objects.get(label="goals").sealed
        MemoryBlock.objects.filter(label="plans").update(sealed=cell)
        verbs.commit("Moved", ASSENT)
    with pytest.raises(TextKeyMissing):
        reads.block("alice", "plans")


def test_a_root_that_is_gone_is_a_problem_that_is_named(make_block: MakeBlock, alice: User) -> None:
    make_block(alice, "goals", "one")
    TextKey.objects.filter(owner="alice").delete()
    sealing.forget()
    assert "key_missing" in {problem.code for problem in problems()}
    with pytest.raises(TextKeyMissing):
        reads.block("alice", "goals")


def test_another_key_is_told_at_the_start_and_writes_nothing(make_block: MakeBlock, alice: User) -> None:
    make_block(alice, "goals", "one")
    with override_settings(TEXT_KEY=os.urandom(32)):
        sealing.forget()
        found = run_checks(tags=["database"], databases=["default"])
        assert "memory_app.E005" in {each.id for each in found}
        fields = BlockFields(title="", description="", body="two", limit=1000)
        with pytest.raises(WrongTextKey):
            services.create_block(actor=alice, owner="alice", label="more", fields=fields, comment="")
    sealing.forget()
    assert [block.label for block in reads.blocks("alice")] == ["goals"]


def test_the_admin_finds_words_of_sealed_texts(make_block: MakeBlock, alice: User, admin: User, client: Any) -> None:
    make_block(alice, "goals", f"She keeps a {WORD}.")
    store.reindex("alice")
    client.force_login(admin)
    listed = client.get("/admin/memory_app/memoryblock/", {"q": WORD})
    assert [row.label for row in listed.context["cl"].result_list] == ["goals"]
    assert list(client.get("/admin/memory_app/memoryblock/", {"q": "kakapo"}).context["cl"].result_list) == []
