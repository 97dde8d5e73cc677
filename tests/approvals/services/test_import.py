"""Importing a memories.md: one change, updated by id, applied or reviewed as a whole."""

import uuid
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import override_settings
from django.urls import reverse
from hypothesis import HealthCheck, given, settings

from approvals import services
from approvals.models import Agent, Kind, Mergeability, Proposal, ProposedNote, Status, User
from approvals.pages import notes_page
from approvals.review.presentation import review_of
from approvals.services import notes, trust
from approvals.services.imports import ImportOutcome, import_file, import_memories
from approvals.services.recheck import recheck
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory
from memory_app import reads
from memory_app.databases import clock
from tests.conftest import make_user
from tests.memory_app.text.test_memories_md import memories
from tests.support.acts import approve, reject, save
from tests.support.fixtures import ClientOf
from tests.support.pages import words
from tests.support.refusals import refusing

ID = "mem-1-aaaa"
FILE = "## Fixes\n\n### mem-1-aaaa\n> Start docker.\n<!-- tags: docker, a | created: 2025-01-20 -->\n"


def bring(user: Any, text: str = FILE, *, owner: str = "alice", **more: Any) -> ImportOutcome:
    return import_memories(by=notes.ChangeContext(actor=user, **more), owner=owner, parsed=memories_md.parse(text))


def update(alice: User, content: str, note_id: str = ID) -> None:
    notes.update(by=notes.ChangeContext(actor=alice), owner="alice", note_id=note_id, content=content)


@pytest.fixture
def waiting(alice: User, scribe: Agent, ask_first: None) -> Proposal:
    """alice imported two notes; scribe's import would change the first of them and make a third."""
    bring(alice, FILE + "### mem-2-bbbb\n> y\n")
    text = FILE.replace("docker.", "podman.") + "### mem-3-cccc\n> z\n"
    bring(scribe, text, reasoning="From the old laptop.")
    return Proposal.objects.get()


def exported(owner: str = "alice") -> str:
    found = reads.notes(owner)
    return memories_md.write(
        Memory(note.id, note.type, note.content, note.tags, note.created_at.date())
        for note in found
        if not note.is_superseded
    )


def test_a_person_imports_into_their_own_memory_at_once(alice: User) -> None:
    done = bring(alice, FILE + "### mem-2-bbbb\n> y\n")
    assert (done.created, done.updated, done.unchanged) == (2, 0, 0)
    assert done.outcome.commit == reads.head("alice")
    note = reads.note("alice", ID)
    assert (note.type, note.tags, note.source) == ("fix", ("docker", "a"), "import")
    assert note.created_at == datetime(2025, 1, 20, tzinfo=UTC)
    # A note without a day is of today.
    assert reads.note("alice", "mem-2-bbbb").created_at.date() == datetime.now(UTC).date()


def test_a_known_id_is_updated_and_keeps_the_rest(alice: User) -> None:
    by = notes.ChangeContext(actor=alice, session_id="s")
    rest = {"confidence": 0.3, "category": "c", "rationale": "r"}
    notes.save(by=by, owner="alice", content="Old.", note_id=ID, **rest)
    done = bring(alice)
    assert (done.created, done.updated) == (0, 1)
    note = reads.note("alice", ID)
    assert (note.content, note.type, note.created_at.date()) == ("Start docker.", "fix", date(2025, 1, 20))
    assert {name: getattr(note, name) for name in rest} == rest
    assert (note.source, note.session_id) == ("user", "s")


def test_a_superseded_note_stays_superseded(alice: User) -> None:
    bring(alice)
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=ID, reason="Wrong.")
    bring(alice, FILE.replace("Start docker.", "Start podman."))
    note = reads.note("alice", ID)
    assert (note.content, note.is_superseded, note.superseded_reason) == ("Start podman.", True, "Wrong.")


def test_an_agents_import_is_one_proposal_applied_by_policy_once_and_put_back(alice: User, scribe: Agent) -> None:
    said = {"text": FILE + "### mem-2-bbbb\n> y\n", "may_apply": True, "operation": "d" * 32}
    first, again = bring(scribe, **said), bring(scribe, **said)
    assert (again.created, again.updated, again.unchanged) == (first.created, first.updated, first.unchanged)
    assert again.outcome.commit == first.outcome.commit == reads.head("alice")
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.status, proposal.auto_applied) == (Kind.IMPORT, Status.APPLIED, True)
    assert len(reads.notes("alice")) == 2
    assert not ProposedNote.objects.exists()
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert reads.notes("alice") == ()


