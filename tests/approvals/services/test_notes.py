"""Notes: applied at once where the owner's policy says so, else proposed; people's own at once, several together."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Mergeability, Policy, Proposal, Status, User
from approvals.review.presentation import review_of
from approvals.services import bulk_notes, notes
from approvals.services.bulk_notes import BulkAction, BulkOutcome, NotABulkChange
from approvals.services.notes import ChangeContext
from memory_app import reads, recall_counts
from memory_app.models import Change, MemoryNote
from memory_app.search import service
from memory_app.writing.authors import ASSENT
from tests.conftest import eventually
from tests.support.acts import approve, assert_ledger, imported, reject, save
from tests.support.crashing import killed, let_leases_run_out
from tests.support.first import dolt, dolt_transaction, head_of_main
from tests.support.fixtures import ClientOf
from tests.support.pages import words
from tests.support.refusals import refusing


@pytest.fixture
def agent(scribe: Agent) -> ChangeContext:
    """scribe with a token that may write notes."""
    return ChangeContext(actor=scribe, may_apply=True, session_id="monday")


@pytest.fixture
def hers(alice: User) -> ChangeContext:
    """alice, who says why."""
    return ChangeContext(actor=alice, reasoning="Moved.")


def test_a_note_an_agent_saves_is_applied_at_once_and_labelled(alice: User, agent: ChangeContext) -> None:
    before = head_of_main()
    said = {"content": "Likes to be called SG.", "tags": ["name", " name ", ""], "confidence": 7}
    made = notes.save(by=agent, owner="alice", **said)
    assert made.is_applied
    note = reads.note("alice", made.note_id)
    assert (note.content, note.type, note.tags) == ("Likes to be called SG.", "note", ("name",))
    assert (note.confidence, note.source, note.session_id) == (1.0, "agent", "monday")
    assert note.id.startswith("note-")
    assert made.proposal.status == Status.APPLIED
    assert made.commit == head_of_main() != before
    assert_ledger(note.id, kind="note", action="applied", agent="scribe", actor="", proposal_id=made.proposal.pk)
    assert dolt().log(limit=1)[0].author == "scribe"


def test_without_the_scope_or_with_the_policy_to_ask_it_waits(alice: User, scribe: Agent, agent: ChangeContext) -> None:
    without_scope = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="One.")
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    waiting = notes.save(by=agent, owner="alice", content="Two.")
    assert [made.is_applied for made in (without_scope, waiting)] == [False, False]
    assert [made.proposal.review_reason for made in (without_scope, waiting)] == ["scope", "policy"]
    assert waiting.proposal.status == Status.OPEN
    assert reads.notes("alice") == ()
    with pytest.raises(reads.NoteNotFound):
        reads.note("alice", waiting.note_id)


@pytest.mark.usefixtures("ask_first")
def test_a_waiting_note_is_approved_like_a_block(agent: ChangeContext, tim: User) -> None:
    waiting = notes.save(by=agent, owner="alice", content="Wants to study abroad.", type="fact")
    seen = review_of(waiting.proposal, tim)
    assert seen.after_text == "Wants to study abroad."
    assert [field.name for field in seen.notes[0].fields][:1] == ["type"]
    assert approve(tim, waiting.proposal, comment="Good.").status == Status.APPROVED
    assert reads.note("alice", waiting.note_id).type == "fact"
    assert_ledger(waiting.note_id, kind="note", actor="tim")


@pytest.mark.usefixtures("ask_first")
def test_a_note_that_changed_meanwhile_is_a_conflict(alice: User, hers: ChangeContext, agent: ChangeContext) -> None:
    id_ = save(alice, "Has a dog.")
    waiting = notes.update(by=agent, owner="alice", note_id=id_, content="Has two dogs.")
    notes.update(by=hers, owner="alice", note_id=id_, content="Has a cat.")
    review = review_of(Proposal.objects.get(pk=waiting.proposal.pk), alice)
    assert review.state == Mergeability.CONFLICT
    assert "approve" not in review.actions
    reject(alice, waiting.proposal, "outdated")


def test_update_keeps_the_id_and_delete_keeps_the_history(alice: User, agent: ChangeContext) -> None:
    id_ = notes.save(by=agent, owner="alice", content="Name is Shantanu.").note_id
    notes.update(by=agent, owner="alice", note_id=id_, content="Prefers SG.")
    with refusing("no_change"):
        notes.update(by=agent, owner="alice", note_id=id_, content="Prefers SG.")
    notes.delete(by=agent, owner="alice", note_id=id_)
    assert reads.find_note("alice", id_) is None
    ledger = reads.history("alice", "note", id_)
    assert len(ledger) == 3
    assert reads.note_at("alice", id_, ledger[1].commit).content == "Prefers SG."


def test_what_a_person_did_not_see_is_not_changed_nor_deleted(alice: User, hers: ChangeContext) -> None:
    id_ = save(alice, "Lives in Bonn.")
    seen: dict[str, Any] = {"owner": "alice", "note_id": id_, "loaded_sha256": reads.note("alice", id_).sha256}
    notes.update(by=hers, content="Lives in Berlin.", **seen)
    for change in (
        lambda: notes.update(by=hers, content="Lives in Paris.", **seen),
        lambda: notes.supersede(by=hers, **seen),
        lambda: notes.reinstate(actor=alice, **seen),
        lambda: notes.delete(by=hers, **seen),
    ):
        with refusing("notes_changed"):
            change()
    note = reads.note("alice", id_)
    assert (note.content, note.is_superseded) == ("Lives in Berlin.", False)
    with refusing("no_change"):
        notes.reinstate(actor=alice, **seen | {"loaded_sha256": note.sha256})


def test_what_policy_applied_is_reverted_in_one_step(
    alice: User, tim: User, mallory: User, agent: ChangeContext
) -> None:
    made = notes.save(by=agent, owner="alice", content="Wrong.")
    with refusing("proposal_not_found"):
        services.undo(actor=mallory, proposal_id=made.proposal.pk)
    services.undo(actor=tim, proposal_id=made.proposal.pk)
    assert_ledger(made.note_id, kind="note", action="reverted", actor="tim")
    assert reads.find_note("alice", made.note_id) is None
    with refusing("already_undone"):
        services.undo(actor=tim, proposal_id=made.proposal.pk)


def test_a_later_change_is_not_lost_by_reverting(alice: User, hers: ChangeContext, agent: ChangeContext) -> None:
    first = notes.save(by=agent, owner="alice", content="One.")
    notes.update(by=hers, owner="alice", note_id=first.note_id, content="Two.")
    with refusing("undo_conflict"):
        services.undo(actor=alice, proposal_id=first.proposal.pk)
    assert reads.note("alice", first.note_id).content == "Two."


def test_people_write_their_own_notes_and_nobody_elses(hers: ChangeContext, tim: User, admin: User) -> None:
    made = notes.save(by=hers, owner="alice", content="I am left-handed.")
    assert made.proposal is None
    note = reads.note("alice", made.note_id)
    assert note.source == "user"
    assert_ledger(note.id, kind="note", comment="Moved.")
    notes.supersede(by=hers, owner="alice", note_id=note.id)
    again = {"owner": "alice", "note_id": note.id, "loaded_sha256": reads.note("alice", note.id).sha256}
    with refusing("not_allowed"):
        notes.save(by=ChangeContext(actor=tim), owner="alice", content="No.")
    with refusing("not_allowed"):
        notes.reinstate(actor=tim, **again)
    notes.save(by=ChangeContext(actor=admin), owner="alice", content="Staff may.")
    notes.reinstate(actor=admin, **again)
    assert not reads.note("alice", note.id).is_superseded


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": "  \n"}, "content"),
        ({"content": "x" * 2001}, "content"),
        ({"content": "x", "type": "gossip"}, "type"),
        ({"content": "x", "tags": ["y" * 65]}, "tags"),
        ({"content": "x", "note_id": "../etc"}, "note_id"),
    ],
)
def test_what_is_not_a_note_is_refused_by_field(
    alice: User, agent: ChangeContext, fields: dict[str, Any], field: str
) -> None:
    with refusing("note_invalid") as refused:
        notes.save(by=agent, owner="alice", **fields)
    assert refused.value.details["field"] == field
    assert not Proposal.objects.exists()


def test_two_owners_may_have_notes_of_one_id(alice: User, ben: User) -> None:
    id_ = save(alice, "Alice's.", note_id="mem-1700000000000-ab3d")
    save(ben, "Ben's.", note_id=id_)
    assert (reads.note("alice", id_).content, reads.note("ben", id_).content) == ("Alice's.", "Ben's.")
    notes.delete(by=ChangeContext(actor=ben), owner="ben", note_id=id_)
    assert reads.note("alice", id_).content == "Alice's."


@pytest.mark.usefixtures("ask_first")
def test_equal_waiting_notes_are_one_and_the_cap_holds(agent: ChangeContext, settings: Any) -> None:
    settings.PENDING_CAP = 2
    first, again = (notes.save(by=agent, owner="alice", content="One.") for _ in range(2))
    assert again.proposed
    assert (again.proposed.created, again.note_id) == (False, first.note_id)
    notes.save(by=agent, owner="alice", content="Two.")
    with refusing("too_many_pending"):
        notes.save(by=agent, owner="alice", content="Three.")


def test_the_same_operation_gives_the_same_note(alice: User, agent: ChangeContext) -> None:
    by = replace(agent, operation="d" * 32)
    first, again = (notes.save(by=by, owner="alice", content="Once.") for _ in range(2))
    assert (again.note_id, again.commit) == (first.note_id, first.commit)
    assert len(reads.notes("alice")) == 1


def test_a_note_that_moved_while_policy_applied_a_change_leaves_nothing_behind(
    alice: User, hers: ChangeContext, agent: ChangeContext
) -> None:
    before = reads.note("alice", save(alice, "One."))
    notes.update(by=hers, owner="alice", note_id=before.id, content="Two.")
    late = notes.NoteChange(before.id, before, notes.stamped(replace(before, content="Three."), timezone.now()))
    with refusing("notes_changed"):
        notes.change_notes(by=agent, owner="alice", kind=Kind.UPDATE, changes=[late])
    assert reads.note("alice", before.id).content == "Two."
    assert not Proposal.objects.exists()
    assert services.recover() == services.RecoveryReport()


# -- superseding ----------------------------------------------------------------------------------


def statements(alice: User, count: int = 3) -> list[str]:
    return [save(alice, f"Statement {number}.") for number in range(count)]


def test_forgetting_supersedes_and_keeps(alice: User, agent: ChangeContext) -> None:
    old, new = (notes.save(by=agent, owner="alice", content=f"Lives in {at}.").note_id for at in ("Bonn", "Berlin"))
    notes.supersede(by=agent, owner="alice", note_id=old, reason="Moved.", replacement_id=new)
    note = reads.note("alice", old)
    assert note.is_superseded
    assert (note.superseded_by, note.superseded_reason) == (new, "Moved.")
    assert [note.id for note in reads.notes("alice") if not note.is_superseded] == [new]
    for note_id, replacement, error in (
        (old, None, "note_superseded"),
        (new, "note-unknown", reads.NoteNotFound),
        ("note-unknown", None, reads.NoteNotFound),
    ):
        with refusing(error):
            notes.supersede(by=agent, owner="alice", note_id=note_id, replacement_id=replacement)


def test_a_chain_of_replacements_may_end_in_a_deleted_note(alice: User, hers: ChangeContext) -> None:
    first, second, third = statements(alice)
    notes.supersede(by=hers, owner="alice", note_id=second, replacement_id=third)
    notes.delete(by=hers, owner="alice", note_id=third)
    notes.supersede(by=hers, owner="alice", note_id=first, replacement_id=second)
    assert reads.note("alice", first).superseded_by == second


def test_a_person_supersedes_and_takes_it_back_under_names_of_their_own_in_the_history(
    alice: User, hers: ChangeContext, worker: Any
) -> None:
    """And agents find it, find it no more, and find it again."""

    def history() -> list[tuple[str, str, str]]:
        return [(change.action, change.actor, change.comment) for change in reads.history("alice", "note", id_)]

    def found() -> list[str | None]:
        return [hit.note_id for hit in service.search("alice", "Where in Bonn?", sources=("user_memory",)).results]

    id_ = notes.save(by=hers, owner="alice", content="Lives in Bonn.").note_id
    assert eventually(found) == [id_]
    loaded = reads.note("alice", id_)
    notes.supersede(by=hers, owner="alice", note_id=id_, reason="Moved.", loaded_sha256=loaded.sha256)
    assert eventually(lambda: not found())
    superseded = reads.note("alice", id_).sha256
    notes.reinstate(actor=alice, owner="alice", note_id=id_, loaded_sha256=superseded, comment="I moved back.")
    assert eventually(found) == [id_]
    note = reads.note("alice", id_)
    assert (note.superseded_at, note.superseded_by, note.superseded_reason) == (None, None, None)
    assert note.sha256 == loaded.sha256
    ledger = history()
    actions = [("reinstated", "I moved back."), ("superseded", "Moved."), ("created", "Moved.")]
    assert ledger == [(action, "alice", comment) for action, comment in actions]
    call_command("rebuild_ledger", verbosity=0)
    assert history() == ledger


@pytest.mark.parametrize("who", ["agent", "hers"])
def test_no_note_is_replaced_by_itself_even_in_a_circle(alice: User, request: pytest.FixtureRequest, who: str) -> None:
    by, (first, second, third) = request.getfixturevalue(who), statements(alice)
    notes.supersede(by=by, owner="alice", note_id=first, replacement_id=second)
    notes.supersede(by=by, owner="alice", note_id=second, replacement_id=third)
    for wrong in (third, first, second):
        with refusing("note_invalid") as refused:
            notes.supersede(by=by, owner="alice", note_id=third, replacement_id=wrong)
        assert refused.value.details["field"] == "replacement_id"


# -- circles of notes that would supersede each other, so that none of them held ------------------


@pytest.fixture
def two(alice: User) -> list[str]:
    return statements(alice, 2)


@pytest.fixture
def proposals(two: list[str], scribe: Agent, ask_first: None) -> list[Proposal]:
    """Each note is to take the other's place; both were fine when they were proposed."""
    by = ChangeContext(actor=scribe)
    made = [notes.supersede(by=by, owner="alice", note_id=a, replacement_id=b) for a, b in (two, two[::-1])]
    return [each.proposal for each in made if each.proposal]


