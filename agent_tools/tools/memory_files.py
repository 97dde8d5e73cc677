"""The memory as files: blocks are `/memories/blocks/{label}.md`, notes `/memories/notes/{id}.md`.

For models that have learnt to work on files: lists of tools have these only where they are asked for
(`calls.registry`). No file is written. A path is translated, and the change made as the tools for blocks and notes make
it: edits of a block become a proposal, those of a note go the way of its owner's policy. Refusals of the other tools
are put into words of files.

What a path means is in `assent_client.text.memory_paths`, for Anthropic's memory tool too; here a name without
/memories is taken as well. What waits for a person, because this agent proposed it, is read and changed as it is
proposed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from django.conf import settings
from pydantic import AfterValidator, Field

from agent_tools import auth
from agent_tools.answers import bounds, edit_refusals, fields, outcomes, paging, refusals, representations
from agent_tools.calls import registry
from agent_tools.calls.arguments import BoundedArguments, ProposeArguments
from agent_tools.calls.foreign_names import stand_in
from agent_tools.calls.registry import Answer, Call, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools import block_reads
from agent_tools.tools.note_arguments import changed_by
from agent_tools.tools.propose import SectionItem, made, made_block, section_update
from approvals import services
from approvals.models import Kind
from approvals.review.targets import new_block_of
from approvals.services import notes
from assent_client.text import memory_paths
from assent_client.text.memory_paths import BLOCKS, NOTES, ROOT, MemoryPath, block_path, note_path
from assent_client.text.notes import ID
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads.catalogue import catalogue
from memory_app.text import edits, repairs
from memory_app.text.lines import first_words

#: What is said of the paths there are.
FAMILIES = f"Paths are {BLOCKS}/{{label}}.md for memory blocks and {NOTES}/{{id}}.md for notes."

#: A path that does not begin with /memories, but with a folder in it or a name: `workspace.md`, `notes/hiking.md`.
_BARE = re.compile(r"(?!memories(?:/|$))\w[\w -]*(?:[./][\w. -]+(?:/[\w. -]+)*)?")


def path_of(path: str) -> MemoryPath:
    """Return what a path names. Raise ApiError (path_refused) for one that could lead out, or names nothing."""
    try:
        return memory_paths.parse(f"{ROOT}/{path}" if _BARE.fullmatch(path) else path)
    except memory_paths.PathRefused as error:
        shown = path[:200].encode("unicode_escape").decode("ascii")
        raise ApiError(ErrorCode.PATH_REFUSED, str(error), help=[FAMILIES], details={"path": shown}) from error


FilePath = Annotated[
    str,
    Field(
        description="/memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.",
        min_length=1,
        max_length=1_000,
    ),
    AfterValidator(lambda path: path_of(path).canonical),
]


def file_of(path: str) -> MemoryPath:
    """Return the file that a path names. Raise ApiError (path_refused, path_not_found for a folder)."""
    found = path_of(path)
    if found.is_folder:
        raise _not_found(found, "is a folder.", "list_files names the files in it.")
    return found


def _not_found(path: MemoryPath, what: str, help: str) -> ApiError:
    details = {"path": path.canonical, "nearest": None}
    told = [registry.for_list(help), FAMILIES]
    return ApiError(ErrorCode.PATH_NOT_FOUND, f"{path.canonical} {what}", help=told, details=details)


#: The first lines that the plan of these tools gives.
_FIRST = {
    ErrorCode.OLD_STRING_NOT_FOUND: "old_string not found in {path}",
    ErrorCode.OLD_STRING_REPEATED: "old_string appears multiple times in {path}. Be more specific.",
    ErrorCode.BLOCK_NOT_FOUND: "File not found: {path}",
    ErrorCode.NOTE_NOT_FOUND: "File not found: {path}",
}
#: Help that is said in words of files.
_OF_BLOCKS = ("There are: ", "There are no ", "The nearest is ", "To begin it")
_BLOCK_TOOLS = re.compile(r"\b(?:list|read|propose)_memory_\w+")


def _in_words(error: ApiError, target: MemoryPath, otherwise: str) -> ApiError:
    """Return a refusal in the words of these tools: the path for the block, and their names for those of blocks.

    Args:
        otherwise: what to do where there is no file.
    """
    is_missing = error.code in (ErrorCode.BLOCK_NOT_FOUND, ErrorCode.NOTE_NOT_FOUND)
    first = _FIRST[error.code].format(path=target.canonical) if error.code in _FIRST else error.message
    help = error.text.split("\n")[1:]
    if is_missing:
        nearest = error.details.get("nearest")
        near = [f"The nearest is {block_path(nearest)}."] if nearest else []
        help = [*near, *(line for line in help if not line.startswith(_OF_BLOCKS))]
        help.append(registry.for_list(otherwise).rstrip())
    if not target.is_note:
        for said in (f"Memory block '{target.name}'", f"block '{target.name}'"):
            first = first.replace(said, target.canonical)
    there = list(filter(registry.is_listed, registry.FILE_TOOLS))
    quoted = str(error.details)  # of the memory or the call: a name in it is no advice, and stays

    def of_files(found: re.Match[str]) -> str:
        return found[0] if found[0] in quoted else stand_in(found[0], there) or found[0]

    told = _BLOCK_TOOLS.sub(of_files, "\n".join(help).rstrip())
    details = {"path": target.canonical} | error.details
    return ApiError(error.code, first, help=[told], details=details, headers=error.headers)


# -- Reading: list_files and view_file.

#: Characters of a note's first words in a list.
_WORDS = 80


class FileListArguments(paging.PagedArguments, BoundedArguments):
    path: str = Field(
        default=ROOT, description="/memories, /memories/blocks or /memories/notes.", min_length=1, max_length=1_000
    )


@tool(returns=fields.paged(fields.FILE), target="path")
def list_files(call: Call, arguments: FileListArguments) -> Answer:
    asked = path_of(arguments.path)
    folder = asked.canonical
    if not asked.is_folder:
        raise _not_found(asked, "is no folder.", "Read it with view_file.")
    last = paging.after(call, arguments, str)
    files: dict[str, FileText | None] = dict(_waiting(call))
    if folder != NOTES:
        files |= {block_path(block.label): _of_block(block) for block in reads.blocks(call.owner)}
    if folder != BLOCKS and settings.MEMORIES_ENABLED:  # thousands, read for the page alone
        files |= {note_path(entry.id): None for entry in catalogue(call.owner).entries if not entry.is_superseded}
    every = sorted(path for path in files if path.startswith(f"{folder}/"))
    found = [path for path in every if last is None or path > last][: arguments.limit + 1]
    notes = reads.find_notes(call.owner, [path_of(path).name for path in found if files[path] is None])
    texts = {path: files[path] or _of_note(notes.get(path_of(path).name)) for path in found}
    there = [_listed(path, text) for path, text in texts.items() if text]
    items, cursor = paging.page_that_fits(call, there, there, arguments, lambda each: each["path"])
    lines = [f"{each['path']}\t{each['length']:,} chars\t{each['title']}{_waits(each)}" for each in items]
    text = "\n".join([f"Files in {folder}:", "", *lines]) if items else f"There are no files in {folder}."
    return Answer(text + paging.more(cursor), {"items": items, "next": cursor})


def _waits(item: dict[str, Any]) -> str:
    return f"\twaits for the user as your proposal {item['proposal_id']}" if item["proposal_id"] else ""


@dataclass(frozen=True)
class FileText:
    """What a file says: in the memory, or in the undecided proposal of this agent that makes it.

    Args:
        title: of a block; of a note its type.
    """

    text: str
    sha256: str
    title: str
    is_read_only: bool = False
    proposal_id: int | None = None


def _listed(path: str, file: FileText) -> dict[str, Any]:
    title = first_words(file.text, _WORDS) if path.startswith(NOTES) else file.title
    return {"path": path, "title": title, "length": len(file.text), "proposal_id": file.proposal_id}


def _find(call: Call, target: MemoryPath) -> FileText | None:
    if target.is_note:
        there = _of_note(reads.find_note(call.owner, target.name))
    else:
        there = _of_block(reads.find_block(call.owner, target.name))
    return there or _proposed(call, target)


def _of_note(note: reads.Note | None) -> FileText | None:
    return FileText(note.content, note.sha256, note.type) if note else None


def _of_block(block: reads.Block | None) -> FileText | None:
    return FileText(block.body, block.body_sha256, block.display_title, block.read_only) if block else None


def _proposed(call: Call, target: MemoryPath) -> FileText | None:
    return next((file for _path, file in _waiting(call, target)), None)


def _waiting(call: Call, target: MemoryPath | None = None) -> Iterator[tuple[str, FileText]]:
    """Yield the files that undecided proposals of this agent make, as they are proposed; or `target` alone."""
    kinds = [Kind.CREATE_BLOCK, Kind.SAVE] if settings.MEMORIES_ENABLED else [Kind.CREATE_BLOCK]
    found = auth.visible_proposals(call.caller.token, call.owner).decidable().filter(kind__in=kinds).order_by("-pk")
    if target is not None:
        found = found.filter(target=target.name, target_kind=TargetKind.NOTE if target.is_note else TargetKind.BLOCK)
    for proposal in found:
        revision, text = proposal.current_revision, proposal.current_revision.result_text
        if new := new_block_of(revision):
            title = new.display_title(proposal.target)
            yield block_path(proposal.target), FileText(text, edits.sha256_of(text), title, proposal_id=proposal.pk)
        elif revision.note_changes:
            note = reads.Note.from_json(revision.note_changes[0]["after"])
            yield note_path(note.id), FileText(note.content, note.sha256, note.type, proposal_id=proposal.pk)


class FileViewArguments(BoundedArguments):
    path: FilePath
    view_range: bounds.ViewRange = None


@tool(
    is_exact=True,
    returns={
        "path": "string: the file",
        "content": "string: the text, or the lines asked for",
        **fields.PART,
        "sha256": "string: for `expected_sha256`",
        "title": "string: of a block; of a note its type",
        "read_only": "boolean: agents may not change it",
        "proposal_id": fields.FILE["proposal_id"],
    },
)
def view_file(call: Call, arguments: FileViewArguments) -> Answer:
    target = file_of(arguments.path)
    if target.is_note:
        registry.require_notes(f"{call.name} has blocks only")
    found = _find(call, target)
    if found is None:
        missing = reads.NoteNotFound(target.name) if target.is_note else reads.BlockNotFound(target.name)
        search = " memory_search finds notes by what they say." if target.is_note else ""
        refused = refusals.explain(missing, representations.Subject(call, label=target.name))
        raise _in_words(refused, target, f"list_files names the files there are.{search}")
    part = bounds.cut(call, found.text, arguments.view_range, bounds.characters(arguments))
    if not target.is_note and found.proposal_id is None:
        block_reads.note_part(call, arguments.session_id, target.name, found.sha256, part)
    data = {
        "path": target.canonical,
        "content": part.text,
        **part.fields,
        "sha256": found.sha256,
        "title": found.title,
        "read_only": found.is_read_only,
        "proposal_id": found.proposal_id,
    }
    return Answer(f"{part.text or '(empty)'}{part.rest('view_file')}", data)


# -- Changing: edit_file, append_to_file, prepend_to_file, update_section and write_file.

#: The tools that change only what is named.
_ATOMIC = "edit_file append_to_file prepend_to_file update_section"

#: What the tools answer; fields that only blocks or only notes have are null for the others.
CHANGED = {"path": "string: the file"} | fields.of_either(
    {"note_id": "string: of a note, its id"} | fields.WRITTEN, fields.PROPOSED
)

#: Characters of a header in an answer.
_HEADER = 200


class FileWriteArguments(ProposeArguments):
    """What every tool takes that changes a file. A reason is welcome, and not required."""

    path: FilePath
    reasoning: str = Field(
        default="", description="Why, in a sentence the user can read beside the change.", max_length=4_000
    )


@dataclass(frozen=True)
class FileChange:
    """What is asked for.

    Args:
        edit: of the text there is.
        asked: what is said of it where it waits: "appended 3 chars".
        done: what the plan of these tools says where it is applied at once.
        makes: the text of a file that is not there yet; None where the tool makes none.
    """

    edit: edits.Edit
    asked: str
    done: str
    makes: str | None = None


_tool = partial(tool, returns=CHANGED)


class EditFileArguments(FileWriteArguments):
    old_string: str = Field(description="The exact text to find. It has to be unique in the file.")
    new_string: str = Field(description="The text to replace it with.")


@_tool()
def edit_file(call: Call, arguments: EditFileArguments) -> Answer:
    asked = f"replaced {len(arguments.old_string)} chars with {len(arguments.new_string)} chars"
    edit = edits.Replace(arguments.old_string, arguments.new_string)
    return _change(call, arguments, FileChange(edit, asked, f"Edited {arguments.path}: {asked}"))


class AddFileArguments(FileWriteArguments):
    content: str = Field(description="The text to add, exactly as given.", min_length=1)


@_tool()
def append_to_file(call: Call, arguments: AddFileArguments) -> Answer:
    return _add(call, arguments, edits.Append(arguments.content), "appended")


@_tool()
def prepend_to_file(call: Call, arguments: AddFileArguments) -> Answer:
    return _add(call, arguments, edits.Prepend(arguments.content), "prepended")


def _add(call: Call, arguments: AddFileArguments, edit: edits.Edit, added: str) -> Answer:
    asked = f"{added} {len(arguments.content)} chars"
    done = f"{asked.capitalize()} to {arguments.path}"
    return _change(call, arguments, FileChange(edit, asked, done, arguments.content))


class SectionFileArguments(SectionItem, FileWriteArguments):
    pass


@_tool()
def update_section(call: Call, arguments: SectionFileArguments) -> Answer:
    edit = section_update(arguments)
    asked = f"updated section {edit.header[:_HEADER]} with {len(edit.content)} chars"
    return _change(call, arguments, FileChange(edit, asked, f"Edited {arguments.path}: {asked}"))


class WriteFileArguments(FileWriteArguments):
    content: str = Field(description="The whole text. What is not in it is gone from the file.")


@_tool()
def write_file(call: Call, arguments: WriteFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content):,} chars"
    done = f"Written: {arguments.path} ({size})"
    return _change(call, arguments, FileChange(edits.Rewrite(content), f"wrote {size}", done, content))


def _change(call: Call, arguments: FileWriteArguments, change: FileChange) -> Answer:
    target = file_of(arguments.path)
    if target.is_note:
        registry.require_notes(f"{call.name} has blocks only")
    if arguments.expected_sha256 is not None:  # who gives the sha256 of a text means a file that is there
        change = replace(change, makes=None)
    try:
        return (_change_note if target.is_note else _change_block)(call, target, arguments, change)
    except ApiError as error:
        new = "list_files names the files there are. append_to_file and write_file make a new one."
        raise _in_words(error, target, new) from error


def _change_block(call: Call, target: MemoryPath, arguments: FileWriteArguments, change: FileChange) -> Answer:
    label, edit, asked = target.name, change.edit, change.asked
    warnings: tuple[str, ...] = ()
    block = reads.find_block(call.owner, label)
    found = _of_block(block) or _proposed(call, target)
    is_read: bool | None = True
    if block and isinstance(edit, edits.Rewrite):
        is_read = block_reads.is_read_as_it_is(call, arguments.session_id, block)
        edit = replace(edit, is_of_older=is_read is False)
    if arguments.proposal_id is None:  # what the agent proposed itself is changed as it is proposed
        own, edit = _in_own_edit(call, block, edit) if block else (found.proposal_id if found else None, edit)
        arguments = arguments.model_copy(update={"proposal_id": own}) if own else arguments
    if block is None and arguments.proposal_id is None and change.makes is not None:
        outcome = made_block(call, arguments, label=label, title="", body=change.makes, description="")
    else:
        outcome = made(call, label, (edit,), arguments)
    is_new = outcome.proposal.kind == Kind.CREATE_BLOCK
    if is_new:
        asked += " (a new block)"
    elif outcome.created or outcome.amended:
        warnings = block_reads.unread(outcome, is_read, arguments.session_id, named=target.canonical, atomic=_ATOMIC)
    number = outcome.proposal.pk
    which = f"revision {outcome.revision.number} of proposal {number}" if outcome.amended else f"proposal {number}"
    until = "Until then only you see it here." if is_new else "Until then the file reads as before."
    done = f"{change.done}\nA rule of the user let it through: proposal {number}, which the user can revert."
    waits = f"The user will be asked to approve {which}. {until}"
    words = _words(target, asked, outcome, waits=waits, applied=done)
    placed = _glued(found, edit)
    beside = dict.fromkeys(CHANGED) | {"path": target.canonical}
    return outcomes.answer(outcome, words, placed=placed, warnings=warnings, beside=beside)


def _glued(found: FileText | None, edit: edits.Edit) -> tuple[str, ...]:
    """Return where what is appended stands, if it goes on a line that is there."""
    text = found.text if found else ""
    if isinstance(edit, edits.Append) and text[-1:] not in ("", "\n") and edit.content[0] not in "\r\n":
        line = first_words(text.rsplit("\n", 1)[-1], _WORDS)
        return (f"It goes on the last line, “{line}”, which has no line end: begin with a line end for a new line.",)
    return ()


def _in_own_edit(call: Call, block: reads.Block, edit: edits.Edit) -> tuple[int | None, edits.Edit]:
    """Return the undecided edit of this agent's that alone has the text to replace, and what it is to ask for then."""
    if isinstance(edit, edits.Replace) and edit.old_string and edit.old_string not in block.body:
        own = auth.visible_proposals(call.caller.token, call.owner).decidable()
        own = own.filter(kind__in=[Kind.EDIT, Kind.REWRITE], target_kind=TargetKind.BLOCK, target=block.label)
        for proposal in own.order_by("-pk"):
            revision = proposal.current_revision
            if revision.base_sha256 == block.sha256 and revision.result_text.count(edit.old_string) == 1:
                return proposal.pk, edits.Rewrite(revision.result_text.replace(edit.old_string, edit.new_string))
    return None, edit


