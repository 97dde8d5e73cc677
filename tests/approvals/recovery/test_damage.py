"""Each way to alter one row or branch behind Assent's back is seen, by a whole check and by a quick one.

The places are those of a small site, in which each kind of decision was made and some were taken back. What people
may do later, which must not be taken for damage, is in `test_since_last` and in the tests of each service.
"""

from collections.abc import Callable
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Approval, Event, Proposal, RejectReason, Revision, Status, User
from approvals.recovery.integrity import Check
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.approvals.recovery.test_check_memory import move_branch
from tests.approvals.recovery.test_ledger import FORGED, write_outside
from tests.support import acts
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose


def keep() -> None:
    """Make a check that finds nothing, and keep how far it got."""
    check = Check()
    assert list(check.problems()) == []
    check.keep()


def codes(*, quick: bool = False) -> set[str]:
    check = Check(since_last=quick)
    assert quick == bool(check.marks)
    return {finding.code for finding in check.problems()}


@pytest.fixture
def site(goals: Block, alice: User, tim: User, scribe: Agent, propose: Propose) -> dict[str, Proposal]:
    """One proposal of each kind, by name, all of them decided after a check that found nothing."""
    keep()

    def change(old: str, new: str) -> Proposal:
        return propose(reads.block("alice", "goals"), old, new)

    made = {"approved": acts.approve(tim, change("math", "maths"), comment="Fine.")}
    seen = acts.as_seen(edited := change("maths", "algebra"))
    text = reads.block("alice", "goals").body.replace("maths", "physics")
    made["edited"] = services.approve_edited(actor=tim, text=text, **seen)
    for name in ("applied", "reverted"):
        by = ChangeContext(actor=scribe, may_apply=True, reasoning="Said so.")
        notes.save(by=by, owner="alice", content=f"She was {name}.")
        made[name] = Proposal.objects.latest("pk")
    services.undo(actor=alice, proposal_id=made["reverted"].pk, comment="Not so.")
    made["rejected"] = acts.reject(tim, change("physics", "poems"), RejectReason.WRONG, comment="No.")
    acts.approve(tim, anew := change("physics", "prose"))
    services.undo(actor=alice, proposal_id=anew.pk)
    anew.refresh_from_db()
    made["decided anew"] = acts.reject(tim, anew, RejectReason.OUTDATED)
    made["withdrawn"] = services.withdraw(agent=scribe, proposal_id=change("physics", "plays").pk, comment="Sorry.")
    made["removed"] = acts.reject(tim, change("physics", "secrets"), RejectReason.TOO_PRIVATE, comment="No names.")
    made["open"] = change("physics", "chess")
    assert edited.pk == made["edited"].pk
    assert codes() == codes(quick=True) == set()
    return made


Damage = Callable[[Proposal], object]


def fields(**values: Any) -> Damage:
    return lambda proposal: Proposal.objects.filter(pk=proposal.pk).update(**values)


def texts(**values: Any) -> Damage:
    return lambda proposal: Revision.objects.filter(proposal=proposal).update(**values)


def rows(**values: Any) -> Damage:
    """Rewrite the row of the ledger about a proposal's commit; without values, delete it."""
    return lambda proposal: (
        Change.objects.filter(commit=proposal.merge_commit).update(**values)
        if values
        else Change.objects.filter(commit=proposal.merge_commit).delete()
    )


def event(what: Event.What, **values: Any) -> Damage:
    """Rewrite an event of a proposal; without values, delete it."""
    return lambda proposal: (
        proposal.events.filter(what=what).update(**values) if values else proposal.events.filter(what=what).delete()
    )


def of_mallory(proposal: Proposal) -> None:
    fields(decided_by=User.objects.create(username="mallory"))(proposal)


def of_mallory_also_in_its_history(proposal: Proposal) -> None:
    of_mallory(proposal)
    event(Event.What.APPROVED, actor="mallory")(proposal)


#: With a number that no database can have.
OF_NO_PROPOSAL = f"{FORGED}\nProposal: {2**63}"

ALTERED = {"decision_altered"}


