"""Every use case that writes, once and small, with what it needs to be there before: for what has to hold of them all.

Functions of a module, since they also run in processes of their own; nothing of pytest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, RejectReason, TrustRule, Tutorship, User
from approvals.review.targets import current_state
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory
from memory_app import reads
from memory_app.text import worddiff
from memory_app.text.edits import Replace

BODY = "# Goals\n\nAlice likes math.\nShe wants to pass the B2 exam in June.\nShe reads one book a month.\n"
NEW = "# Monday\nShe read Noether.\n"
OPERATION = "b" * 32
#: Longer than the 255 bytes DoltLite keeps of a merge's message, and ending as a commit of somebody else's does.
COMMENT = "Schön. " * 50 + "\n\nAction: edited\nOwner: ben\nTarget: block/goals\nActor: ben\nOperation: " + "a" * 32


@dataclass(frozen=True)
class UseCase:
    """What is done before, and what then happens in a process that may be killed."""

    before: tuple[Callable[[], object], ...]
    work: Callable[[], object]

    def prepare(self) -> None:
        for act in self.before:
            act()


def a_block() -> None:
    alice, tim = a_person("alice", first_name="Alice"), a_person("tim")
    a_person("admin", is_staff=True)
    Tutorship.objects.create(tutor=tim, owner=alice)
    Agent.objects.create(name="scribe")
    fields = services.BlockFields(title="Goals", description="", body=BODY, limit=20_000)
    services.create_block(actor=alice, owner="alice", label="goals", fields=fields)


def a_person(username: str, **fields: Any) -> User:
    return User.objects.create(username=username, **fields)


def notes_are_asked_about() -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


def blocks_are_applied() -> None:
    alice = User.objects.get(username="alice")
    TrustRule.objects.create(owner="alice", kind=Kind.CREATE_BLOCK, needs=TrustRule.Needs.NOTHING, made_by=alice)


def another_sentence_changes() -> None:
    edit("B2 exam", "C1 exam")


def the_same_sentence_changes() -> None:
    edit("likes math", "is done with math")


def what_it_changes_goes() -> None:
    edit("likes math", "loves physics")
    services.recheck("alice", [("block", "goals")])


def propose(*edits: Replace, **more: Any) -> None:
    said = {"agent": scribe(), "owner": "alice", "label": "goals", "reasoning": "She said so."}
    services.propose(
        edits=edits or [Replace("math", "maths")], kind=Kind.EDIT, **said | {"operation": OPERATION} | more
    )


def propose_another() -> None:
    propose(Replace("one book", "two books"), operation="e" * 32)


def propose_two_changes() -> None:
    propose(Replace("math", "maths"), Replace("one book", "two books"))


def approve() -> None:
    services.approve(actor=tim(), **_seen(), comment=COMMENT)


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
    services.approve_some(actor=tim(), **_seen(), accepted=accepted, rest=rest, reason=reason, comment=COMMENT)


def approve_edited() -> None:
    text = reads.block("alice", "goals").body.replace("likes math", "likes algebra")
    services.approve_edited(actor=tim(), **_seen(), text=text, comment=COMMENT)


def resolve() -> None:
    text = reads.block("alice", "goals").body.replace("is done with math", "is done with maths")
    services.approve_edited(actor=tim(), **_seen(), text=text, comment=COMMENT, resolves=True)


def approve_an_edited_note() -> None:
    services.approve_edited(actor=tim(), **_seen(), text="She rows daily.", comment=COMMENT)


def _seen() -> dict[str, Any]:
    proposal = the_proposal()
    return {
        "proposal_id": proposal.pk,
        "revision": proposal.current_revision_number,
        "seen_sha256": current_state(proposal, proposal.current_revision).sha256,
    }


def reject() -> None:
    services.reject(actor=tim(), proposal_id=the_proposal().pk, revision=1, reason=RejectReason.WRONG, comment=COMMENT)


def request_changes() -> None:
    services.request_changes(actor=tim(), proposal_id=the_proposal().pk, revision=1, comment=COMMENT)


def amend() -> None:
    propose(Replace("math", "mathematics"), proposal_id=the_proposal().pk, operation="d" * 32)


def settle() -> None:
    services.settle(now=timezone.now() + timedelta(days=10_000))


def withdraw() -> None:
    services.withdraw(agent=scribe(), proposal_id=the_proposal().pk, comment=COMMENT)


def expire() -> None:
    services.expire(now=timezone.now() + timedelta(days=10_000))


def undo() -> None:
    services.undo(actor=tim(), proposal_id=the_proposal().pk, comment=COMMENT)


def undo_after_a_later_change() -> None:
    proposal = the_proposal()
    seen = current_state(proposal, proposal.current_revision).sha256
    services.undo(actor=tim(), proposal_id=proposal.pk, seen_sha256=seen, comment=COMMENT)


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


def tim() -> User:
    return User.objects.get(username="tim")


def the_proposal() -> Proposal:
    return Proposal.objects.order_by("pk")[0]


def memories() -> bytes:
    """One note that is there, and more new ones than a commit message names (`commits.MOST_TARGETS`)."""
    day = date(2025, 1, 1)
    ids = ["mem-1-aaaa", *(f"mem-{number}-bbbb" for number in range(60))]
    return memories_md.write(Memory(id_, "note", f"She knows {id_}.", (), day) for id_ in ids).encode()


def propose_block() -> None:
    services.propose_block(
        agent=scribe(),
        owner="alice",
        label="diary",
        title="Diary",
        body=NEW,
        description="Her days.",
        reasoning="She tells me about them.",
        operation=OPERATION,
        may_apply=True,
    )


def amend_block() -> None:
    services.propose_block(
        agent=scribe(),
        owner="alice",
        label="diary",
        title="Days",
        body=f"{NEW}# Tuesday\n",
        reasoning="As you asked.",
        operation="d" * 32,
        proposal_id=the_proposal().pk,
    )


def propose_deletion() -> None:
    services.propose_deletion(
        agent=scribe(), owner="alice", label="goals", reasoning="All of it is outdated.", operation=OPERATION
    )


def approve_block_edited() -> None:
    proposal = the_proposal()
    services.approve_edited(
        actor=tim(),
        proposal_id=proposal.pk,
        revision=1,
        seen_sha256="",
        title="Her days",
        text=f"{NEW}She liked it.\n",
        comment=COMMENT,
    )


USE_CASES = {
    "propose": UseCase((a_block,), propose),
    "approve": UseCase((a_block, propose), approve),
    # With another beside it, which has to be checked again afterwards.
    "approve a stale one": UseCase((a_block, propose, propose_another, another_sentence_changes), approve),
    "approve a note": UseCase((a_block, notes_are_asked_about, save_by_agent), approve),
    "approve an import": UseCase((a_block, save_by_person, notes_are_asked_about, import_by_agent), approve),
    "approve one of two": UseCase((a_block, propose_two_changes), approve_one_and_reject_the_other),
    "approve one of two, the other goes back": UseCase(
        (a_block, propose_two_changes, another_sentence_changes), approve_one_and_hand_the_other_back
    ),
    "approve some notes": UseCase(
        (a_block, save_by_person, notes_are_asked_about, import_by_agent), approve_some_notes
    ),
    "approve with changes": UseCase((a_block, propose, propose_another, another_sentence_changes), approve_edited),
    "approve a reworded note": UseCase((a_block, notes_are_asked_about, save_by_agent), approve_an_edited_note),
    "resolve a conflict": UseCase((a_block, propose, the_same_sentence_changes), resolve),
    "reject": UseCase((a_block, propose), reject),
    "reject an import": UseCase((a_block, save_by_person, notes_are_asked_about, import_by_agent), reject),
    "ask for changes": UseCase((a_block, propose), request_changes),
    "amend": UseCase((a_block, propose, request_changes), amend),
    "amend a note": UseCase((a_block, notes_are_asked_about, save_by_agent), amend_note),
    "hand back": UseCase((a_block, propose, what_it_changes_goes), settle),
    "withdraw": UseCase((a_block, propose), withdraw),
    "expire": UseCase((a_block, propose), expire),
    "propose a note": UseCase((a_block, save_by_person, notes_are_asked_about), update_by_agent),
    "apply a new note": UseCase((a_block,), save_by_agent),
    "apply a change of a note": UseCase((a_block, save_by_person), update_by_agent),
    "apply that a note is superseded": UseCase((a_block, save_by_person), supersede_by_agent),
    "apply an import": UseCase((a_block, save_by_person), import_by_agent),
    "revert a note": UseCase((a_block, save_by_agent), undo),
    "revert an import": UseCase((a_block, save_by_person, import_by_agent), undo),
    "undo an approval": UseCase((a_block, propose, approve), undo),
    "undo an approval after a later change": UseCase(
        (a_block, propose, approve, another_sentence_changes), undo_after_a_later_change
    ),
    "undo the approval of an import": UseCase(
        (a_block, save_by_person, notes_are_asked_about, import_by_agent, approve), undo
    ),
    "undo a rejection": UseCase((a_block, propose, reject), undo),
    "undo the rejection of an import": UseCase(
        (a_block, save_by_person, notes_are_asked_about, import_by_agent, reject), undo
    ),
    "edit": UseCase((a_block,), edit),
    "edit as staff": UseCase((a_block,), edit_as_staff),
    "create": UseCase((a_block,), create_block),
    "delete": UseCase((a_block,), delete_block),
    "save a note": UseCase((a_block,), save_by_person),
    "delete a note": UseCase((a_block, save_by_person), delete_by_person),
    "import": UseCase((a_block, save_by_person), import_by_person),
    "propose a block": UseCase((a_block,), propose_block),
    "amend a new block": UseCase((a_block, propose_block, request_changes), amend_block),
    "apply a new block": UseCase((a_block, blocks_are_applied), propose_block),
    "approve a new block": UseCase((a_block, propose_block), approve),
    "approve a new block with changes": UseCase((a_block, propose_block), approve_block_edited),
    "undo a new block": UseCase((a_block, propose_block, approve), undo),
    "undo the rejection of a new block": UseCase((a_block, propose_block, reject), undo),
    "propose a deletion": UseCase((a_block,), propose_deletion),
    "approve a deletion": UseCase((a_block, propose_deletion), approve),
    "approve a stale deletion": UseCase((a_block, propose_deletion, edit), approve),
    "undo a deletion": UseCase((a_block, propose_deletion, approve), undo),
}