def test_the_approval_that_would_close_a_circle_is_refused(
    two: list[str], proposals: list[Proposal], alice: User, client_of: ClientOf
) -> None:
    first, second = proposals
    approve(alice, first)
    services.recheck("alice", [["note", two[0]]])
    second.refresh_from_db()
    assert second.mergeability == Mergeability.CONFLICT
    with refusing("conflict", match="Approving would make them replace each other"):
        approve(alice, second)
    second.refresh_from_db()
    assert second.status == Status.OPEN
    assert not reads.note("alice", two[1]).is_superseded
    page = client_of(alice).get(second.get_absolute_url())
    assert "Approving would make them replace each other." in words(page)
    reject(alice, second, "outdated")


@pytest.mark.slow
def test_one_claimed_before_the_other_was_merged_goes_back_to_open(
    two: list[str], proposals: list[Proposal], alice: User
) -> None:
    first, second = proposals
    killed(
        f"""
        from approvals.models import Proposal, User
        from approvals.services import approving
        from tests.support.acts import approve
        approving.finish_merging = die
        approve(User.objects.get(username="alice"), Proposal.objects.get(pk={second.pk}))
        """
    )
    approve(alice, first)
    let_leases_run_out()
    assert services.recover().reopened == 1
    assert not reads.note("alice", two[1]).is_superseded


