"""Taking a decision back: what was decided waits again as it was, and what cannot."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Mergeability, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.recovery.ledger import rebuild_ledger
from approvals.review.reworded import ids_of_changes
from approvals.review.targets import targets_of
from approvals.review.undo import plan_undo
from approvals.services import notes
from approvals.services.errors import AlreadyUndone
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.types import FIRST
from memory_app.models import Change
from memory_app.reads import Block
from tests.approvals.recovery import use_cases
from tests.approvals.services.conftest import body
from tests.conftest import in_a_thread
from tests.support.acts import approve, as_seen, assert_ledger, change, edit, proposed_import, reject, save
from tests.support.crashing import killed
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose
from tests.support.refusals import refusing


def undo(person: User, proposal: Proposal, **more: str) -> Proposal:
    return services.undo(actor=person, proposal_id=proposal.pk, **more)


def undo_as_seen(person: User, proposal: Proposal) -> Proposal:
    return undo(person, proposal, seen_sha256=as_seen(proposal)["seen_sha256"])


@pytest.fixture
def approved(tim: User, proposal: Proposal) -> Proposal:
    return approve(tim, proposal)


# -- approvals ------------------------------------------------------------------------------------


def test_an_approval_is_undone_by_a_commit_of_who_undoes_it(goals: Block, approved: Proposal, tim: User) -> None:
    undone = undo(tim, approved, comment=" The wrong student. ")
    assert reads.block("alice", "goals").sha256 == goals.sha256
    assert (undone.status, undone.merge_commit, undone.reverted_by_commit) == (Status.OPEN, "", "")
    assert_ledger("goals", action="reverted", actor="tim", proposal_id=approved.pk, comment="The wrong student.")
    event = undone.events.last()
    assert (event.what, event.actor, event.text) == ("reverted", "tim", "The wrong student.")
    assert event.data == {"commit": head_of_main(), "waits": True}


def state_of(proposal: Proposal) -> dict[str, object]:
    """What people and agents see of a proposal, but for its term."""
    names = ["status", "created_at", "mergeability", "review_reason", "approval", "handed_back_at", "merge_commit"]
    names += ["decided_by", "decided_at", "decision_comment", "decision_reason", "current_revision_number", "answers"]
    revision, (_main, *branches) = proposal.current_revision, sorted(dolt().branches())
    texts = (revision.base_text, revision.edits, revision.result_text, revision.note_changes)
    notes = sorted(proposal.proposed_notes.values_list("note_id", flat=True))
    return {name: getattr(proposal, name) for name in names} | {
        "revision": (texts, [each for each in branches if each == revision.branch], notes),
        "memory": ({each.label: each.sha256 for each in reads.blocks("alice")}, reads.notes("alice")),
    }


@pytest.mark.parametrize("name", [name for name in use_cases.USE_CASES if name.startswith("approve")])
def test_what_was_approved_in_any_way_waits_as_it_was_and_can_be_decided_anew(name: str) -> None:
    *before, approves = use_cases.USE_CASES[name]
    for act in before:
        act()
    proposal = use_cases.the_proposal()
    services.recheck("alice", targets_of(proposal, proposal.current_revision))  # with servers a worker does, some time
    waited = state_of(use_cases.the_proposal())
    for _ in range(2):
        approves()
        use_cases.undo()
        assert state_of(use_cases.the_proposal()) == waited
    approves()
    ledger = [*Change.objects.order_by("id").values_list("commit", "target", "action", "actor", "comment", "at")]
    Change.objects.all().delete()
    assert rebuild_ledger(FIRST)[1] == len(ledger)
    assert ledger == [
        *Change.objects.order_by("id").values_list("commit", "target", "action", "actor", "comment", "at")
    ]
    use_cases.undo()
    use_cases.reject()
    assert list(problems()) == []
    use_cases.undo()
    assert state_of(use_cases.the_proposal()) == waited
    assert services.recover() == services.RecoveryReport()
    assert use_cases.the_proposal().expires_at > timezone.now() + timedelta(days=1)


def test_what_was_approved_on_a_later_text_is_undone_to_that_text(proposal: Proposal, alice: User, tim: User) -> None:
    """The text before the merge comes back, whichever revision was merged."""
    edit(alice, "goals", "one book", "two books")
    before = body()
    assert approve(tim, proposal).current_revision_number == 2
    undo(alice, proposal)
    assert body() == before


def test_later_changes_stay_and_are_shown_first(goals: Block, approved: Proposal, alice: User, tim: User) -> None:
    edit(alice, "goals", "one book", "two books", title="My goals")
    with refusing("changed_since"):
        undo(tim, approved)
    plan = plan_undo(approved)
    assert ([change.action for change in plan.later], plan.is_exact) == (["edited"], False)
    edit(alice, "goals", "two books", "three books")
    with refusing("changed_since"):  # since it was shown
        undo(tim, approved, seen_sha256=plan.seen_sha256)
    assert "maths" in body()
    assert Proposal.objects.get().status == Status.APPROVED
    undone = undo(tim, approved, seen_sha256=plan_undo(approved).seen_sha256)
    assert (undone.status, undone.mergeability) == (Status.OPEN, Mergeability.REBASABLE)
    assert body() == goals.body.replace("one book", "three books")
    assert reads.block("alice", "goals").title == "My goals"


def test_a_later_change_of_the_same_text_is_named(approved: Proposal, alice: User) -> None:
    edit(alice, "goals", "one book", "two books")
    culprit = edit(alice, "goals", "maths", "music")
    edit(alice, "goals", "B2", "C1")
    with refusing("undo_conflict"):
        undo_as_seen(alice, approved)
    blocked_by = plan_undo(approved).blocked_by
    assert blocked_by is not None
    assert blocked_by.commit == culprit.commit
    assert "music" in body()


def test_what_is_gone_already_is_not_undone(approved: Proposal, alice: User) -> None:
    edit(alice, "goals", "maths", "math")
    edit(alice, "goals", "one book", "two books")
    with refusing("undo_conflict", match="no longer has this change"):
        undo_as_seen(alice, approved)
    now = reads.block("alice", "goals")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=now.sha256)
    with refusing("undo_conflict"):
        undo(alice, approved, seen_sha256="")
    assert reads.find_block("alice", "goals") is None


def test_a_text_that_would_not_fit_is_left(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = approve(tim, propose(goals, "She wants to pass the B2 exam in June.\n", ""))
    now = reads.block("alice", "goals")
    fields = services.BlockFields(title=now.title, description="", body=now.body, limit=len(now.body))
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=now.sha256)
    with refusing("undo_conflict", match="over its limit"):
        undo_as_seen(alice, proposal)


def test_of_many_who_undo_at_once_one_does(goals: Block, approved: Proposal, alice: User, tim: User) -> None:
    outcomes: list[object] = []

    def press(person: User) -> None:
        try:
            outcomes.append(undo(person, approved, comment=person.username))
        except AlreadyUndone as error:
            outcomes.append(error)

    for thread in [in_a_thread(partial(press, person)) for person in (alice, tim, alice, tim)]:
        thread.join()
    assert body() == goals.body
    assert Change.objects.filter(action="reverted").count() == 1
    assert Event.objects.filter(what="reverted").count() == 1
    assert Counter(map(type, outcomes)) == {Proposal: 1, AlreadyUndone: 3}


def test_it_is_undone_once_and_not_by_strangers(approved: Proposal, alice: User, tim: User, mallory: User) -> None:
    with refusing("proposal_not_found"):
        undo(mallory, approved)
    undo(tim, approved)
    head = head_of_main()
    for person in (alice, tim):
        with refusing("already_undone"):
            undo(person, approved)
    assert head_of_main() == head


def test_its_agent_may_amend_or_withdraw_it_and_is_not_told_that_it_was_rejected(
    goals: Block, tim: User, approved: Proposal, propose: Propose
) -> None:
    undo(tim, approved)
    assert propose(goals, "math", "maths").pk == approved.pk
    amended = propose(goals, "math", "mathematics", proposal_id=approved.pk)
    assert (amended.pk, amended.current_revision_number, amended.status) == (approved.pk, 2, Status.OPEN)
    approve(tim, amended)
    assert "mathematics" in body()
    withdrawn = services.withdraw(agent=approved.agent, proposal_id=undo(tim, amended).pk)
    assert propose(goals, "math", "mathematics").answers is None
    assert withdrawn.current_revision_number == 2


def test_what_was_asked_again_after_a_rejection_is_so_when_its_approval_is_undone(
    goals: Block, tim: User, proposal: Proposal, propose: Propose
) -> None:
    reject(tim, proposal)
    again = propose(goals, "math", "maths", reasoning="She asked for it again.", force=True)
    undone = undo(tim, approve(tim, again))
    assert (undone.answers, undone.review_reason) == (proposal, "repeated")
    services.withdraw(agent=again.agent, proposal_id=again.pk)
    with refusing("rejected_before"):
        propose(goals, "math", "maths")


def test_an_automatic_change_that_is_undone_waits_for_nobody_and_not_for_long(tim: User, scribe: Agent) -> None:
    by = ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.")
    undone = undo(tim, notes.save(by=by, owner="alice", content="She sails.").proposal)
    assert (undone.status, undone.reverted_by_commit) == (Status.APPLIED, head_of_main())
    again = notes.save(by=by, owner="alice", content="She sails.").proposal
    assert (again.status, again.review_reason, again.answers) == (Status.OPEN, "repeated", undone)


def test_of_what_was_approved_in_part_nothing_waits_where_its_texts_are_removed(
    goals: Block, alice: User, scribe: Agent
) -> None:
    proposal = change(scribe, ("math", "maths"), ("one book", "two books"))
    first, _second = ids_of_changes(proposal)
    seen = as_seen(proposal)
    services.approve_some(actor=alice, accepted=[first], rest=services.Rest.REJECT, reason="wrong", **seen)
    services.redact(actor=alice, proposal_id=proposal.pk)
    assert undo(alice, proposal).reverted_by_commit == head_of_main()
    assert body() == goals.body


def test_two_approvals_are_undone_in_any_order(goals: Block, tim: User, proposal: Proposal, propose: Propose) -> None:
    second = propose(goals, "one book", "two books")
    approve(tim, proposal)
    approve(tim, second)
    undo_as_seen(tim, proposal)
    assert body() == goals.body.replace("one book", "two books")
    undo_as_seen(tim, second)
    assert body() == goals.body


# -- notes ----------------------------------------------------------------------------------------

IDS = [f"mem-{number}-aaaa" for number in range(1, 5)]


@pytest.mark.usefixtures("ask_first")
def test_the_approval_of_a_note_is_undone(tim: User, scribe: Agent) -> None:
    made = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="She sails.")
    undo(tim, approve(tim, made.proposal))
    assert reads.find_note("alice", made.note_id) is None


def test_an_approved_import_is_undone_but_for_what_changed_since(alice: User, tim: User, scribe: Agent) -> None:
    for id_ in IDS:
        save(alice, f"Old {id_}.", note_id=id_)
    approved = approve(tim, proposed_import(scribe, 4))
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=IDS[2], content="Alice changed it.")
    with refusing("changed_since"):
        undo(tim, approved)
    plan = plan_undo(approved)
    assert plan.left == (IDS[2],)
    undo(tim, approved, seen_sha256=plan.seen_sha256)
    now = [reads.note("alice", id_).content for id_ in IDS]
    assert now == [f"Old {IDS[0]}.", f"Old {IDS[1]}.", "Alice changed it.", f"Old {IDS[3]}."]


# -- rejections -----------------------------------------------------------------------------------


def test_what_was_rejected_or_expired_is_opened_again_and_can_be_approved(proposal: Proposal, tim: User) -> None:
    services.expire(now=timezone.now() + timedelta(days=10_000))
    assert undo(tim, proposal).status == Status.OPEN
    proposal.refresh_from_db()
    reject(tim, proposal, comment="No.")
    opened = undo(tim, proposal, comment="Too quick.")
    assert (opened.status, opened.decided_by, opened.decision_reason) == (Status.OPEN, None, "")
    assert (opened.decision_comment, opened.decided_at) == ("", None)
    assert opened.expires_at > timezone.now() + timedelta(days=1)
    assert list(dolt().branches()) == ["main", opened.current_revision.branch]
    event = opened.events.last()
    assert (event.what, event.actor, event.text) == ("reopened", "tim", "Too quick.")
    assert event.data == {"decided": "rejected", "reason": "wrong"}
    assert list(problems()) == []
    approve(tim, opened)
    assert "maths" in body()


def test_it_is_opened_as_it_stands_to_the_block_now(
    goals: Block, alice: User, tim: User, proposal: Proposal, propose: Propose
) -> None:
    proposals = [proposal, propose(goals, "one book", "two books")]
    for each in proposals:
        reject(tim, each)
    edit(alice, "goals", "likes math", "hates math")
    edit(alice, "goals", "one book", "no book")
    states = [undo(tim, each).mergeability for each in proposals]
    assert states == [Mergeability.REBASABLE, Mergeability.CONFLICT]


def test_a_rejected_import_waits_again_note_by_note(alice: User, tim: User, scribe: Agent) -> None:
    proposal = proposed_import(scribe, 4)
    undo(tim, reject(tim, proposal))
    assert {row.note_id for row in proposal.proposed_notes.all()} == set(IDS)


#: What may have become of a proposal, with what people are told who would undo it.
NOTHING_TO_UNDO: dict[str, tuple[Callable[[User, Proposal], object], str]] = {
    "open": (lambda tim, proposal: None, "not decided yet"),
    "withdrawn": (lambda tim, proposal: services.withdraw(agent=proposal.agent, proposal_id=proposal.pk), "withdrew"),
    "removed": (lambda tim, proposal: reject(tim, proposal, "too_private"), "removed for good"),
}


@pytest.mark.parametrize(("became", "why"), NOTHING_TO_UNDO.values(), ids=NOTHING_TO_UNDO)
def test_what_waits_was_withdrawn_or_removed_is_not_undone(
    proposal: Proposal, tim: User, became: Callable[[User, Proposal], object], why: str
) -> None:
    became(tim, proposal)
    before = Proposal.objects.get().status
    with refusing("decision_refused", match=why):
        undo(tim, proposal)
    assert Proposal.objects.get().status == before


def test_what_was_proposed_again_is_not_opened(goals: Block, tim: User, proposal: Proposal, propose: Propose) -> None:
    reject(tim, proposal)
    again = propose(goals, "math", "maths", reasoning="She asked for it again.", force=True)
    with refusing("decision_refused", match=f"decide proposal {again.pk}"):
        undo(tim, proposal)
    services.withdraw(agent=again.agent, proposal_id=again.pk)
    answer = propose(goals, "math", "mathematics")
    Proposal.objects.filter(pk=answer.pk).update(answers=proposal)
    with refusing("decision_refused", match=f"decide proposal {answer.pk}"):
        undo(tim, proposal)


def test_opened_by_several_at_once_it_is_opened_once(alice: User, tim: User, proposal: Proposal) -> None:
    def press(person: User) -> None:
        with suppress(AlreadyUndone):
            undo(person, proposal)

    for times in range(1, 11):
        reject(tim, proposal)
        for thread in [in_a_thread(partial(press, person)) for person in (alice, tim, alice, tim)]:
            thread.join()
        assert Event.objects.filter(what="reopened").count() == times
        proposal.refresh_from_db()
        assert (proposal.status, proposal.lease_expires_at) == (Status.OPEN, None)
        assert list(problems()) == []


# -- when the process dies on the way -------------------------------------------------------------

#: Where it dies: before the commit, before the ledger's row, before the proposal's, after both.
BEFORE_IT = "undoing.write_main = die"
CRASHES = ["commits.record = die", "events.record = die", "undoing.after_change = die"]


def killed_while_undoing(crash: str) -> None:
    killed(
        f"""
        from approvals.models import Proposal, User
        from approvals import services
        from approvals.services import events
        from memory_app.writing import commits
        undoing = sys.modules["approvals.services.undo"]  # the package has a function of that name
        {crash}
        services.undo(actor=User.objects.get(username="alice"), proposal_id=Proposal.objects.get().pk, comment="Why.")
        """
    )


@pytest.fixture(params=["applied", "approved"])
def taken(request: pytest.FixtureRequest, tim: User, scribe: Agent, goals: Block) -> Proposal:
    if request.param == "approved":
        found: Proposal = request.getfixturevalue("approved")
        return found
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Wrong.")
    assert made.proposal is not None
    return made.proposal


def assert_taken_back(proposal: Proposal, goals: Block) -> None:
    proposal.refresh_from_db()
    commit, waits = head_of_main(), {"waits": True} if proposal.status == Status.OPEN else {}
    assert proposal.reverted_by_commit == ("" if waits else commit)
    target, kind = proposal.target, proposal.target_kind
    assert_ledger(target, kind=kind, action="reverted", actor="alice", commit=commit, comment="Why.")
    (event,) = proposal.events.filter(what="reverted")
    assert (event.actor, event.text, event.data) == ("alice", "Why.", {"commit": commit} | waits)
    assert (reads.notes("alice"), body()) == ((), goals.body)


@pytest.mark.slow
@pytest.mark.parametrize("crash", CRASHES)
def test_it_is_finished_by_recovery(taken: Proposal, goals: Block, crash: str) -> None:
    killed_while_undoing(crash)
    assert services.recover().reverted == (0 if "after_change" in crash else 1)
    assert_taken_back(taken, goals)
    assert services.recover().reverted == 0


@pytest.mark.slow
@pytest.mark.parametrize("crash", CRASHES[:-1])
def test_it_is_finished_by_whoever_presses_again(taken: Proposal, goals: Block, tim: User, crash: str) -> None:
    killed_while_undoing(crash)
    undo(tim, taken, comment="Another reason.")
    assert_taken_back(taken, goals)
    with refusing("already_undone"):
        undo(tim, taken)


@pytest.mark.slow
def test_killed_before_the_memory_changed_it_is_as_it_was_until_somebody_presses_again(
    taken: Proposal, goals: Block, alice: User
) -> None:
    killed_while_undoing(BEFORE_IT)
    status, head = taken.status, head_of_main()
    Proposal.objects.update(lease_expires_at=timezone.now())
    assert services.recover().reverted == 0
    taken.refresh_from_db()
    assert (taken.status, head_of_main(), list(dolt().branches())) == (status, head, ["main"])
    undo(alice, taken, comment="Why.")
    assert_taken_back(taken, goals)
