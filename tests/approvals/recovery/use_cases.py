"""Every use case that writes, once and small, with what it needs to be there before: for what has to hold of them all.

Functions of a module, since they also run in processes of their own (`do`, `killed_at`); nothing of pytest.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, RejectReason, TrustRule, Tutorship, User
from approvals.services import Rest, imports, notes
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory
from memory_app import reads
from memory_app.text import worddiff
from tests.support import acts
from tests.support.crashing import killed

BODY = "# Goals\n\nAlice likes math.\nShe wants to pass the B2 exam in June.\nShe reads one book a month.\n"
NEW = "# Monday\nShe read Noether.\n"
OPERATION = "b" * 32
#: Longer than the 255 bytes DoltLite keeps of a merge's message, and ending as a commit of somebody else's does.
COMMENT = "Schön. " * 50 + "\n\nAction: edited\nOwner: ben\nTarget: block/goals\nActor: ben\nOperation: " + "a" * 32

MATHS, BOOKS = ("math", "maths"), ("one book", "two books")


def do(name: str) -> None:
    """Do what a use case is about, in whichever process this is."""
    USE_CASES[name][-1]()


def killed_at(crash: str, work: str) -> None:
    """Do the work (`propose()`, or whatever stands in this module) in a process that dies.

    Args:
        crash: where, as a statement that puts `die` in the place of a function.
    """
    killed(f"""