@pytest.mark.slow
def test_of_two_that_policy_applies_at_once_one_is_dropped(two: list[str], scribe: Agent) -> None:
    for note_id, other in (two, two[::-1]):
        killed(
            f"""
            from approvals.models import Agent
            from approvals.services import notes
            from approvals.services.notes import ChangeContext
            from memory_app.writing import commits
            commits.write_main = die
            by = ChangeContext(actor=Agent.objects.get(), may_apply=True)
            notes.supersede(by=by, owner="alice", note_id="{note_id}", replacement_id="{other}")
            """
        )
    let_leases_run_out()
    services.recover()
    assert [proposal.status for proposal in Proposal.objects.all()] == [Status.APPLIED]
    assert sum(note.is_superseded for note in reads.notes("alice")) == 1


@pytest.mark.usefixtures("unsound")
def test_in_a_circle_that_is_there_a_word_can_be_corrected_and_a_note_reinstated(
    two: list[str], alice: User, hers: ChangeContext
) -> None:
    for note_id, other in (two, two[::-1]):  # as two approvals at the same moment can on a server
        now = timezone.now()
        note = notes.stamped(replace(reads.note("alice", note_id), superseded_by=other, superseded_at=now), now)
        with dolt_transaction() as verbs:
            row = MemoryNote.objects.filter(note_id=note_id)
            row.update(superseded_by=other, superseded_at=now, sha256=note.sha256)
            verbs.commit("Close a circle", ASSENT)
    notes.update(by=hers, owner="alice", note_id=two[0], content="Statement one.")
    loaded = reads.note("alice", two[1]).sha256
    notes.reinstate(actor=alice, owner="alice", note_id=two[1], loaded_sha256=loaded)
    assert [note.id for note in reads.notes("alice") if not note.is_superseded] == [two[1]]