def test_list_items_sent_again_by_one_operation_are_told_as_the_first_time(scribe: Agent) -> None:
    by = notes.ChangeContext(actor=scribe, may_apply=True, operation="e" * 32)
    told = [import_file(by=by, owner="alice", data=b"- Tea\n- Rowing\n", items=True) for _ in range(2)]
    assert [(each.created, each.unchanged) for each in told] == [(2, 0), (2, 0)]
    assert len(reads.notes("alice")) == 2


def test_a_memory_no_note_can_hold_is_skipped_and_the_rest_taken(alice: User) -> None:
    done = bring(alice, FILE + f"### mem-2-bbbb\n> y\n<!-- tags: {'t' * 65} | created: 2025-01-01 -->\n")
    assert [note.id for note in reads.notes("alice")] == [ID]
    (skipped,) = done.skipped
    assert (skipped.line, skipped.reason) == (6, f"a tag has more than 64 characters: “{'t' * 60}…”")


def test_a_day_that_alone_differs_is_taken_so_that_the_next_export_says_it(alice: User) -> None:
    bring(alice)
    moved = exported().replace("2025-01-20", "2024-12-31")
    assert bring(alice, moved).updated == 1
    assert exported() == moved
    assert reads.note("alice", ID).created_at == datetime(2024, 12, 31, tzinfo=UTC)
    head, again = reads.head("alice"), bring(alice, moved)
    assert (again.outcome, again.unchanged, reads.head("alice")) == (None, 1, head)


@pytest.mark.usefixtures("ask_first")
def test_a_day_that_alone_differs_can_wait_and_is_seen_and_approved(alice: User, scribe: Agent) -> None:
    bring(alice)
    bring(scribe, FILE.replace("2025-01-20", "2024-12-31"))
    proposal = Proposal.objects.get()
    (change,) = review_of(proposal, alice).notes[0].fields
    days = [datetime(2025, 1, 20, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)]
    assert (change.name, [change.before, change.after]) == ("created_at", days)
    approve(alice, proposal)
    assert reads.note("alice", ID).created_at == days[1]


def test_the_time_of_a_day_stays_where_the_day_is_the_same(alice: User) -> None:
    before = reads.note("alice", save(alice, "Old.", note_id=ID)).created_at
    bring(alice, exported().replace("Old.", "New."))
    assert reads.note("alice", ID).created_at == before


def test_a_note_written_by_an_older_version_is_not_changed_by_saying_the_same(alice: User) -> None:
    """Its stored sha256 was made without the day."""
    note = reads.note("alice", save(alice, "Old.", note_id=ID))
    change = notes.NoteChange(note.id, replace(note, sha256="0" * 64), note)
    with refusing("no_change"):
        notes.change_notes(by=notes.ChangeContext(actor=alice), owner="alice", kind=Kind.UPDATE, changes=[change])


def test_nobody_imports_into_a_memory_they_may_not_edit(alice: User, mallory: User) -> None:
    with refusing("not_allowed"):
        bring(mallory)
    assert reads.notes("alice") == ()


def test_a_waiting_import_is_listed_on_the_notes_it_touches_and_on_no_others(
    waiting: Proposal, alice: User, client_of: ClientOf
) -> None:
    assert notes_page.waiting_notes("alice", ID) == notes_page.waiting_notes("alice", "mem-3-cccc") == (waiting,)
    assert notes_page.waiting_notes("alice", "mem-2-bbbb") == notes_page.waiting_notes("ben", ID) == ()
    page = words(client_of(alice).get(reverse("note", args=["alice", ID])))
    for said in ("1 waiting proposal", "From the old laptop.", "This note is one of them."):
        assert said in page


@pytest.mark.parametrize("decide", [approve, reject])
def test_what_is_decided_waits_on_no_note(waiting: Proposal, alice: User, decide: Any) -> None:
    decide(alice, waiting)
    assert notes_page.waiting_notes("alice", ID) == ()
    assert not ProposedNote.objects.exists()


def test_an_import_is_checked_again_when_one_of_its_notes_changes(waiting: Proposal, alice: User) -> None:
    assert recheck("alice", [["note", "mem-2-bbbb"]]) == 0
    update(alice, "Start it.")
    assert recheck("alice", [["note", ID]]) == 1
    assert Proposal.objects.get().mergeability == Mergeability.CONFLICT


