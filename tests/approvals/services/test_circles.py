"""Notes that would supersede each other in a circle, so that none of them held: refused when it would be closed."""

from dataclasses import replace

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Mergeability, Policy, Proposal, RejectReason, Status, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.connections import dolt_transaction
from memory_app.models import MemoryNote
from memory_app.writing.authors import ASSENT
from tests.support.acts import approve
from tests.support.crashing import killed, let_leases_run_out
from tests.support.fixtures import ClientOf
from tests.support.pages import words
from tests.support.refusals import refusing

pytestmark = pytest.mark.slow


@pytest.fixture
def two(alice: User) -> tuple[str, str]:
    by = ChangeContext(actor=alice)
    first, second = (notes.save(by=by, owner="alice", content=f"Statement {n}.").note_id for n in (1, 2))
    return first, second


@pytest.fixture
def proposals(two: tuple[str, str], scribe: Agent) -> tuple[Proposal, Proposal]:
    """Each note is to take the other's place; both were fine when they were proposed."""
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    made = [
        notes.supersede(by=ChangeContext(actor=scribe), owner="alice", note_id=note_id, replacement_id=other).proposal
        for note_id, other in (two, two[::-1])
    ]
    first, second = made
    assert first is not None
    assert second is not None
    return first, second


def close_circle(first: str, second: str) -> None:
    """As two approvals at the same moment can on a server."""
    for note_id, other in ((first, second), (second, first)):
        now = timezone.now()
        note = notes.stamped(replace(reads.note("alice", note_id), superseded_by=other, superseded_at=now), now)
        with dolt_transaction() as verbs:
            MemoryNote.objects.filter(note_id=note_id).update(
                superseded_by=other, superseded_at=now, sha256=note.sha256
            )
            verbs.commit("Close a circle", ASSENT)


def test_the_approval_that_would_close_it_is_refused(
    two: tuple[str, str], proposals: tuple[Proposal, Proposal], alice: User
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


def test_its_page_says_why_and_offers_to_reject_it(
    proposals: tuple[Proposal, Proposal], alice: User, client_of: ClientOf
) -> None:
    first, second = proposals
    approve(alice, first)
    page = client_of(alice).get(second.get_absolute_url())
    assert "Approving would make them replace each other." in words(page)
    services.reject(actor=alice, proposal_id=second.pk, revision=1, reason=RejectReason.OUTDATED)


def test_one_claimed_before_the_other_was_merged_goes_back_to_open(
    two: tuple[str, str], proposals: tuple[Proposal, Proposal], alice: User
) -> None:
    first, second = proposals
    killed(
        f"""
        from approvals import services
        from approvals.models import Proposal, User
        from approvals.services import approving
        from approvals.review.targets import current_state
        approving.finish_merging = die
        p = Proposal.objects.get(pk={second.pk})
        services.approve(actor=User.objects.get(username="alice"), proposal_id=p.pk, revision=1,
                         seen_sha256=current_state(p, p.current_revision).sha256)
        """
    )
    approve(alice, first)
    let_leases_run_out()
    assert services.recover().reopened == 1
    assert not reads.note("alice", two[1]).is_superseded


def test_of_two_that_policy_applies_at_once_one_is_dropped(two: tuple[str, str], alice: User, scribe: Agent) -> None:
    for note_id, other in (two, two[::-1]):
        killed(
            f"""
            from approvals.models import Agent
            from approvals.services import notes
            from approvals.services.notes import ChangeContext
            from memory_app.writing import commits
            commits.write_main = die
            by = ChangeContext(actor=Agent.objects.get(), may_apply=True)
            notes.supersede(by=by, owner="alice", note_id="{note_id}",
                            replacement_id="{other}")
            """
        )
    let_leases_run_out()
    services.recover()
    assert [proposal.status for proposal in Proposal.objects.all()] == [Status.APPLIED]
    assert sum(note.is_superseded for note in reads.notes("alice")) == 1


def test_in_a_circle_that_is_there_a_word_can_be_corrected_and_a_note_reinstated(
    two: tuple[str, str], alice: User
) -> None:
    close_circle(*two)
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=two[0], content="Statement one.")
    loaded = reads.note("alice", two[1]).sha256
    notes.reinstate(actor=alice, owner="alice", note_id=two[1], loaded_sha256=loaded)
    assert [note.id for note in reads.notes("alice", include_superseded=False)] == [two[1]]