# -- several changed in one commit, and put back in one -------------------------------------------


@pytest.fixture
def tagged(alice: User) -> list[str]:
    """Ids of notes with the tags a, b and both."""
    made = [("Likes tea.", ["a"]), ("Reads Dune.", ["b"]), ("Rides a bicycle.", ["a", "b"])]
    return [save(alice, text, tags=tags) for text, tags in made]


def seen(ids: list[str]) -> dict[str, str]:
    return reads.note_sha256s("alice", ids)


def change_many(actor: User, action: BulkAction, ids: list[str], **fields: object) -> BulkOutcome:
    return bulk_notes.change_many(**{"actor": actor, "owner": "alice", "action": action, "seen": seen(ids)} | fields)


def update(alice: User, note_id: str, content: str) -> None:
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=note_id, content=content)


def take_back(actor: User, commit: str, owner: str = "alice") -> BulkOutcome:
    return bulk_notes.take_back(actor=actor, owner=owner, commit=commit)


def test_several_are_deleted_in_one_commit_and_come_back_in_one(alice: User, tagged: list[str]) -> None:
    before = reads.find_notes("alice", tagged)
    done = change_many(alice, BulkAction.DELETE, tagged, comment="Old.")
    assert reads.find_notes("alice", tagged) == {}
    rows = Change.objects.filter(commit=done.outcome.commit)
    assert {(row.action, row.actor, row.comment, row.target) for row in rows} == {
        ("deleted", "alice", "Old.", id_) for id_ in tagged
    }
    back = take_back(alice, done.outcome.commit)
    assert reads.find_notes("alice", tagged) == before
    assert {row.action for row in Change.objects.filter(commit=back.outcome.commit)} == {"reverted"}