@pytest.mark.slow
@pytest.mark.usefixtures("ask_first")
def test_many_notes_wait_and_are_decided_as_one_commit(alice: User, scribe: Agent) -> None:
    many = [f"mem-{number}-aaaa" for number in range(1_020)]  # more than a query asks for
    bring(alice, "".join(f"### {id_}\n> old\n" for id_ in many))
    bring(scribe, "".join(f"### {id_}\n> new\n" for id_ in many))
    proposal = Proposal.objects.get()
    review = review_of(proposal, alice)
    assert (review.note_count, len(review.notes), review.page.paginator.num_pages) == (1_020, 100, 11)
    update(alice, "Corrected.", many[-1])
    with refusing("target_changed"):
        approve(alice, proposal, seen_sha256=review.seen_sha256)
    with refusing("conflict"):
        approve(alice, proposal)
    update(alice, "old", many[-1])
    approve(alice, proposal, seen_sha256=review.seen_sha256)
    assert {note.content for note in reads.notes("alice")} == {"new"}
    assert len({reads.history("alice", "note", id_)[0].commit for id_ in (many[0], many[-1])}) == 1


@pytest.mark.parametrize("asked", [1, 600])
def test_hashes_are_those_of_the_notes_now_and_at_a_revision(alice: User, ben: User, asked: int) -> None:
    ids = [f"mem-{number}-aaaa" for number in range(asked)]
    text = "".join(f"### {id_}\n> memory\n" for id_ in [*ids, "mem-9999-zzzz"])
    bring(alice, text)
    bring(ben, text, owner="ben")
    then = reads.head("alice")
    update(alice, "Changed.", ids[0])
    for revision in (None, then):
        found = reads.find_notes("alice", ids, revision)
        assert reads.note_sha256s("alice", [*ids, "mem-1-none"], revision) == {
            id_: note.sha256 for id_, note in found.items()
        }
    assert reads.note_sha256s("alice", ids) != reads.note_sha256s("alice", ids, then)


@override_settings(LEASE=timedelta(0))
def test_nobody_else_is_to_finish_an_import_while_it_is_written(alice: User, scribe: Agent) -> None:
    held: list[timedelta] = []

    def look(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("INSERT INTO") and "memory_app_change" in sql:
            proposal = Proposal.objects.get()
            assert proposal.lease_expires_at is not None
            held.append(proposal.lease_expires_at - began)
        return execute(sql, *rest)

    began = clock.now()
    with connection.execute_wrapper(look):
        bring(scribe, "".join(f"### mem-{number}-aaaa\n> x\n" for number in range(1_200)), may_apply=True)
    assert len(held) > 1
    assert min(held) - django_settings.LEASE >= timedelta(seconds=3.6)  # 3 ms a note, where a slow server takes 1


def test_of_two_that_finish_one_import_the_second_takes_what_the_first_wrote(alice: User, scribe: Agent) -> None:
    done = bring(scribe, may_apply=True)
    # As the second one found it, before the first had written anything.
    Proposal.objects.update(status=Status.PREPARING, merge_commit="")
    finished = trust.finish(Proposal.objects.get(), is_new=True)
    assert (finished.status, finished.merge_commit) == (Status.APPLIED, done.outcome.commit)


@pytest.mark.slow
def test_those_that_wait_for_more_notes_than_a_statement_takes_ids_are_found(waiting: Proposal, scribe: Agent) -> None:
    by = notes.ChangeContext(actor=scribe)
    notes.update(by=by, owner="alice", note_id="mem-2-bbbb", content="z")
    others = [f"mem-{number}-none" for number in range(16_400)]  # named twice, SQLite takes 16,383
    found = Proposal.objects.open().of_owner("alice")
    assert found.about_notes(others).count() == 0
    assert found.about_notes([*others, ID]).count() == 1
    assert found.about_notes(["mem-2-bbbb", *others, ID]).count() == 2


@pytest.mark.usefixtures("ask_first")
def test_imports_that_differ_in_tags_or_days_alone_are_not_taken_for_one(alice: User, scribe: Agent) -> None:
    bring(alice)
    for text in (FILE.replace("docker, a", "docker"), FILE.replace("2025-01-20", "2024-12-31")):
        bring(scribe, text)
        bring(scribe, text)
    assert Proposal.objects.open().count() == 2


@pytest.mark.slow
@given(memories)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_notes_say_export_import_export_is_the_same_to_the_byte(
    fresh_databases: None, wanted: list[Memory]
) -> None:
    first, second = (make_user(f"o{uuid.uuid4().hex[:12]}") for _ in range(2))
    tidy = [replace(memory, tags=notes.tidied(memory.tags)) for memory in wanted]
    text = memories_md.write(tidy)
    bring(first, text, owner=first.username)
    assert exported(first.username) == text
    bring(second, exported(first.username), owner=second.username)
    assert exported(second.username) == text
    assert bring(second, text, owner=second.username).outcome is None