def _change_note(call: Call, target: MemoryPath, arguments: FileWriteArguments, change: FileChange) -> Answer:
    by = changed_by(call, arguments)
    subject = representations.Subject.of_write(call, arguments)
    with refusals.explained(subject):
        found, repaired = _find(call, target), list[dict[str, Any]]()
        if found is not None:
            edited = _edited(target, found.text, change.edit, subject)
            repaired = repairs.differing([change.edit], edits.to_json(edited.edits))
            sha256 = arguments.expected_sha256
            outcome = notes.update(
                by=by, owner=call.owner, note_id=target.name, content=edited.text, loaded_sha256=sha256
            )
        elif change.makes is not None:
            # Agents choose no `note-…` id: it could be that of somebody else's note.
            note_id = target.name if ID.fullmatch(target.name) and target.name.startswith("mem-") else None
            outcome = notes.save(by=by, owner=call.owner, content=change.makes, note_id=note_id)
        else:
            raise reads.NoteNotFound(target.name)
    named = replace(target, name=outcome.note_id)
    beside = dict.fromkeys(CHANGED) | {"path": named.canonical, "note_id": named.name}
    if outcome.known:
        return outcomes.of_note(outcome, applied="", beside=beside, more=f"It is {named.canonical}.")
    proposed = outcomes.of_notes(outcome)
    waits = f"The user will be asked to approve proposal {proposed.proposal.pk}."
    words = _words(named, change.asked, proposed, waits=waits, applied=change.done)
    told = [outcomes.told(proposed, words), *outcomes.of_repaired(repaired), *_glued(found, change.edit)]
    if named != target:
        told.append(f"Notes are named by their ids: this one is {named.canonical}.")
    return Answer("\n".join(told), beside | outcomes.data_of(proposed) | {"repaired": repaired})