from approvals import services
from approvals.services import approving, events, merge, trust
from memory_app.writing import commits, ledger
from tests.approvals.recovery.use_cases import *
{crash}
{work}
""")


# -- what is there before ---------------------------------------------------------------------------


def a_block() -> None:
    people = {name: User.objects.create(username=name, is_staff=name == "admin") for name in ("alice", "tim", "admin")}
    Tutorship.objects.create(tutor=people["tim"], owner=people["alice"])
    Agent.objects.create(name="scribe")
    fields = services.BlockFields(title="Goals", description="", body=BODY, limit=20_000)
    services.create_block(actor=people["alice"], owner="alice", label="goals", fields=fields)


def notes_are_asked_about() -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


def a_rule_applies(kind: str = "") -> None:
    TrustRule.objects.create(owner="alice", kind=kind, needs=TrustRule.Needs.NOTHING, made_by=person("alice"))


def person(name: str) -> User:
    return User.objects.get(username=name)


def scribe() -> Agent:
    return Agent.objects.get()


def by_alice() -> ChangeContext:
    return ChangeContext(actor=person("alice"), reasoning=COMMENT, operation="c" * 32)


def by_scribe(operation: str = OPERATION) -> ChangeContext:
    return ChangeContext(actor=scribe(), may_apply=True, reasoning="She said so.", operation=operation)


def the_proposal() -> Proposal:
    return Proposal.objects.order_by("pk")[0]


def by_tim() -> dict[str, Any]:
    """Who decides about the proposal, what was on the screen and what is said."""
    return {"actor": person("tim"), "comment": COMMENT, **acts.as_seen(the_proposal())}


# -- a block ----------------------------------------------------------------------------------------


def propose(*edits: tuple[str, str], operation: str = OPERATION, **more: Any) -> Proposal:
    return acts.change(scribe(), *(edits or [MATHS]), operation=operation, reasoning="She said so.", **more)


def amend() -> None:
    propose(("math", "mathematics"), proposal_id=the_proposal().pk, operation="d" * 32)


def edit(old: str = "math", new: str = "maths", *, actor: str = "alice") -> None:
    block = reads.block("alice", "goals")
    fields = services.BlockFields(block.title, "", block.body.replace(old, new), block.limit)
    of = {"actor": person(actor), "owner": "alice", "label": "goals", "loaded_sha256": block.sha256}
    services.edit_block(fields=fields, comment=COMMENT, **of)


def what_it_changes_goes() -> None:
    edit("likes math", "loves physics")
    services.recheck("alice", [("block", "goals")])


def create_block() -> None:
    fields = services.BlockFields(title="", description="", body="Anew.", limit=20_000)
    services.create_block(actor=person("alice"), owner="alice", label="new", fields=fields, comment=COMMENT)


def delete_block() -> None:
    seen = {"loaded_sha256": reads.block("alice", "goals").sha256}
    services.delete_block(actor=person("alice"), owner="alice", label="goals", comment=COMMENT, **seen)


def propose_block(title: str = "Diary", body: str = NEW, operation: str = OPERATION, **more: Any) -> None:
    given = {"description": "Her days.", "reasoning": "She tells me about them.", "may_apply": True} | more
    of = {"agent": scribe(), "owner": "alice", "label": "diary", "operation": operation}
    services.propose_block(title=title, body=body, **of, **given)


def amend_block() -> None:
    propose_block("Days", f"{NEW}# Tuesday\n", "d" * 32, proposal_id=the_proposal().pk)


def propose_deletion() -> None:
    reasoning = "All of it is outdated."
    services.propose_deletion(agent=scribe(), owner="alice", label="goals", reasoning=reasoning, operation=OPERATION)


# -- notes ------------------------------------------------------------------------------------------


def save_by_person() -> None:
    notes.save(by=by_alice(), owner="alice", content="She sails.", note_id="mem-1-aaaa")


def save_by_agent() -> notes.NoteChangeOutcome:
    return notes.save(by=by_scribe(), owner="alice", content="She rows.", note_id="mem-2-aaaa")


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


def memories() -> bytes:
    """One note that is there, and more new ones than a commit message names (`commits.MOST_TARGETS`)."""
    day = date(2025, 1, 1)
    ids = ["mem-1-aaaa", *(f"mem-{number}-bbbb" for number in range(60))]
    return memories_md.write(Memory(id_, "note", f"She knows {id_}.", (), day) for id_ in ids).encode()


# -- deciding ---------------------------------------------------------------------------------------


def approve() -> None:
    services.approve(**by_tim())


def approve_one_of_two(which: int = 0, rest: Rest = Rest.AGENT, reason: str = "") -> None:
    now = reads.block("alice", "goals").body
    hunks = worddiff.hunks(now, now.replace(*MATHS).replace(*BOOKS))
    services.approve_some(accepted=[hunks[which].id], rest=rest, reason=reason, **by_tim())


def propose_the_rest() -> None:
    propose(BOOKS, operation="f" * 32, proposal_id=the_proposal().pk)


def approve_some_notes() -> None:
    ids = [change["id"] for change in the_proposal().current_revision.note_changes]
    services.approve_some(accepted=ids[:-2], rest=Rest.AGENT, reason="", **by_tim())


def approve_edited(old: str = "likes math", new: str = "likes algebra", **more: Any) -> None:
    services.approve_edited(text=reads.block("alice", "goals").body.replace(old, new), **by_tim(), **more)


def approve_an_edited_note() -> None:
    services.approve_edited(text="She rows daily.", **by_tim())


def approve_an_edited_block() -> None:
    services.approve_edited(title="Her days", text=f"{NEW}She liked it.\n", **by_tim())


def decide(verb: Callable[..., object], **more: Any) -> None:
    verb(actor=person("tim"), proposal_id=the_proposal().pk, comment=COMMENT, **more)


def withdraw() -> None:
    services.withdraw(agent=scribe(), proposal_id=the_proposal().pk, comment=COMMENT)


def undo_what_changed_since() -> None:
    decide(services.undo, seen_sha256=acts.as_seen(the_proposal())["seen_sha256"])


def much_later(task: Callable[..., object]) -> None:
    task(now=timezone.now() + timedelta(days=10_000))


Act = Callable[[], object]

reject: Act = partial(decide, services.reject, revision=1, reason=RejectReason.WRONG)
request_changes: Act = partial(decide, services.request_changes, revision=1)
undo: Act = partial(decide, services.undo)
propose_another: Act = partial(propose, BOOKS, operation="e" * 32)
another_sentence_changes: Act = partial(edit, "B2 exam", "C1 exam")
the_same_sentence_changes: Act = partial(edit, "likes math", "is done with math")
resolve: Act = partial(approve_edited, "is done with math", "is done with maths", resolves=True)
approve_one_and_reject_the_other: Act = partial(approve_one_of_two, 1, Rest.REJECT, RejectReason.WRONG)

PROPOSED: tuple[Act, ...] = (a_block, propose)
TWO_CHANGES = (a_block, partial(propose, MATHS, BOOKS))
STALE = (*PROPOSED, propose_another, another_sentence_changes)
NOTED = (a_block, save_by_person)
NOTE_WAITS = (a_block, notes_are_asked_about, save_by_agent)
IMPORT_WAITS = (*NOTED, notes_are_asked_about, import_by_agent)
BLOCK_WAITS = (a_block, propose_block)
DELETION_WAITS = (a_block, propose_deletion)

#: What is done before, and last what then happens in a process that may be killed.
USE_CASES: dict[str, tuple[Act, ...]] = {
    "propose": (a_block, propose),
    "approve": (*PROPOSED, approve),
    # With another beside it, which has to be checked again afterwards.
    "approve a stale one": (*STALE, approve),
    "approve a note": (*NOTE_WAITS, approve),
    "approve an import": (*IMPORT_WAITS, approve),
    "approve one of two": (*TWO_CHANGES, approve_one_and_reject_the_other),
    "approve one of two, the other goes back": (*TWO_CHANGES, another_sentence_changes, approve_one_of_two),
    "approve some notes": (*IMPORT_WAITS, approve_some_notes),
    "approve with changes": (*STALE, approve_edited),
    "approve a reworded note": (*NOTE_WAITS, approve_an_edited_note),
    "resolve a conflict": (*PROPOSED, the_same_sentence_changes, resolve),
    "reject": (*PROPOSED, reject),
    "reject an import": (*IMPORT_WAITS, reject),
    "ask for changes": (*PROPOSED, request_changes),
    "amend": (*PROPOSED, request_changes, amend),
    "amend a note": (*NOTE_WAITS, amend_note),
    "hand back": (*PROPOSED, what_it_changes_goes, partial(much_later, services.settle)),
    "withdraw": (*PROPOSED, withdraw),
    "expire": (*PROPOSED, partial(much_later, services.expire)),
    "propose a note": (*NOTED, notes_are_asked_about, update_by_agent),
    "apply a change of a block": (a_block, a_rule_applies, partial(propose, may_apply=True)),
    "apply a new note": (a_block, save_by_agent),
    "apply a change of a note": (*NOTED, update_by_agent),
    "apply that a note is superseded": (*NOTED, supersede_by_agent),
    "apply an import": (*NOTED, import_by_agent),
    "revert a note": (a_block, save_by_agent, undo),
    "revert an import": (*NOTED, import_by_agent, undo),
    "undo an approval": (*PROPOSED, approve, undo),
    "undo an approval after a later change": (*PROPOSED, approve, another_sentence_changes, undo_what_changed_since),
    "undo the approval of an import": (*IMPORT_WAITS, approve, undo),
    "undo an approval in part whose rest was proposed anew": (*TWO_CHANGES, approve_one_of_two, propose_the_rest, undo),
    "undo a resolution": (*PROPOSED, the_same_sentence_changes, resolve, undo),
    "decide anew what was undone": (*PROPOSED, approve, undo, approve),
    "undo what was decided anew": (*PROPOSED, approve, undo, approve, undo),
    "undo a rejection": (*PROPOSED, reject, undo),
    "undo the rejection of an import": (*IMPORT_WAITS, reject, undo),
    "edit": (a_block, edit),
    "edit as staff": (a_block, partial(edit, actor="admin")),
    "create": (a_block, create_block),
    "delete": (a_block, delete_block),
    "save a note": (a_block, save_by_person),
    "delete a note": (*NOTED, delete_by_person),
    "import": (*NOTED, import_by_person),
    "propose a block": (a_block, propose_block),
    "amend a new block": (*BLOCK_WAITS, request_changes, amend_block),
    "apply a new block": (a_block, partial(a_rule_applies, Kind.CREATE_BLOCK), propose_block),
    "approve a new block": (*BLOCK_WAITS, approve),
    "approve a new block with changes": (*BLOCK_WAITS, approve_an_edited_block),
    "undo a new block": (*BLOCK_WAITS, approve, undo),
    "undo the rejection of a new block": (*BLOCK_WAITS, reject, undo),
    "propose a deletion": (a_block, propose_deletion),
    "approve a deletion": (*DELETION_WAITS, approve),
    "approve a stale deletion": (*DELETION_WAITS, edit, approve),
    "undo a deletion": (*DELETION_WAITS, approve, undo),
}
