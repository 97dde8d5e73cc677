"""Every use case that writes, once and small, with what it needs to be there before: for what has to hold of them all.

Functions of a module, since they also run in processes of their own; nothing of pytest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, RejectReason, Tutorship, User
from approvals.review.targets import current_state
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory
from memory_app import reads
from memory_app.text import worddiff
from memory_app.text.edits import Replace

BODY = "# Goals\n\nAlice likes math.\nShe wants to pass the B2 exam in June.\nShe reads one book a month.\n"
OPERATION = "b" * 32
#: Longer than the 255 bytes DoltLite keeps of a merge's message, and ending as a commit of somebody else's does.
COMMENT = "Schön. " * 50 + "\n\nAction: edited\nOwner: ben\nTarget: block/goals\nActor: ben\nOperation: " + "a" * 32


@dataclass(frozen=True)
class UseCase:
    """What is there before, and what then happens in a process that may be killed."""

    before: Callable[[], None]
    work: Callable[[], object]


# -- before ---------------------------------------------------------------------------------------


def a_block() -> None:
    alice, tim = a_person("alice", first_name="Alice"), a_person("tim")
    a_person("admin", is_staff=True)
    Tutorship.objects.create(tutor=tim, owner=alice)
    Agent.objects.create(name="scribe")
    fields = services.BlockFields(title="Goals", description="", body=BODY, limit=20_000)
    services.create_block(actor=alice, owner="alice", label="goals", fields=fields)


def a_person(username: str, **fields: Any) -> User:
    return User.objects.create(username=username, **fields)


def a_proposal() -> None:
    a_block()
    propose()


def a_stale_proposal() -> None:
    """And another beside it, which has to be checked again afterwards."""
    a_proposal()
    services.propose(
        agent=scribe(),
        owner="alice",
        label="goals",
        edits=[Replace("one book", "two books")],
        kind=Kind.EDIT,
        reasoning="She said so.",
    )
    edit("Alice", "She")


def a_note() -> None:
    a_block()
    save_by_person()


def a_note_to_ask_about() -> None:
    a_note()
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


def a_proposed_note() -> None:
    a_block()
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    save_by_agent()


def a_proposed_import() -> None:
    a_note_to_ask_about()
    import_by_agent()


def an_approval() -> None:
    a_proposal()
    approve()


def an_approval_and_a_later_change() -> None:
    an_approval()
    edit("one book", "two books")


def a_rejection() -> None:
    a_proposal()
    reject()


def an_approved_import() -> None:
    a_proposed_import()
    approve()


def a_rejected_import() -> None:
    a_proposed_import()
    reject()


def an_applied_note() -> None:
    a_block()
    save_by_agent()


def an_applied_import() -> None:
    a_note()
    import_by_agent()


def a_proposal_with_the_agent() -> None:
    a_proposal()
    request_changes()


def a_proposal_in_conflict() -> None:
    a_proposal()
    edit("likes math", "loves physics")
    services.recheck("alice", [("block", "goals")])


# -- what may be killed ---------------------------------------------------------------------------


def propose() -> None:
    services.propose(
        agent=scribe(),
        owner="alice",
        label="goals",
        edits=[Replace("math", "maths")],
        kind=Kind.EDIT,
        reasoning="She said so.",
        operation=OPERATION,
    )


def approve() -> None:
    services.approve(actor=User.objects.get(username="tim"), **_seen(), comment=COMMENT)


def a_proposal_of_two_changes() -> None:
    a_block()
    services.propose(
        agent=scribe(),
        owner="alice",
        label="goals",
        edits=[Replace("math", "maths"), Replace("one book", "two books")],
        kind=Kind.EDIT,
        reasoning="She said so.",
    )


def a_stale_proposal_of_two_changes() -> None:
    a_proposal_of_two_changes()
    edit("B2 exam", "C1 exam")


def approve_one_and_hand_the_other_back() -> None:
    _approve_some([_hunks()[0]], services.Rest.AGENT)


def approve_one_and_reject_the_other() -> None:
    _approve_some([_hunks()[1]], services.Rest.REJECT, reason=RejectReason.WRONG)


def approve_some_notes() -> None:
    ids = [change["id"] for change in the_proposal().current_revision.note_changes]
    _approve_some(ids[:-2], services.Rest.AGENT)


def _hunks() -> list[str]:
    now = reads.block("alice", "goals").body
    return [hunk.id for hunk in worddiff.hunks(now, now.replace("math", "maths").replace("one book", "two books"))]


def _approve_some(accepted: list[str], rest: services.Rest, reason: str = "") -> None:
    services.approve_some(
        actor=User.objects.get(username="tim"), **_seen(), accepted=accepted, rest=rest, reason=reason, comment=COMMENT
    )


def approve_edited() -> None:
    text = reads.block("alice", "goals").body.replace("likes math", "likes algebra")
    services.approve_edited(actor=User.objects.get(username="tim"), **_seen(), text=text, comment=COMMENT)


def a_conflict() -> None:
    a_proposal()
    edit("likes math", "is done with math")


def resolve() -> None:
    text = reads.block("alice", "goals").body.replace("is done with math", "is done with maths")
    services.approve_edited(
        actor=User.objects.get(username="tim"), **_seen(), text=text, comment=COMMENT, resolves=True
    )


def approve_an_edited_note() -> None:
    services.approve_edited(actor=User.objects.get(username="tim"), **_seen(), text="She rows daily.", comment=COMMENT)


def _seen() -> dict[str, Any]:
    proposal = the_proposal()
    return {
        "proposal_id": proposal.pk,
        "revision": proposal.current_revision_number,
        "seen_sha256": current_state(proposal, proposal.current_revision).sha256,
    }


def reject() -> None:
    services.reject(
        actor=User.objects.get(username="tim"),
        proposal_id=the_proposal().pk,
        revision=1,
        reason=RejectReason.WRONG,
        comment=COMMENT,
    )


def request_changes() -> None:
    services.request_changes(
        actor=User.objects.get(username="tim"), proposal_id=the_proposal().pk, revision=1, comment=COMMENT
    )


def amend() -> None:
    services.propose(
        agent=scribe(),
        owner="alice",
        proposal_id=the_proposal().pk,
        label="goals",
        edits=[Replace("math", "mathematics")],
        kind=Kind.EDIT,
        reasoning="As you asked.",
        operation="d" * 32,
    )


def settle() -> None:
    services.settle(now=timezone.now() + timedelta(days=10_000))


def withdraw() -> None:
    services.withdraw(agent=scribe(), proposal_id=the_proposal().pk, comment=COMMENT)


def expire() -> None:
    services.expire(now=timezone.now() + timedelta(days=10_000))


def undo() -> None:
    services.undo(actor=User.objects.get(username="tim"), proposal_id=the_proposal().pk, comment=COMMENT)


def undo_after_a_later_change() -> None:
    proposal = the_proposal()
    seen = current_state(proposal, proposal.current_revision).sha256
    services.undo(actor=User.objects.get(username="tim"), proposal_id=proposal.pk, seen_sha256=seen, comment=COMMENT)


def edit(old: str = "math", new: str = "maths", *, actor: str = "alice") -> None:
    block = reads.block("alice", "goals")
    fields = services.BlockFields(
        title=block.title, description="", body=block.body.replace(old, new), limit=block.limit
    )
    services.edit_block(
        actor=User.objects.get(username=actor),
        owner="alice",
        label="goals",
        fields=fields,
        loaded_sha256=block.sha256,
        comment=COMMENT,
    )


def edit_as_staff() -> None:
    edit(actor="admin")


def create_block() -> None:
    fields = services.BlockFields(title="", description="", body="Anew.", limit=20_000)
    services.create_block(
        actor=User.objects.get(username="alice"), owner="alice", label="new", fields=fields, comment=COMMENT
    )


def delete_block() -> None:
    services.delete_block(
        actor=User.objects.get(username="alice"),
        owner="alice",
        label="goals",
        loaded_sha256=reads.block("alice", "goals").sha256,
        comment=COMMENT,
    )


def save_by_person() -> None:
    notes.save(by=by_alice(), owner="alice", content="She sails.", note_id="mem-1-aaaa")


def save_by_agent() -> None:
    notes.save(by=by_scribe(), owner="alice", content="She rows.", note_id="mem-2-aaaa")


def update_by_agent() -> None:
    notes.update(by=by_scribe(), owner="alice", note_id="mem-1-aaaa", content="She rows.")


def amend_note() -> None:
    notes.update(by=by_scribe("d" * 32), owner="alice", note_id="mem-2-aaaa", content="She rows and sails.")


def supersede_by_agent() -> None:
    notes.supersede(by=by_scribe(), owner="alice", note_id="mem-1-aaaa", reason="Sold the boat.")


def delete_by_person() -> None:
    notes.delete(by=by_alice(), owner="alice", note_id="mem-1-aaaa")


def import_by_person() -> None:
    imports.import_file(by=by_alice(), owner="alice", data=memories())


def import_by_agent() -> None:
    imports.import_file(by=by_scribe(), owner="alice", data=memories())


def by_alice() -> ChangeContext:
    return ChangeContext(actor=User.objects.get(username="alice"), reasoning=COMMENT, operation="c" * 32)


def by_scribe(operation: str = OPERATION) -> ChangeContext:
    return ChangeContext(actor=scribe(), may_apply=True, reasoning="She said so.", operation=operation)


def scribe() -> Agent:
    return Agent.objects.get()


def the_proposal() -> Proposal:
    return Proposal.objects.order_by("pk")[0]


def memories() -> bytes:
    """One note that is there, and more new ones than a commit message names (`commits.MOST_TARGETS`)."""
    day = date(2025, 1, 1)
    ids = ["mem-1-aaaa", *(f"mem-{number}-bbbb" for number in range(60))]
    return memories_md.write(Memory(id_, "note", f"She knows {id_}.", (), day) for id_ in ids).encode()


USE_CASES = {
    "propose": UseCase(a_block, propose),
    "approve": UseCase(a_proposal, approve),
    "approve a stale one": UseCase(a_stale_proposal, approve),
    "approve a note": UseCase(a_proposed_note, approve),
    "approve an import": UseCase(a_proposed_import, approve),
    "approve one of two": UseCase(a_proposal_of_two_changes, approve_one_and_reject_the_other),
    "approve one of two, the other goes back": UseCase(
        a_stale_proposal_of_two_changes, approve_one_and_hand_the_other_back
    ),
    "approve some notes": UseCase(a_proposed_import, approve_some_notes),
    "approve with changes": UseCase(a_stale_proposal, approve_edited),
    "approve a reworded note": UseCase(a_proposed_note, approve_an_edited_note),
    "resolve a conflict": UseCase(a_conflict, resolve),
    "reject": UseCase(a_proposal, reject),
    "reject an import": UseCase(a_proposed_import, reject),
    "ask for changes": UseCase(a_proposal, request_changes),
    "amend": UseCase(a_proposal_with_the_agent, amend),
    "amend a note": UseCase(a_proposed_note, amend_note),
    "hand back": UseCase(a_proposal_in_conflict, settle),
    "withdraw": UseCase(a_proposal, withdraw),
    "expire": UseCase(a_proposal, expire),
    "propose a note": UseCase(a_note_to_ask_about, update_by_agent),
    "apply a new note": UseCase(a_block, save_by_agent),
    "apply a change of a note": UseCase(a_note, update_by_agent),
    "apply that a note is superseded": UseCase(a_note, supersede_by_agent),
    "apply an import": UseCase(a_note, import_by_agent),
    "revert a note": UseCase(an_applied_note, undo),
    "revert an import": UseCase(an_applied_import, undo),
    "undo an approval": UseCase(an_approval, undo),
    "undo an approval after a later change": UseCase(an_approval_and_a_later_change, undo_after_a_later_change),
    "undo the approval of an import": UseCase(an_approved_import, undo),
    "undo a rejection": UseCase(a_rejection, undo),
    "undo the rejection of an import": UseCase(a_rejected_import, undo),
    "edit": UseCase(a_block, edit),
    "edit as staff": UseCase(a_block, edit_as_staff),
    "create": UseCase(a_block, create_block),
    "delete": UseCase(a_block, delete_block),
    "save a note": UseCase(a_block, save_by_person),
    "delete a note": UseCase(a_note, delete_by_person),
    "import": UseCase(a_note, import_by_person),
}
