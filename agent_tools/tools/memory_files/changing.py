"""How a file is changed: edits of a block become a proposal, those of a note go the way of its owner's policy.

Belongs here: what all writing tools do, and their answers. What each of them asks for is in `editing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals, representations
from agent_tools.answers.representations import Subject
from agent_tools.calls import registry
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import ProposeArguments, given
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools import block_reads
from agent_tools.tools.memory_files import paths
from agent_tools.tools.memory_files.paths import BlockFile, MemoryFile, NoteFile
from agent_tools.tools.memory_files.words import in_words_of
from agent_tools.tools.note_arguments import changed_by
from agent_tools.tools.propose.proposing import EditKind, said, sent
from approvals import services
from approvals.models import Kind, Proposal
from approvals.review.whole_blocks import new_block_of
from approvals.services import notes
from approvals.services.propose import own_proposal
from memory_app import reads
from memory_app.text import edits

_ATOMIC = "Prefer the tools that change only what you name: edit_file, append_to_file, prepend_to_file, update_section."

#: What the tools answer; fields that only blocks or only notes have are null for the others.
CHANGED = {"path": "the file", "note_id": "of a note, its id"} | fields.WRITTEN | fields.PROPOSED

FilePath = Annotated[
    str,
    Field(
        description="/memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.",
        min_length=1,
        max_length=1_000,
    ),
]


class FileWriteArguments(ProposeArguments):
    """What every tool takes that changes a file. A reason is welcome, and not required."""

    path: FilePath
    reasoning: Annotated[
        str, Field(description="Why, in a sentence the user can read beside the change.", max_length=4_000)
    ] = ""


@dataclass(frozen=True)
class FileChange:
    """What is asked for.

    Args:
        edit: of the text there is.
        done: what the plan of these tools says where it is applied at once.
        asked: the same where it waits: "appended 3 chars".
        makes: the text of a file that is not there yet; None where the tool makes none.
    """

    edit: edits.Edit
    done: str
    asked: str
    makes: str | None = None


def change_file(call: Call, arguments: FileWriteArguments, change: Callable[[str], FileChange]) -> Answer:
    """Make the change, and return what came of it.

    Args:
        change: from the path, as answers write it.
    """
    target = paths.file_of(arguments.path)
    asked = change(target.path)
    if isinstance(target, NoteFile):
        return _change_note(call, target, arguments, asked)
    return _change_block(call, target, arguments, asked)


# -- blocks ---------------------------------------------------------------------------------------


def _change_block(call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    is_there = reads.find_block(call.owner, target.label) is not None
    if not is_there and (pending := _pending(call, target, arguments)):
        return _amend_new(call, target, arguments, change, pending)
    # Who gives the sha256 of a text means a file that is there.
    if not is_there and change.makes is not None and arguments.expected_sha256 is None:
        return _make_block(call, target, arguments, change)
    kind: EditKind = Kind.REWRITE if isinstance(change.edit, edits.Rewrite) else Kind.EDIT

    def corrected(index: int, changed: dict[str, Any]) -> dict[str, Any]:
        return given(arguments, without={"idempotency_key"}) | changed

    subject = _subject(call, target, arguments, edits=(change.edit,), corrected=corrected)
    with in_words_of(target), refusals.explained(subject):
        outcome = sent(call, target.label, (change.edit,), arguments, kind=kind)
    warnings: tuple[str, ...] = ()
    if kind == Kind.REWRITE and outcome.created:
        warnings = block_reads.unread(call, arguments.session_id, outcome, named=target.path, atomic=_ATOMIC)
    return _answer_of_block(target, change, outcome, warnings)


def _make_block(call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    subject = _subject(call, target, arguments, is_of_whole_block=True)
    with in_words_of(target), refusals.explained(subject):
        outcome = services.propose_block(
            label=target.label,
            title="",
            body=change.makes or "",
            **said(call, arguments),
        )
    return _answer_of_block(target, change, outcome, is_new=True)


def _pending(call: Call, target: BlockFile, arguments: FileWriteArguments) -> Proposal | None:
    """Return the new block that waits, where the call names its proposal to amend."""
    if arguments.proposal_id is None:
        return None
    with refusals.explained(_subject(call, target, arguments)):
        proposal = own_proposal(call.caller.agent, call.owner, arguments.proposal_id)
    is_it = proposal.kind == Kind.CREATE_BLOCK and proposal.target == target.label and not proposal.is_redacted
    return proposal if is_it else None


def _amend_new(
    call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange, pending: Proposal
) -> Answer:
    """Change the text of a new block that waits: its next revision."""
    revision = pending.current_revision
    new = new_block_of(revision)
    subject = _subject(call, target, arguments, is_of_whole_block=True)
    with in_words_of(target), refusals.explained(subject):
        text = edits.apply(revision.result_text, (change.edit,)).text
        outcome = services.propose_block(
            label=target.label,
            title=new.title if new else "",
            description=new.description if new else "",
            body=text,
            **said(call, arguments),
        )
    return _answer_of_block(target, change, outcome, is_new=True)


def _answer_of_block(
    target: BlockFile,
    change: FileChange,
    outcome: services.Proposed,
    warnings: Sequence[str] = (),
    *,
    is_new: bool = False,
) -> Answer:
    rest = " Until then the file reads as before."
    words = _words(target.path, f"{change.asked}{' (a new block)' if is_new else ''}", change.done, outcome, rest)
    let_through = f"A rule of the user let it through: proposal {outcome.proposal.pk}, which the user can revert."
    words = replace(words, applied=f"{change.done}\n{let_through}")
    return outcomes.answer(outcome, words, warnings=warnings, beside=dict.fromkeys(CHANGED) | {"path": target.path})


def _words(path: str, asked: str, done: str, outcome: services.Proposed, rest: str = "") -> outcomes.Words:
    number = outcome.proposal.pk
    revision = f"revision {outcome.revision.number} of proposal" if outcome.amended and rest else "proposal"
    waits = f"Proposed for {path}: {asked}\nThe user will be asked to approve {revision} {number}.{rest}"
    equal = f"Proposed for {path} already: proposal {number} asks for exactly this."
    return outcomes.Words(
        waits=waits, amended=waits + representations.why_it_waits(outcome.proposal), equal=equal, applied=done
    )


# -- notes ----------------------------------------------------------------------------------------


def _change_note(call: Call, target: NoteFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    registry.require_notes(call.name)
    subject = _subject(call, target, arguments)
    by = changed_by(call, arguments)
    with in_words_of(target), refusals.explained(subject):
        note = reads.find_note(call.owner, target.id)
        if note is None and change.makes is not None and arguments.expected_sha256 is None:
            outcome = notes.save(by=by, owner=call.owner, content=change.makes, note_id=target.id)
        elif note is None:
            raise reads.NoteNotFound(target.id)
        else:
            text = _edited(target, note, change)
            outcome = notes.update(
                by=by,
                owner=call.owner,
                note_id=target.id,
                content=text,
                loaded_sha256=arguments.expected_sha256,
            )
    proposed = outcome.proposed
    if proposed is None:
        raise TypeError("a person's own change is no answer to an agent")
    text = outcomes.told(proposed, _words(target.path, change.asked, change.done, proposed))
    data = outcomes.data_of(proposed)
    return Answer(text, dict.fromkeys(CHANGED) | {"path": target.path, "note_id": target.id} | data)


#: What an edit of a note is refused with; the last is of any other.
_CODES: dict[type[edits.EditError], ErrorCode] = {
    edits.OldStringNotFound: ErrorCode.OLD_STRING_NOT_FOUND,
    edits.OldStringRepeated: ErrorCode.OLD_STRING_REPEATED,
    edits.SectionRefused: ErrorCode.SECTION_NOT_FOUND,
    edits.EditError: ErrorCode.OVER_LIMIT,
}


def _edited(target: NoteFile, note: reads.Note, change: FileChange) -> str:
    """Return the note's content with the change. Raise ApiError where it cannot be made."""
    try:
        return edits.apply(note.content, (change.edit,)).text
    except (edits.IdenticalStrings, edits.EmptyOldString, edits.ForbiddenCharacter):
        raise
    except edits.EditError as error:
        raise ApiError(
            next(code for kind, code in _CODES.items() if isinstance(error, kind)),
            f"{error} in {target.path}.",
            help=["Read the note with view_file: it has to match exactly."],
            details={"note_id": target.id},
        ) from error


# -- both -----------------------------------------------------------------------------------------


def _subject(call: Call, target: MemoryFile, arguments: FileWriteArguments, **more: Any) -> Subject:
    return Subject.of_write(call, arguments, label=target.label if isinstance(target, BlockFile) else "", **more)