@pytest.mark.parametrize(
    ("which", "damage", "expected"),
    [
        # the memory
        ("approved", lambda _: write_outside("Hers.", "Just so."), {"ledger_lacks"}),
        ("approved", lambda _: write_outside("Hers.", FORGED), {"ledger_lacks"}),
        (
            "approved",
            lambda _: write_outside("Hers.", FORGED + f"\nProposal: {2**63}"),
            {"ledger_lacks", "proposal_missing"},
        ),
        ("open", lambda found: move_branch(found.current_revision.branch), {"branch_moved"}),
        ("open", lambda found: dolt().drop_branch(found.current_revision.branch), {"branch_missing"}),
        ("open", lambda _: dolt().create_branch("p/77", head_of_main()), {"orphan_branch"}),
        # the ledger
        ("approved", rows(), {"ledger_lacks"}),
        ("approved", rows(action="edited", actor="mallory"), {"ledger_differs"}),
        ("approved", rows(actor="mallory"), {"ledger_differs"}),
        ("approved", rows(comment="Fine!"), {"ledger_differs"}),
        ("approved", rows(commit="0" * 40), {"ledger_lacks", "commit_lost"}),
        # whether something was decided
        ("applied", lambda found: found.delete(), {"proposal_missing"}),
        ("approved", fields(status=Status.REJECTED), {"decision_contradicted"}),
        ("approved", fields(status=Status.OPEN), {"branch_missing", *ALTERED}),
        ("rejected", fields(status=Status.APPROVED), {"decision_lost"}),
        ("rejected", fields(status=Status.EXPIRED), ALTERED),
        ("withdrawn", fields(status=Status.REJECTED), ALTERED),
        ("open", fields(status=Status.MERGING), {"interrupted"}),
        # what was decided about
        ("open", texts(result_text="Other."), {"text_altered"}),
        ("open", texts(base_text="Other."), {"text_altered"}),
        ("approved", texts(result_text="Other."), {"text_altered"}),
        ("rejected", fields(current_revision_number=2), ALTERED),
        # who decided what, and why
        ("approved", of_mallory, ALTERED),
        ("approved", fields(decided_by=None), ALTERED),
        ("approved", of_mallory_also_in_its_history, {"decision_contradicted"}),
        ("rejected", of_mallory, ALTERED),
        ("withdrawn", of_mallory, ALTERED),
        ("reverted", fields(reverted_by_commit=""), ALTERED),
        ("applied", lambda found: fields(reverted_by_commit=found.merge_commit)(found), ALTERED),
        ("rejected", fields(decision_reason=RejectReason.DUPLICATE), ALTERED),
        ("rejected", fields(decision_comment="Yes!"), ALTERED),
        ("rejected", fields(decision_comment=""), ALTERED),
        ("removed", fields(decision_comment="Never."), ALTERED),
        ("withdrawn", fields(decision_comment="Never."), ALTERED),
        ("edited", fields(approval=Approval.AS_PROPOSED), ALTERED),
        ("edited", fields(decision_reason=RejectReason.WRONG), ALTERED),
        ("approved", fields(reasoning="Tim said so."), ALTERED),
        ("rejected", fields(reasoning=""), ALTERED),
        ("applied", fields(reasoning="Alice said so."), ALTERED),
        ("open", fields(reasoning="Tim said so."), ALTERED),
        ("removed", fields(reasoning="She hates maths."), ALTERED),
        # their history
        ("approved", event(Event.What.APPROVED), ALTERED),
        ("approved", event(Event.What.APPROVED, actor="mallory"), ALTERED),
        ("approved", event(Event.What.APPROVED, text="Fine!"), ALTERED),
        ("approved", event(Event.What.PROPOSED), ALTERED),
        ("applied", event(Event.What.APPLIED), ALTERED),
        ("rejected", event(Event.What.REJECTED), ALTERED),
        ("rejected", event(Event.What.REJECTED, text=""), ALTERED),
        ("rejected", event(Event.What.REJECTED, data={"reason": "duplicate"}), ALTERED),
        ("reverted", event(Event.What.REVERTED), ALTERED),
        ("decided anew", event(Event.What.APPROVED), ALTERED),
        ("decided anew", event(Event.What.APPROVED, text="Fine!"), {"ledger_differs"}),
        ("decided anew", event(Event.What.REVERTED), ALTERED),
        ("open", event(Event.What.PROPOSED, text="Tim said so."), ALTERED),
    ],
)
def test_what_was_altered_is_seen(site: dict[str, Proposal], which: str, damage: Damage, expected: set[str]) -> None:
    damage(site[which])
    assert (codes(), codes(quick=True)) == (expected, expected)
