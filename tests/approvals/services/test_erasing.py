"""What was erased is in no table, no version, no file and no backup that is restored; and it is said so."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import override_settings

from agent_tools.calls import execution
from approvals import services
from approvals.models import AuditEvent, Proposal, Status, User
from approvals.models.counts import OwnerCounts
from approvals.recovery import proof
from approvals.recovery.integrity import problems
from approvals.services import BlockFields, erasing, notes
from approvals.services.notes import ChangeContext
from memory_app import conversations, reads, sealing
from memory_app.conversations import Turn
from memory_app.models import Change, Message, TextErasure, TextKey
from memory_app.reads import Block, BlockNotFound
from memory_app.sealing import TextErased
from memory_app.search import store
from memory_app.search.service import search
from tests import environment
from tests.agent_tools.conftest import Machine
from tests.conftest import eventually
from tests.support.acts import approve
from tests.support.background import wait_for_thread
from tests.support.fixtures import ClientOf, MakeBlock
from tests.support.refusals import refusing
from tests.support.traces import files_with, tables_with

SECRET = "zebrafinch"


@pytest.fixture(autouse=True)
def erased_file(tmp_path: Path) -> Iterator[Path]:
    with override_settings(ERASED_LIST=tmp_path / "erased.jsonl"):
        yield tmp_path / "erased.jsonl"


@pytest.fixture
def machine(token: str) -> Machine:
    return Machine(token)


def erase(by: User | None, owner: str = "alice", **what: str) -> TextErasure:
    erasure = erasing.ask(by=by, owner=owner, waits=True, **what)
    erasing.finish()
    erasure.refresh_from_db()
    assert erasure.done_at
    return erasure


def places() -> list[str]:
    """Where it is, but for statistics, which PostgreSQL makes at times of its own, and the command alone makes anew."""
    execution.settle()
    found = [*proof.in_default(SECRET), *proof.in_memory(SECRET)]
    return [place for place in found if place != "default: table pg_stats"]


def require_gone() -> None:
    assert places() == tables_with(SECRET) == files_with(SECRET, "default") == files_with(SECRET, "memory") == []
    assert list(problems()) == []


def edited(actor: User, label: str, body: str, comment: str = "") -> Change:
    block = reads.block("alice", label)
    fields = BlockFields(title=block.title, description=block.description, body=body, limit=block.limit)
    return services.edit_block(
        actor=actor, owner="alice", label=label, fields=fields, loaded_sha256=block.sha256, comment=comment
    )


SAID: dict[str, Any] = {
    "reasoning": f"She told me of her {SECRET}.",
    "session_id": f"session-{SECRET}",
    "evidence": [{"role": "user", "content": f"My {SECRET} sings."}],
    "idempotency_key": "k",
}


def lived_with(goals: Block, machine: Machine, alice: User, tim: User) -> tuple[Proposal, Proposal]:
    """A block with the word approved, edited and waiting, and refused calls that quote it; the two proposals."""
    edit = {"block_label": "goals", "old_string": "likes math", "new_string": f"likes math and her {SECRET}"}
    assert machine.call("propose_memory_edit", **edit, **SAID).status_code == 200
    approved = approve(tim, Proposal.objects.get(), comment=f"Yes, the {SECRET}!")
    edited(alice, "goals", reads.block("alice", "goals").body + f"\nThe {SECRET} is blue.", comment=f"My {SECRET}.")
    more = {"block_label": "goals", "old_string": "is blue", "new_string": "is grey", "reasoning": f"A grey {SECRET}."}
    assert machine.call("propose_memory_edit", **more).status_code == 200
    assert machine.call("propose_memory_edit", **more | {"old_string": "is bleu"}).status_code >= 400
    return approved, Proposal.objects.get(status=Status.OPEN)


def test_a_block_is_erased_with_all_that_was_said_of_it(
    goals: Block, machine: Machine, alice: User, tim: User, make_block: MakeBlock
) -> None:
    make_block(alice, "plans", "To sail.")
    approved, waiting = lived_with(goals, machine, alice, tim)
    assert len(search("alice", SECRET).results)
    before = approved.merge_commit
    assert len(places()) > 5

    erase(alice, kind="block", target="goals")

    require_gone()
    with pytest.raises(BlockNotFound):
        reads.block("alice", "goals")
    with pytest.raises(TextErased):
        reads.block_at("alice", "goals", before)
    assert [block.label for block in reads.blocks_at("alice", before)] == ["plans"]
    assert reads.block_at("alice", "plans", before).body == "To sail."
    approved.refresh_from_db()
    waiting.refresh_from_db()
    assert (approved.status, approved.is_redacted) == (Status.APPROVED, True)
    assert (waiting.status, waiting.decision_reason) == (Status.REJECTED, "too_private")
    assert search("alice", SECRET).results == ()
    answer = machine.call("read_memory_block", block_label="goals", as_of=before)
    assert answer.json()["error"]["code"] == "block_not_found"  # as of any block that was deleted
    event = AuditEvent.objects.get(what=AuditEvent.Act.ERASED)
    assert (event.owner, event.actor, event.detail) == ("alice", "alice", "block goals")


def test_what_is_written_of_that_name_later_is_another(goals: Block, alice: User, make_block: MakeBlock) -> None:
    first = reads.head("alice")
    erase(alice, kind="block", target="goals")
    make_block(alice, "goals", "Anew.")
    second = edited(alice, "goals", "Anew and again.")
    assert TextKey.objects.filter(owner="alice").count() == 2
    sealing.forget()
    assert reads.block("alice", "goals").body == "Anew and again."
    assert reads.block_at("alice", "goals", reads.parent("alice", second.commit)).body == "Anew."
    with pytest.raises(TextErased):
        reads.block_at("alice", "goals", first)
    erase(alice, kind="block", target="goals")
    with pytest.raises(TextErased):
        reads.block_at("alice", "goals", second.commit)


def test_one_version_is_erased_and_the_others_stay(goals: Block, alice: User, machine: Machine) -> None:
    old = edited(alice, "goals", f"A {SECRET}.", comment="")
    with refusing("is_current"):
        erasing.ask(by=alice, owner="alice", kind="block", target="goals", commit=old.commit)
    edited(alice, "goals", "A bird.")
    erase(alice, kind="block", target="goals", commit=old.commit)
    require_gone()
    assert reads.block("alice", "goals").body == "A bird."
    assert reads.block_at("alice", "goals", reads.parent("alice", old.commit)).body == goals.body
    with pytest.raises(TextErased):
        erasing.ask(by=alice, owner="alice", kind="block", target="goals", commit=old.commit)
    answer = machine.call("read_memory_block", block_label="goals", as_of=old.commit)
    assert answer.status_code == 410, answer.content
    assert answer.json()["error"]["code"] == "text_erased"
    # Who asked for it is who asked first, whoever erases the rest.
    erase(None, kind="block", target="goals")
    with pytest.raises(TextErased) as erased:
        reads.block_at("alice", "goals", old.commit)
    assert erased.value.by == "alice"


def test_a_note_is_erased(alice: User, machine: Machine, client_of: ClientOf) -> None:
    by = ChangeContext(actor=alice)
    other = notes.save(by=by, owner="alice", type="note", content="Likes tea.").note_id
    id_ = notes.save(by=by, owner="alice", type="note", content=f"Has a {SECRET}.", tags=(SECRET,)).note_id
    notes.update(by=by, owner="alice", note_id=id_, content=f"Has a grey {SECRET}.")
    commit = reads.head("alice")
    erase(None, kind="note", target=id_)
    require_gone()
    for there in (reads.notes("alice"), reads.notes_at("alice", commit)):
        assert [note.id for note in there] == [other]
    page = client_of(alice).get(f"/memory/alice/notes/{id_}/")
    assert page.status_code == 410
    assert "erased for good" in page.content.decode()
    page = client_of(alice).get(f"/memory/alice/notes/{id_}/?as_of={commit}")
    assert page.status_code == 410
    assert "This version was erased for good" in page.content.decode()


def test_a_note_that_came_by_an_import_is_erased_from_it_too(alice: User, machine: Machine, tim: User) -> None:
    file = f"# Memories\n\n## Facts\n\n### mem-1-aaaa\n> Has a {SECRET}.\n\n### mem-1-bbbb\n> Likes tea.\n"
    sent = machine.http.post("/api/v1/users/alice/memories.md", file, content_type="text/markdown")
    assert sent.status_code == 200, sent.content
    (note,) = [note for note in reads.notes("alice") if SECRET in note.content]
    assert Proposal.objects.get(kind="import").status in ("applied", "approved")
    erase(alice, kind="note", target=note.id)
    require_gone()
    assert [note.content for note in reads.notes("alice")] == ["Likes tea."]


def test_no_kept_answer_gives_it_back(alice: User, machine: Machine) -> None:
    notes.save(by=ChangeContext(actor=alice), owner="alice", type="note", content=f"Has a grey {SECRET}.")
    again = {"content": f"Has a grey {SECRET}.", "idempotency_key": "k"}
    told = machine.call("memory_save", **again)
    assert "Known already" in told.json()["text"]
    id_ = reads.notes("alice")[0].id
    erase(alice, kind="note", target=id_)
    require_gone()
    assert "Known already" not in machine.call("memory_save", **again).json()["text"]


def test_a_version_of_which_a_restored_memory_knows_nothing_is_done_with(goals: Block, alice: User) -> None:
    root = TextKey.objects.get(owner="alice").pk
    what = {"kind": "block", "target": "goals", "commit": "0" * 32, "version": f"{root:016x}00000000"}
    TextErasure.objects.create(owner="alice", by="alice", **what)
    erasing.finish()
    assert not erasing.is_unfinished()


def test_everything_of_a_person_is_erased_and_of_nobody_else(
    goals: Block, machine: Machine, alice: User, tim: User, ben: User, make_block: MakeBlock
) -> None:
    lived_with(goals, machine, alice, tim)
    make_block(ben, "goals", "Mine.")
    notes.save(by=ChangeContext(actor=alice), owner="alice", type="note", content=f"Has a {SECRET}.")
    conversations.keep("alice", f"about-{SECRET}", [Turn("user", f"My {SECRET} sings.")])
    search("alice", SECRET, for_agents=True)
    erase(None)
    require_gone()
    assert (reads.blocks("alice"), reads.notes("alice")) == ((), ())
    assert reads.block("ben", "goals").body == "Mine."
    assert not Proposal.objects.of_owner("alice").filter(redacted_at=None).exists()
    make_block(alice, "goals", "I am back.")
    assert reads.block("alice", "goals").body == "I am back."


def test_it_goes_on_where_it_was_killed(
    goals: Block, alice: User, tim: User, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_with(goals, machine, alice, tim)
    steps: list[tuple[Any, str]] = [
        (sealing, "close"),
        (erasing, "_delete_from_main"),
        (erasing, "_blank_copies"),
        (sealing, "cut"),
        (store, "reindex"),
    ]
    erasure = erasing.ask(by=alice, owner="alice", kind="block", target="goals", waits=True)
    for module, name in steps:
        with monkeypatch.context() as during:
            _dies_after(during, module, name)
            with pytest.raises(KeyboardInterrupt):
                erasing.finish()
        sealing.forget()
        assert erasing.is_unfinished()
    services.recover(everything=True)
    erasing.finish()
    erasure.refresh_from_db()
    assert erasure.done_at
    require_gone()


def _dies_after(during: pytest.MonkeyPatch, module: Any, name: str) -> None:
    work: Callable[..., Any] = getattr(module, name)

    def dying(*args: Any, **kwargs: Any) -> None:
        work(*args, **kwargs)
        raise KeyboardInterrupt

    during.setattr(module, name, dying)


def test_a_word_with_letters_that_json_escapes_is_found_too(goals: Block, machine: Machine, tmp_path: Path) -> None:
    word = "Grünfink"
    evidence = [{"role": "user", "content": f"Mein {word} singt."}]
    edit = {"block_label": "goals", "old_string": "likes math", "new_string": "likes maths", "reasoning": "Hers."}
    assert machine.call("propose_memory_edit", **edit, evidence=evidence).status_code == 200
    assert f"default: table {Proposal._meta.db_table}" in [*proof.in_default(word)]
    (tmp_path / "copy.json").write_text(json.dumps(evidence))
    assert str(tmp_path / "copy.json") in "\n".join(proof.in_files(word, [tmp_path]))


def test_who_may_not_write_the_memory_may_not_erase_it(goals: Block, tim: User) -> None:
    with refusing("not_allowed"):
        erasing.ask(by=tim, owner="alice", kind="block", target="goals")
    assert not TextErasure.objects.exists()


def test_what_was_never_there_cannot_be_erased(alice: User) -> None:
    with refusing("nothing_to_erase"):
        erasing.ask(by=alice, owner="alice", kind="block", target="goals")


def test_nothing_is_erased_that_cannot_be_written_down(goals: Block, alice: User, tmp_path: Path) -> None:
    for file in (None, tmp_path / "missing" / "file"):
        with override_settings(ERASED_LIST=file), pytest.raises(OSError, match=r"ASSENT_ERASED_LIST|missing"):
            erasing.ask(by=alice, owner="alice", kind="block", target="goals")
    assert not TextErasure.objects.exists()


def test_a_database_from_before_is_told_what_was_erased_since(
    goals: Block, alice: User, tim: User, machine: Machine, erased_file: Path
) -> None:
    lived_with(goals, machine, alice, tim)
    roots = list(TextKey.objects.filter(owner="alice").values())
    erase(alice, kind="block", target="goals")
    (line,) = filter(None, erased_file.read_text().splitlines())
    assert json.loads(line)["target"] == "goals"
    erased_file.write_text(f'{{"owner": "al\n{line}\n{{"owner": "a')  # two that a crash broke off
    assert SECRET not in line
    # As a restored backup has it.
    TextErasure.objects.all().delete()
    TextKey.objects.filter(owner="alice").delete()
    TextKey.objects.bulk_create(TextKey(**each) for each in roots)
    sealing.forget()
    assert places()
    call_command("recover", "--trust-log")
    require_gone()
    assert erasing.remember() == 0


def test_the_page_asks_and_says_what_was_erased(goals: Block, alice: User, client_of: ClientOf, worker: Any) -> None:
    browser = client_of(alice)
    page = browser.get("/memory/alice/erase/?block=goals")
    assert "Erase" in page.content.decode()
    assert browser.post("/memory/alice/erase/?block=goals").status_code == 302
    wait_for_thread(erasing.THREAD)
    eventually(lambda: not erasing.is_unfinished())
    assert "asked for by alice" in browser.get("/memory/alice/erase/").content.decode()
    assert browser.get("/memory/alice/blocks/goals/history/").status_code == 200
    assert "erased for good" in browser.get("/memory/alice/blocks/goals/").content.decode()
    assert browser.post("/memory/alice/erase/", {"username": "bob"}).status_code == 422
    assert not erasing.is_unfinished()
    for query in ("block=a/b", "note=../x", "block=%00", "block=goals&version=%00"):
        assert browser.get(f"/memory/alice/erase/?{query}").status_code == 404


def test_a_tutor_has_no_such_page_and_nor_has_staff(goals: Block, tim: User, client_of: ClientOf) -> None:
    assert client_of(tim).get("/memory/alice/erase/").status_code == 404
    office = User.objects.create_user("office", is_staff=True)
    assert client_of(office).get("/memory/alice/erase/").status_code == 404
    page = "/memory/alice/blocks/goals/delete/"
    assert "/erase/" not in client_of(office).get(page).content.decode()
    assert "/erase/" in client_of(User.objects.get(username="alice")).get(page).content.decode()
    with refusing("not_allowed"):
        erasing.ask(by=office, owner="alice")


def test_the_command_says_first_and_proves_after(
    goals: Block, alice: User, tim: User, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    lived_with(goals, machine, alice, tim)
    # After this there is no row left in a table of which there are statistics.
    conversations.keep("alice", "s", [Turn("user", f"My {SECRET} {does}.") for does in ("sings", "sleeps", "eats")])
    call_command("erase", "alice")
    assert "Nothing was changed" in capsys.readouterr().out
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # after which PostgreSQL's statistics quote it
    with pytest.raises(CommandError, match="The word is there"):
        call_command("erase", "alice", "--prove", SECRET)
    assert ("pg_stats" in capsys.readouterr().out) is not environment.is_embedded()
    call_command("erase", "alice", "--apply")
    execution.settle()
    call_command("erase", "alice", "--prove", SECRET)
    # A folder that is not there, or may not be read, was not looked in.
    with pytest.raises(CommandError, match="could not be looked for, in 1 place"):
        call_command("erase", "alice", "--prove", SECRET, "--in", "/no/such/folder")
    assert "not read:" in capsys.readouterr().out
    with pytest.raises(CommandError, match="nobody called"):
        call_command("erase", "nobody", "--apply")
    assert settings.ERASED_LIST.exists()


@pytest.mark.skipif(environment.is_embedded(), reason="of PostgreSQL")
def test_tables_are_written_anew_by_a_user_with_no_other_rights() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DO $$ BEGIN CREATE ROLE modest; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        cursor.execute("SET ROLE modest")
        erasing.vacuum()
        cursor.execute("RESET ROLE")


@pytest.mark.skipif(environment.is_embedded(), reason="of PostgreSQL")
def test_statistics_of_an_empty_table_go_as_far_as_its_triggers_let_them(alice: User) -> None:
    OwnerCounts.objects.update_or_create(person=alice)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        OwnerCounts.objects.all().delete()
        erasing.vacuum()
        cursor.execute("SELECT attname FROM pg_stats WHERE tablename = %s", [OwnerCounts._meta.db_table])
        left = {name for (name,) in cursor.fetchall()}
    assert "waiting" not in left
    assert "approved" in left  # of which another is generated


def test_what_was_written_since_it_was_asked_for_stays_where_it_goes_on_after_a_crash(
    goals: Block, alice: User, tim: User, machine: Machine, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_with(goals, machine, alice, tim)
    erasing.ask(by=alice, owner="alice", waits=True)
    with monkeypatch.context() as during:
        _dies_after(during, erasing, "_delete_from_main")
        with pytest.raises(KeyboardInterrupt):
            erasing.finish()
    make_block(alice, "goals", "Anew.")
    edited(alice, "goals", "Anew and again.", comment="Mine.")
    asked = {"block_label": "goals", "old_string": "again", "new_string": "once more", "reasoning": "She said so."}
    assert machine.call("propose_memory_edit", **asked).status_code == 200
    conversations.keep("alice", "later", [Turn("user", "Hello again.")])
    erasing.finish()
    require_gone()
    assert reads.block("alice", "goals").body == "Anew and again."
    waiting = Proposal.objects.get(status=Status.OPEN)
    assert (waiting.reasoning, waiting.is_redacted) == ("She said so.", False)
    assert Change.objects.filter(comment="Mine.").exists()
    assert [message.content for message in Message.objects.all()] == ["Hello again."]
    approve(tim, waiting)
    assert reads.block("alice", "goals").body == "Anew and once more."