def test_outdated_ones_keep_the_reason_and_those_that_are_so_already_are_counted(
    alice: User, tagged: list[str]
) -> None:
    change_many(alice, BulkAction.OUTDATE, tagged[:1], comment="First.")
    done = change_many(alice, BulkAction.OUTDATE, tagged, comment="She moved.")
    assert (len(done.outcome.changes), done.unchanged) == (2, 1)
    assert [reads.note("alice", id_).superseded_reason for id_ in tagged] == ["First.", "She moved.", "She moved."]
    with refusing("no_change"):
        change_many(alice, BulkAction.OUTDATE, tagged)


def test_tags_are_added_and_removed_and_a_wrong_one_changes_nothing(alice: User, tagged: list[str]) -> None:
    change_many(alice, BulkAction.RETAG, tagged, add_tags=["c", " c ", ""], remove_tags=["a"])
    assert [reads.note("alice", id_).tags for id_ in tagged] == [("c",), ("b", "c"), ("b", "c")]
    head = head_of_main()
    with refusing("note_invalid"):
        change_many(alice, BulkAction.RETAG, tagged, add_tags=["x" * 500])
    assert head_of_main() == head


@pytest.fixture
def doubled(alice: User) -> list[str]:
    """Ids of three notes that say the same, of one that is outdated, and of one that says something else."""
    imported(alice, 1, "likes Tea", first=3)
    notes.supersede(by=ChangeContext(actor=alice), owner="alice", note_id="mem-3-aaaa")
    imported(alice, 3, "Likes tea.")
    change_many(alice, BulkAction.RETAG, ["mem-0-aaaa"], add_tags=["a"])
    change_many(alice, BulkAction.RETAG, ["mem-2-aaaa"], add_tags=["b", "a"])
    return [*(f"mem-{number}-aaaa" for number in range(4)), save(alice, "Likes tea a lot.")]


