"""The six commands of Anthropic's memory tool, as steps: each asks for calls one by one and returns the text.

Belongs here: which calls a command takes, and its texts. Not here: making the calls, which the adapters do, waiting for
them or not. The first line of each text is the one of the tool in the Anthropic package; a write adds that a person is
asked, because a model that believes its file is there stops saying what it wanted to keep.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from assent_client.adapters.memory_files import paths, views
from assent_client.adapters.memory_files.contents import (
    WHOLE,
    Pending,
    content_of,
    exists,
    pending_of,
    title_of,
    view_folder,
)
from assent_client.adapters.memory_files.paths import MemoryPath, Place
from assent_client.adapters.memory_files.steps import (
    Answered,
    CommandRefused,
    Provenance,
    Step,
    Steps,
    file_of,
    path_of,
    text_of,
    told,
    tool,
    view_range_of,
    waits,
)
from assent_client.errors import APIStatusError, NotFoundError

#: Lines a refusal names; a letter occurs in all of them.
_MOST_LINES_NAMED = 20


def view(path: object, view_range: object = None) -> Steps:
    """Return a folder's listing, or a file with line numbers."""
    target = path_of(path)
    lines = view_range_of(view_range)
    if target.is_folder:
        return (yield from view_folder(target))
    content, pending = yield from content_of(target)
    if content.count("\n") >= views.MOST_LINES:
        raise CommandRefused(f"File {target.given} exceeds maximum line limit of 999,999 lines.")
    if lines is not None and lines[1] != -1 and lines[1] < lines[0]:
        raise CommandRefused(f"Invalid `view_range` parameter: {list(lines)}. The first line is after the last.")
    shown = views.file(target.given, content, lines)
    return f"{shown}\n\n{waits(pending.proposal_id, is_new=True)}" if pending else shown


def create(path: object, file_text: object, said: Provenance) -> Steps:
    """Propose a new block; in /memories/notes, save a note."""
    target = file_of(path)
    text = text_of(file_text, "file_text")
    if target.place is Place.NOTE:
        return (yield from _create_note(target, text, said))
    if (yield from exists(target)):
        raise CommandRefused(f"File {target.given} already exists")
    named = {"label": target.name, "title": title_of(target.name), "body": text}
    answer = yield tool("propose_memory_block", named | said.of(f"A new file, {target.canonical}."))
    done = f"File created successfully at: {target.given}"
    if target.given != target.canonical:
        done += f"\nIt is named {target.canonical}."
    return told(done, answer, is_new=True)


def str_replace(path: object, old_str: object, new_str: object, said: Provenance) -> Steps:
    """Propose to replace a text that occurs once."""
    target = file_of(path, is_changed=True)
    old, new = text_of(old_str, "old_str"), text_of(new_str, "new_str")
    if not old:
        raise CommandRefused("No replacement was performed: old_str is empty. Give the exact text to replace.")
    if old == new:
        raise CommandRefused("No replacement was performed: old_str and new_str are the same.")
    content, pending = yield from content_of(target)
    count = content.count(old)
    if not count and target.place is Place.BLOCK and pending is None:
        done = yield from _replace_in_proposed(target, old, new, said)
        if done:
            return done
    if not count:
        raise CommandRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {target.given}."
        )
    if count > 1:
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{_lines_with(content, old)}. Please ensure it is unique"
        )
    after = content.replace(old, new)
    why = said.of(f"An edit of {target.canonical}.")
    if target.place is Place.NOTE:
        answer = yield tool("memory_update", {"note_id": target.name, "content": after} | why)
    elif pending:
        answer = yield _amended(target, pending, after, why)
    else:
        named = {"block_label": target.name, "old_string": old, "new_string": new}
        answer = yield tool("propose_memory_edit", named | why)
    head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return told(f"{head}\n{views.snippet(after, _line_of(content, old))}", answer, is_new=pending is not None)


def insert(path: object, insert_line: object, insert_text: object, said: Provenance) -> Steps:
    """Propose lines after the line of this number; 0 is the start."""
    target = file_of(path, is_changed=True)
    text = text_of(insert_text, "insert_text")
    if isinstance(insert_line, bool) or not isinstance(insert_line, int):
        raise CommandRefused("Invalid `insert_line` parameter: it must be a whole number.")
    content, pending = yield from content_of(target)
    lines = content.removesuffix("\n").split("\n") if content else []
    if not 0 <= insert_line <= len(lines):
        raise CommandRefused(
            f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
        )
    after = "\n".join([*lines[:insert_line], text.rstrip("\n"), *lines[insert_line:]]) + "\n"
    why = said.of(f"Lines for {target.canonical}.")
    if target.place is Place.NOTE:
        answer = yield tool("memory_update", {"note_id": target.name, "content": after} | why)
    elif pending:
        answer = yield _amended(target, pending, after, why)
    else:
        named = {"block_label": target.name, "insert_line": insert_line, "content": text or "\n"}
        answer = yield tool("propose_memory_insert", named | why)
    return told(f"The file {target.given} has been edited.", answer, is_new=pending is not None)