def _words(target: MemoryPath, asked: str, outcome: services.Proposed, *, waits: str, applied: str) -> outcomes.Words:
    proposed = f"Proposed for {target.canonical}: {asked}\n{waits}"
    return outcomes.Words(
        waits=proposed,
        amended=proposed + representations.why_it_waits(outcome.proposal),
        equal=f"Proposed for {target.canonical} already: proposal {outcome.proposal.pk} asks for exactly this.",
        applied=applied,
    )


def _edited(target: MemoryPath, text: str, edit: edits.Edit, subject: representations.Subject) -> edits.Applied:
    """Return the text of a note with the change. Raise ApiError where it cannot be."""
    try:
        return repairs.apply(text, (edit,))
    except edits.EditError as error:
        if error.code in ("identical_strings", "empty_old_string", "forbidden_character"):
            raise
        details: dict[str, Any] = {"note_id": target.name}
        help = [registry.for_list("Read it with view_file: it has to match exactly.") or "It has to match exactly."]
        if isinstance(edit, edits.Replace) and error.code == "old_string_not_found":
            help += edit_refusals.passage_help(repairs.repair(text, edit), edit, 0, subject, details)
        code = next((each for each in ErrorCode if each.code == error.code), ErrorCode.OVER_LIMIT)
        raise ApiError(code, f"{error} in {target.canonical}.", help=help, details=details) from error