@pytest.mark.parametrize("used", [[], ["mem-2-aaaa"]])
def test_of_what_says_the_same_the_most_used_stays_and_then_the_oldest(
    alice: User, doubled: list[str], used: list[str]
) -> None:
    before = reads.find_notes("alice", doubled)
    recall_counts.record("alice", used)
    with refusing("not_allowed"):
        change_many(User.objects.create(username="mallory"), BulkAction.FOLD, doubled)
    done = change_many(alice, BulkAction.FOLD, doubled)
    kept = (used or doubled)[0]
    assert set(reads.find_notes("alice", doubled)) == {kept, *doubled[3:]}
    assert sorted(reads.note("alice", kept).tags) == ["a", "b"]
    with refusing("no_change"):
        change_many(alice, BulkAction.FOLD, [kept, *doubled[3:]])
    take_back(alice, done.outcome.commit)
    assert reads.find_notes("alice", doubled) == before


def test_the_command_lists_what_is_doubled_and_folds_it(
    alice: User, ben: User, doubled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("doubles")
    assert capsys.readouterr().out == "alice: 3 say “likes tea”: mem-2-aaaa, mem-1-aaaa, mem-0-aaaa\n"
    call_command("doubles", owner="alice", fold=True)
    change = Change.objects.filter(owner="alice").latest("id")
    assert capsys.readouterr().out.endswith(f"alice: 2 folded in commit {change.commit}.\n")
    assert (change.actor, len(reads.notes("alice"))) == ("alice", 3)
    call_command("doubles", fold=True)
    assert capsys.readouterr().out == ""
    with pytest.raises(CommandError, match="nobody called mallory"):
        call_command("doubles", owner="mallory")


def test_what_changed_or_is_gone_since_it_was_shown_is_left_out_and_named(alice: User, tagged: list[str]) -> None:
    shown = seen(tagged)
    update(alice, tagged[0], "Likes coffee.")
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=tagged[1])
    done = change_many(alice, BulkAction.DELETE, tagged, seen=shown)
    assert set(done.left_out) == set(tagged[:2])
    assert [change.id for change in done.outcome.changes] == [tagged[2]]
    assert reads.note("alice", tagged[0]).content == "Likes coffee."
    with refusing("notes_changed"):
        change_many(alice, BulkAction.DELETE, tagged, seen=shown)


def test_undoing_leaves_out_what_changed_again_and_is_not_done_twice(alice: User, tagged: list[str]) -> None:
    done = change_many(alice, BulkAction.RETAG, tagged, add_tags=["c"])
    update(alice, tagged[0], "Likes coffee.")
    back = take_back(alice, done.outcome.commit)
    assert back.left_out == (tagged[0],)
    assert [reads.note("alice", id_).tags for id_ in tagged] == [("a", "c"), ("b",), ("a", "b")]
    with refusing("no_change"):
        take_back(alice, done.outcome.commit)
    again = take_back(alice, back.outcome.commit)  # to undo the undoing
    assert len(again.outcome.changes) == 2
    update(alice, tagged[1], "Reads Emma.")
    update(alice, tagged[2], "Walks.")
    with refusing("notes_changed"):
        take_back(alice, done.outcome.commit)


def test_only_what_its_owner_did_directly_is_put_back(alice: User, tim: User, scribe: Agent, tagged: list[str]) -> None:
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Applied by policy.")
    for commit in (made.commit, "0" * 40, "nonsense"):
        with pytest.raises(NotABulkChange):
            take_back(alice, commit)
    done = change_many(alice, BulkAction.DELETE, tagged)
    with pytest.raises(NotABulkChange):
        take_back(alice, done.outcome.commit, owner="ben")
    with refusing("not_allowed"):
        take_back(tim, done.outcome.commit)
    with refusing("not_allowed"):
        change_many(tim, BulkAction.DELETE, [made.note_id])