def delete(path: object, said: Provenance) -> Steps:
    """Propose to delete a block; delete a note as the owner's policy lets."""
    target = path_of(path)
    if target.place is Place.ROOT:
        raise CommandRefused("Cannot delete the /memories directory itself")
    if target.is_folder:
        raise CommandRefused(f"{target.given} is a directory; delete one file at a time.")
    why = said.of(f"{target.canonical} is no longer needed.")
    try:
        if target.place is Place.NOTE:
            answer = yield tool("memory_delete", {"note_id": target.name} | why)
        else:
            answer = yield tool("propose_block_deletion", {"block_label": target.name} | why)
    except NotFoundError as error:
        pending = yield from pending_of(target)
        if pending is None:
            raise CommandRefused(f"The path {target.given} does not exist") from error
        yield tool("withdraw_proposal", {"proposal_id": pending.proposal_id, "reasoning": why["reasoning"]})
        return f"Successfully deleted {target.given}\nIt was only proposed (#{pending.proposal_id}), and is taken back."
    return told(f"Successfully deleted {target.given}", answer)


def rename(old_path: object, new_path: object, said: Provenance) -> Steps:
    """Propose a block of the new name with the same text, and the deletion of the old one."""
    old, new = path_of(old_path), path_of(new_path)
    if Place.ROOT in (old.place, new.place):
        raise CommandRefused("Cannot rename the /memories directory itself")
    if old.place is not Place.BLOCK or new.place is not Place.BLOCK:
        raise CommandRefused(f"Only files in {paths.BLOCKS} can be renamed. A note keeps its id: change what it says.")
    content, pending = yield from content_of(old, missing="The path {path} does not exist")
    if old.name == new.name or (yield from exists(new)):
        raise CommandRefused(f"The destination {new.given} already exists")
    why = said.of(f"{old.canonical} is renamed to {new.canonical}.")
    named = {"label": new.name, "title": title_of(new.name), "body": content}
    made = yield tool("propose_memory_block", named | why)
    done = f"Successfully renamed {old.given} to {new.given}"
    if pending:
        yield tool("withdraw_proposal", {"proposal_id": pending.proposal_id, "reasoning": why["reasoning"]})
        return told(done, made, is_new=True)
    try:
        gone = yield tool("propose_block_deletion", {"block_label": old.name} | why)
    except APIStatusError:
        yield tool("withdraw_proposal", {"proposal_id": made.data["proposal_id"]})
        raise
    if "open" not in (made.data.get("status"), gone.data.get("status")):
        return told(told(done, made), gone)
    ids = f"#{made.data['proposal_id']} the new file, #{gone.data['proposal_id']} the deletion of the old one"
    return (
        f"{done}\nProposed ({ids}): a person will be asked to approve both changes. "
        "Until then the files read as before."
    )


def _replace_in_proposed(target: MemoryPath, old: str, new: str, said: Provenance) -> Generator[Step, Answered, str]:
    """Amend this agent's own waiting edit of the block where only that has the text; empty where none has."""
    block = yield tool("read_memory_block", {"block_label": target.name, "max_characters": WHOLE})
    for waiting in block.data["open_proposals"]:
        id = waiting["proposal_id"]
        proposal = yield tool("get_proposal", {"proposal_id": id, "max_characters": WHOLE})
        result = proposal.data["result"] or ""
        if result.count(old) != 1:
            continue
        after = result.replace(old, new)
        named = {"block_label": target.name, "content": after, "proposal_id": id}
        answer = yield tool("propose_memory_rewrite", named | said.of(f"An edit of {target.canonical}."))
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return told(f"{head}\n{views.snippet(after, _line_of(result, old))}", answer)
    return ""


def _amended(target: MemoryPath, pending: Pending, text: str, why: dict[str, Any]) -> Step:
    named = {"label": target.name, "title": pending.title, "body": text, "proposal_id": pending.proposal_id}
    return tool("propose_memory_block", named | why)


def _create_note(target: MemoryPath, text: str, said: Provenance) -> Steps:
    if (yield from exists(target)):
        raise CommandRefused(f"File {target.given} already exists")
    answer = yield tool("memory_save", {"content": text} | said.of(""))
    made = answer.data.get("note_id")
    named = f"\nNotes are named by their ids: it is {paths.NOTES}/{made}.md." if made else ""
    return told(f"File created successfully at: {target.given}{named}", answer)


def _lines_with(text: str, wanted: str) -> str:
    """Return the 1-based line of each place where `wanted` begins, overlaps included, as the Anthropic package does."""
    lines: list[str] = []
    at = text.find(wanted)
    while at >= 0 and len(lines) <= _MOST_LINES_NAMED:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(wanted, at + 1)
    return ", ".join(lines[:_MOST_LINES_NAMED]) + (", …" if len(lines) > _MOST_LINES_NAMED else "")


def _line_of(text: str, wanted: str) -> int:
    """Return the line, from 0, where `wanted` begins for the first time."""
    return text.count("\n", 0, text.index(wanted))
