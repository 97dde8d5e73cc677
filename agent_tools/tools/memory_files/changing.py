"""Changing files: edit_file, append_to_file, prepend_to_file, update_section, write_file.

A path is translated, and the change made as the tools for blocks and notes make it: edits of a block become a proposal,
those of a note go the way of its owner's policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals, representations
from agent_tools.answers.representations import Subject
from agent_tools.calls import registry
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import ProposeArguments
from agent_tools.calls.registry import tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from agent_tools.tools import block_reads
from agent_tools.tools.memory_files import paths
from agent_tools.tools.memory_files.paths import BlockFile, FilePath, NoteFile, in_words_of
from agent_tools.tools.note_arguments import changed_by
from agent_tools.tools.propose import EditKind, correcting, made, made_block
from approvals import services
from approvals.models import Kind, Proposal
from approvals.review.whole_blocks import NewBlock, new_block_of
from approvals.services import notes
from approvals.services.proposing import own_proposal
from memory_app import reads
from memory_app.text import edits, sections

_ATOMIC = "Prefer the tools that change only what you name: edit_file, append_to_file, prepend_to_file, update_section."

#: What the tools answer; fields that only blocks or only notes have are null for the others.
CHANGED = {"path": "the file", "note_id": "of a note, its id"} | fields.WRITTEN | fields.PROPOSED

#: A file has neither title nor description.
_UNTITLED = NewBlock(title="", description="", limit=0)

#: Characters of a header in an answer.
_HEADER = 200


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


# -- The tools.

_tool = partial(tool, scope=Scope.MEMORY_PROPOSE, returns=CHANGED, target="path")


class EditFileArguments(FileWriteArguments):
    old_string: Annotated[str, Field(description="The exact text to find. It has to be unique in the file.")]
    new_string: Annotated[str, Field(description="The text to replace it with.")]


@_tool(
    description=(
        "Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. "
        "This is safer than write_file because it only changes what you specify. Requires user approval."
    ),
    failing="Error editing file",
)
def edit_file(call: Call, arguments: EditFileArguments) -> Answer:
    asked = f"replaced {len(arguments.old_string)} chars with {len(arguments.new_string)} chars"
    edit = edits.Replace(arguments.old_string, arguments.new_string)
    return _change(call, arguments, FileChange(edit, f"Edited {arguments.path}: {asked}", asked))


class AppendFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the end, exactly as given.", min_length=1)]


@_tool(
    description=(
        "Append content to the end of a file of the memory, without reading it first. The content is added exactly: "
        "begin it with a line end for a new line. A file that is not there is proposed as a new one. "
        "Requires user approval."
    ),
    failing="Error appending to file",
)
def append_to_file(call: Call, arguments: AppendFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content)} chars"
    done = f"Appended {size} to {arguments.path}"
    return _change(call, arguments, FileChange(edits.Append(content), done, f"appended {size}", content))


class PrependFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the beginning, exactly as given.", min_length=1)]


@_tool(
    description=(
        "Prepend content to the beginning of a file of the memory, without reading it first. The content is added "
        "exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval."
    ),
    failing="Error prepending to file",
)
def prepend_to_file(call: Call, arguments: PrependFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content)} chars"
    done = f"Prepended {size} to {arguments.path}"
    return _change(call, arguments, FileChange(edits.Prepend(content), done, f"prepended {size}", content))


class SectionFileArguments(FileWriteArguments):
    section_header: Annotated[
        str, Field(description='Header text (e.g., "## Current State").', min_length=1, max_length=2_000)
    ]
    new_content: Annotated[str, Field(description="New content for the section (without header).")]
    section_line: Annotated[
        int | None, Field(description="The line of the header, where several sections have the same.", ge=1)
    ] = None


@_tool(
    description=(
        "Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its "
        "content (everything until the next header of same or higher level). Requires user approval."
    ),
    failing="Error updating section",
)
def update_section(call: Call, arguments: SectionFileArguments) -> Answer:
    content = sections.without_header(arguments.new_content, arguments.section_header)
    edit = edits.SectionUpdate(arguments.section_header, content, arguments.section_line)
    asked = f"updated section {arguments.section_header[:_HEADER]} with {len(content)} chars"
    return _change(call, arguments, FileChange(edit, f"Edited {arguments.path}: {asked}", asked))


class WriteFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The whole text. What is not in it is gone from the file.")]


@_tool(
    description=(
        "Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. "
        "Read it with view_file first: what your content leaves out is removed. "
        "For anything smaller use edit_file, append_to_file or update_section. Requires user approval."
    ),
    failing="Error writing file",
)
def write_file(call: Call, arguments: WriteFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content):,} chars"
    done = f"Written: {arguments.path} ({size})"
    return _change(call, arguments, FileChange(edits.Rewrite(content), done, f"wrote {size}", content))


# -- How a file is changed.


def _change(call: Call, arguments: FileWriteArguments, change: FileChange) -> Answer:
    target = paths.file_of(arguments.path)
    if isinstance(target, NoteFile):
        registry.require_notes(call.name)
        with in_words_of(target):
            return _change_note(call, target, arguments, change)
    is_there = reads.find_block(call.owner, target.label) is not None
    pending = None if is_there else _pending(call, target, arguments)
    with in_words_of(target):
        if pending:
            return _amend_new(call, target, arguments, change, pending)
        # Who gives the sha256 of a text means a file that is there.
        if not is_there and change.makes is not None and arguments.expected_sha256 is None:
            return _make_block(call, target, arguments, change, _UNTITLED, change.makes)
        return _edit_block(call, target, arguments, change)


def _edit_block(call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    kind: EditKind = Kind.REWRITE if isinstance(change.edit, edits.Rewrite) else Kind.EDIT
    outcome = made(call, target.label, (change.edit,), arguments, kind=kind, corrected=correcting(arguments))
    warnings: tuple[str, ...] = ()
    if kind == Kind.REWRITE and outcome.created:
        warnings = block_reads.unread(call, arguments.session_id, outcome, named=target.path, atomic=_ATOMIC)
    return _answer(target, change.done, change.asked, outcome, warnings)


def _pending(call: Call, target: BlockFile, arguments: FileWriteArguments) -> Proposal | None:
    """Return the new block that waits, where the call names its proposal to amend."""
    if arguments.proposal_id is None:
        return None
    with refusals.explained(Subject.of_write(call, arguments, label=target.label)):
        proposal = own_proposal(call.caller.agent, call.owner, arguments.proposal_id)
    is_it = proposal.kind == Kind.CREATE_BLOCK and proposal.target == target.label and not proposal.is_redacted
    return proposal if is_it else None


def _amend_new(
    call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange, pending: Proposal
) -> Answer:
    """Change the text of a new block that waits: its next revision."""
    revision = pending.current_revision
    with refusals.explained(Subject.of_write(call, arguments, label=target.label, is_of_whole_block=True)):
        text = edits.apply(revision.result_text, (change.edit,)).text
    return _make_block(call, target, arguments, change, new_block_of(revision) or _UNTITLED, text)


def _make_block(
    call: Call, target: BlockFile, arguments: FileWriteArguments, change: FileChange, new: NewBlock, text: str
) -> Answer:
    outcome = made_block(call, arguments, label=target.label, title=new.title, body=text, description=new.description)
    return _answer(target, change.done, f"{change.asked} (a new block)", outcome)


def _answer(
    target: BlockFile, done: str, asked: str, outcome: services.Proposed, warnings: tuple[str, ...] = ()
) -> Answer:
    number = outcome.proposal.pk
    which = f"revision {outcome.revision.number} of proposal {number}" if outcome.amended else f"proposal {number}"
    waits = f"The user will be asked to approve {which}. Until then the file reads as before."
    applied = f"{done}\nA rule of the user let it through: proposal {number}, which the user can revert."
    words = _words(target.path, asked, outcome, waits=waits, applied=applied)
    return outcomes.answer(outcome, words, warnings=warnings, beside=dict.fromkeys(CHANGED) | {"path": target.path})


def _words(path: str, asked: str, outcome: services.Proposed, *, waits: str, applied: str) -> outcomes.Words:
    proposed = f"Proposed for {path}: {asked}\n{waits}"
    return outcomes.Words(
        waits=proposed,
        amended=proposed + representations.why_it_waits(outcome.proposal),
        equal=f"Proposed for {path} already: proposal {outcome.proposal.pk} asks for exactly this.",
        applied=applied,
    )


def _change_note(call: Call, target: NoteFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    by = changed_by(call, arguments)
    with refusals.explained(Subject.of_write(call, arguments)):
        note = reads.find_note(call.owner, target.id)
        if note is None and change.makes is not None and arguments.expected_sha256 is None:
            outcome = notes.save(by=by, owner=call.owner, content=change.makes, note_id=target.id)
        elif note is None:
            raise reads.NoteNotFound(target.id)
        else:
            outcome = notes.update(
                by=by,
                owner=call.owner,
                note_id=target.id,
                content=_edited(target, note, change),
                loaded_sha256=arguments.expected_sha256,
            )
    proposed = outcomes.of_notes(outcome)
    waits = f"The user will be asked to approve proposal {proposed.proposal.pk}."
    words = _words(target.path, change.asked, proposed, waits=waits, applied=change.done)
    data: dict[str, Any] = {"path": target.path, "note_id": target.id} | outcomes.data_of(proposed)
    return Answer(outcomes.told(proposed, words), dict.fromkeys(CHANGED) | data)


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
