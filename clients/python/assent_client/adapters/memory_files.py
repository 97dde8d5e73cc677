"""The six commands of Anthropic's memory tool over Assent, as steps: each asks for calls one by one, returns the text.

A step is a call to make; the adapter makes it, waiting for it or not (`anthropic`). Files are read and written by the
server's tools for files, which know what waits; what a path means is in `text.memory_paths`. The first line of each
text is the one of the tool in the Anthropic package; a write adds that a person is asked: a model that believes its
file is there stops saying what it wanted to keep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from assent_client.answers import ToolAnswer
from assent_client.errors import APIStatusError, NotFoundError
from assent_client.exchange import driven
from assent_client.text import invisible, memory_paths
from assent_client.text.memory_paths import BLOCKS, NOTES, MemoryPath, PathRefused, Place

#: Files a listing names of a folder; an owner may have thousands of notes.
MOST_FILES = 200
#: Characters of an answer that leaves out nothing.
WHOLE = 1_000_000
#: Lines of a file that is shown.
MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_UNITS = "BKMG"
#: Lines shown before and after a change.
_AROUND = 2
#: Lines a refusal names; a letter occurs in all of them.
_MOST_LINES_NAMED = 20
_FORCE_ADVICE = ("If it has, make the call with force=true", "force needs a reasoning")


class CommandRefused(Exception):
    """The command cannot be done; the text is for the model, and says what would work."""


@dataclass(frozen=True)
class Step:
    """A call of a tool to make: `client.tools.call("view_file", path="/memories/blocks/goals.md")`."""

    tool: str
    arguments: dict[str, Any]


Steps = Generator[Step, ToolAnswer, str]
#: What goes with every write: a `reasoning` for the person who decides, else one that names the path, and the
#: `session_id` of the conversation.
Provenance = Mapping[str, str]


def told(done: str, answer: ToolAnswer, *, is_new: bool = False) -> str:
    """Return a command's own text, and what became of the write; `is_new` as for `waits`."""
    data = answer.data
    if data.get("status") == "known":
        return answer.text
    if data.get("status") in ("applied", "withdrawn"):
        return f"{done}\nApplied at once (#{data['proposal_id']}); the person sees it and can revert it."
    return f"{done}\n{waits(data['proposal_id'], is_new=is_new)}"


async def done(steps: Steps, call: Callable[[Step], Any], told: set[str]) -> str:
    """Return the text that the steps come to, followed by what people decided about this agent's proposals.

    Any answer may tell that: also one that a command asks for on its way, or before it refuses.

    Args:
        call: makes a call, and returns its answer or an awaitable of it.
        told: cursors of what this tool told before, to which what is told now is added. Answers to reading say it
            again each time, since a program that reads may show no model what they carry.
    """
    lines: list[str] = []

    async def answered(step: Step) -> ToolAnswer:
        came = call(step)
        answer: ToolAnswer = await came if isawaitable(came) else came
        decisions = answer.data.get("decisions") or {}
        news = [each for each in decisions.get("items", ()) if each["cursor"] not in told]
        told.update(each["cursor"] for each in news)
        lines.extend(f"- {invisible.escaped(each['text'])}" for each in news)
        return answer

    try:
        return _followed(await driven(steps, answered, APIStatusError), lines)
    except CommandRefused as error:
        raise CommandRefused(_followed(str(error), lines)) from error
    except APIStatusError as error:
        if not lines:
            raise
        raise CommandRefused(_followed(refusal(error), lines)) from error


def refusal(error: APIStatusError) -> str:
    """Return a refusal's text without the word that an error flag says already, and without advice to give `force`:
    the memory tool has no such argument."""
    lines = error.text.removeprefix("Error: ").split("\n")
    if error.code == "rejected_before":
        lines = [line for line in lines if not line.startswith(_FORCE_ADVICE)]
    return "\n".join(lines)


def _followed(text: str, lines: list[str]) -> str:
    return "\n".join([text, "", "Decided since you were last told:", *lines]) if lines else text


def waits(proposal_id: int, *, is_new: bool = False) -> str:
    """Return that a person is asked, and how the file reads until then.

    Args:
        is_new: it is not there yet; this agent sees what it proposed.
    """
    until = "it is not in the memory, and only you see it here" if is_new else "the file reads as before"
    return f"Proposed (#{proposal_id}): a person will be asked to approve this change. Until then {until}."


def path_of(path: object) -> MemoryPath:
    if not isinstance(path, str) or not path:
        raise CommandRefused("Missing required parameter: path")
    try:
        return memory_paths.parse(path)
    except PathRefused as error:
        raise CommandRefused(str(error)) from error


def file_of(path: object, *, is_changed: bool = False) -> MemoryPath:
    target = path_of(path)
    if target.is_folder:
        raise CommandRefused(
            f"The path {target.given} is not a file." if is_changed else f"File {target.given} already exists"
        )
    return target


def text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise CommandRefused(f"Missing required parameter: {name}" if value is None else f"{name} must be a string")
    return value


def view_range_of(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, Sequence) and len(value) == 2 and all(type(each) is int for each in value):
        return value[0], value[1]
    raise CommandRefused("Invalid `view_range` parameter: give two line numbers, [first, last]; -1 is the last line.")


def view_folder(target: MemoryPath) -> Steps:
    entries: list[tuple[str, int]] = []
    more: list[str] = []
    for place, folder_ in ((Place.BLOCKS, BLOCKS), (Place.NOTES, NOTES)):
        if target.place not in (Place.ROOT, place):
            continue
        listed = yield Step("list_files", {"path": folder_, "limit": MOST_FILES, "max_characters": WHOLE})
        items = listed.data["items"]
        files = [(each["path"], each["length"]) for each in items if not each["proposal_id"]]
        total = (f"{folder_}/", sum(length for _path, length in files))
        entries += [total, *files] if target.place is Place.ROOT else files
        if waiting := [f"{each['path']} (#{each['proposal_id']})" for each in items if each["proposal_id"]]:
            more.append(f"Proposed, and not there until a person approves: {', '.join(waiting)}")
        if listed.data["next"]:
            more.append(f"Only {MOST_FILES} files of {folder_} are listed.")
    return "\n\n".join([folder(target.given, entries), *more])


def content_of(
    target: MemoryPath, *, missing: str = "The path {path} does not exist. Please provide a valid path."
) -> Generator[Step, ToolAnswer, tuple[str, int | None]]:
    """Return a file's text, and the number of the proposal it comes from where it is only proposed."""
    try:
        file_ = yield Step("view_file", {"path": target.canonical, "max_characters": WHOLE})
    except NotFoundError as error:
        near = [line for line in error.text.split("\n") if line.startswith("The nearest is ")]
        raise CommandRefused("\n".join([missing.format(path=target.given), *near])) from error
    return str(file_.data["content"]), file_.data["proposal_id"]


def exists(target: MemoryPath) -> Generator[Step, ToolAnswer, bool]:
    try:
        yield from content_of(target)
    except CommandRefused:
        return False
    return True


def view(path: object, view_range: object = None) -> Steps:
    """Return a folder's listing, or a file with line numbers."""
    target = path_of(path)
    lines = view_range_of(view_range)
    if target.is_folder:
        return (yield from view_folder(target))
    content, pending = yield from content_of(target)
    if content.count("\n") >= MOST_LINES:
        raise CommandRefused(f"File {target.given} exceeds maximum line limit of 999,999 lines.")
    if lines is not None and lines[1] != -1 and lines[1] < lines[0]:
        raise CommandRefused(f"Invalid `view_range` parameter: {list(lines)}. The first line is after the last.")
    shown = file(target.given, content, lines)
    return f"{shown}\n\n{waits(pending, is_new=True)}" if pending else shown


def create(path: object, file_text: object, said: Provenance) -> Steps:
    """Propose a new block; in /memories/notes, save a note."""
    target = file_of(path)
    text = text_of(file_text, "file_text")
    if (yield from exists(target)):
        raise CommandRefused(f"File {target.given} already exists")
    answer = yield _write(target, text, {"reasoning": f"A new file, {target.canonical}.", **said})
    done = f"File created successfully at: {target.given}"
    if target.given != answer.data["path"]:
        done += f"\nIt is named {answer.data['path']}."
    return told(done, answer, is_new=True)


def str_replace(path: object, old_str: object, new_str: object, said: Provenance) -> Steps:
    """Propose to replace a text that occurs once."""
    target = file_of(path, is_changed=True)
    if new_str is None:
        raise CommandRefused('Missing required parameter: new_str. To delete old_str, send new_str as "".')
    old, new = text_of(old_str, "old_str"), text_of(new_str, "new_str")
    if not old:
        raise CommandRefused("No replacement was performed: old_str is empty. Give the exact text to replace.")
    if old == new:
        raise CommandRefused("No replacement was performed: old_str and new_str are the same.")
    content, pending = yield from content_of(target)
    if content.count(old) > 1:
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{_lines_with(content, old)}. Please ensure it is unique"
        )
    named = {"path": target.canonical, "old_string": old, "new_string": new}
    try:
        answer = yield Step("edit_file", named | {"reasoning": f"An edit of {target.canonical}.", **said})
    except APIStatusError as error:
        if error.code != "old_string_not_found":
            raise
        first = f"No replacement was performed, old_str `{old}` did not appear verbatim in {target.given}."
        raise CommandRefused("\n".join([first, *_help(error, target)])) from error
    repaired = [each for each in answer.data.get("repaired") or () if content.count(each["old_string"]) == 1]
    note = "\nIt differed from old_str in white space, line ends or quotation marks only." if repaired else ""
    if repaired:
        old, new = repaired[0]["old_string"], repaired[0]["new_string"]
    if not content.count(old):  # only an edit of this agent's that waits has it, or who wrote in between
        proposal = yield Step("get_proposal", {"proposal_id": answer.data["proposal_id"], "max_characters": WHOLE})
        after = str(proposal.data["result"])
        line = _line_of(after, new)
    else:
        after, line = content.replace(old, new), _line_of(content, old)
    head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return told(f"{head}\n{snippet(after, line)}{note}", answer, is_new=pending is not None)


def _help(error: APIStatusError, target: MemoryPath) -> list[str]:
    """Return what the server says after its first line, with the call that would work as one of this tool."""
    call = error.details.get("corrected_call")
    replaced = {"command": "str_replace", "path": target.given}
    replaced |= {"old_str": call["old_string"], "new_str": call["new_string"]} if call else {}
    shown = json.dumps(replaced, ensure_ascii=False)
    lines = refusal(error).split("\n")[1:]
    lines = [line.replace("Your old_string ", "Your old_str ") for line in lines]
    calls = [at for at, line in enumerate(lines) if line.endswith(", call again with:")]
    if call and calls:
        lines[calls[-1] + 1 :] = [shown]
    return lines


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
    why = {"reasoning": f"Lines for {target.canonical}.", **said}
    if target.is_note or pending:
        after = "\n".join([*lines[:insert_line], text.rstrip("\n"), *lines[insert_line:]]) + "\n"
        answer = yield _write(target, after, why)
    else:
        named = {"block_label": target.name, "insert_line": insert_line, "content": text or "\n"}
        answer = yield Step("propose_memory_insert", named | why)
    return told(f"The file {target.given} has been edited.", answer, is_new=pending is not None)


def _write(target: MemoryPath, text: str, why: dict[str, Any]) -> Step:
    return Step("write_file", {"path": target.canonical, "content": text} | why)


def delete(path: object, said: Provenance) -> Steps:
    """Propose to delete a block; delete a note as the owner's policy lets."""
    target = path_of(path)
    if target.place is Place.ROOT:
        raise CommandRefused("Cannot delete the /memories directory itself")
    if target.is_folder:
        raise CommandRefused(f"{target.given} is a directory; delete one file at a time.")
    why = {"reasoning": f"{target.canonical} is no longer needed.", **said}
    _content, pending = yield from content_of(target, missing="The path {path} does not exist")
    if pending:
        yield Step("withdraw_proposal", {"proposal_id": pending, "reasoning": why["reasoning"]})
        return f"Successfully deleted {target.given}\nIt was only proposed (#{pending}), and is taken back."
    if target.is_note:
        answer = yield Step("memory_delete", {"note_id": target.name} | why)
    else:
        answer = yield Step("propose_block_deletion", {"block_label": target.name} | why)
    return told(f"Successfully deleted {target.given}", answer)


def rename(old_path: object, new_path: object, said: Provenance) -> Steps:
    """Propose a block of the new name with the same text, and the deletion of the old one."""
    old, new = path_of(old_path), path_of(new_path)
    if Place.ROOT in (old.place, new.place):
        raise CommandRefused("Cannot rename the /memories directory itself")
    if old.place is not Place.BLOCK or new.place is not Place.BLOCK:
        raise CommandRefused(f"Only files in {BLOCKS} can be renamed. A note keeps its id: change what it says.")
    content, pending = yield from content_of(old, missing="The path {path} does not exist")
    if old.name == new.name or (yield from exists(new)):
        raise CommandRefused(f"The destination {new.given} already exists")
    why = {"reasoning": f"{old.canonical} is renamed to {new.canonical}.", **said}
    made = yield _write(new, content, why)
    done = f"Successfully renamed {old.given} to {new.given}"
    if pending:
        yield Step("withdraw_proposal", {"proposal_id": pending, "reasoning": why["reasoning"]})
        return told(done, made, is_new=True)
    try:
        gone = yield Step("propose_block_deletion", {"block_label": old.name} | why)
    except APIStatusError:
        yield Step("withdraw_proposal", {"proposal_id": made.data["proposal_id"]})
        raise
    if "open" not in (made.data.get("status"), gone.data.get("status")):
        return told(told(done, made), gone)
    ids = f"#{made.data['proposal_id']} the new file, #{gone.data['proposal_id']} the deletion of the old one"
    return (
        f"{done}\nProposed ({ids}): a person will be asked to approve both changes. "
        "Until then the files read as before."
    )


def _lines_with(text: str, wanted: str) -> str:
    """Return the 1-based line of each place where `wanted` begins, overlaps included, as the Anthropic package does."""
    lines: list[str] = []
    at = text.find(wanted)
    while at >= 0 and len(lines) <= _MOST_LINES_NAMED:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(wanted, at + 1)
    return ", ".join(lines[:_MOST_LINES_NAMED]) + (", …" if len(lines) > _MOST_LINES_NAMED else "")


def _line_of(text: str, wanted: str) -> int:
    """Return the line, from 0, where `wanted` begins for the first time; the first where it is not there."""
    return text.count("\n", 0, max(text.find(wanted), 0))


# -- How files and folders are shown, in the words of the Anthropic package's tool.


def folder(path: str, entries: Sequence[tuple[str, int]]) -> str:
    """Return a folder's listing: its own line first, then `entries`, paths with their bytes, as they come."""
    total = sum(length for each, length in entries if not each.endswith("/"))
    lines = [f"{size(length)}\t{each}" for each, length in ((path, total), *entries)]
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([head, *lines])


def file(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Return a file's lines with their numbers.

    Args:
        view_range: first and last line, 1-based and inclusive; -1 as the last means to the end.
    """
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range is not None:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    shown = numbered(lines[first - 1 : last], first)
    return "\n".join([f"Here's the content of {path} with line numbers:", *shown])


def snippet(text: str, changed_line: int) -> str:
    """Return the lines around `changed_line` (0-based), with their numbers."""
    lines = text.split("\n")
    first = max(0, changed_line - _AROUND)
    return "\n".join(numbered(lines[first : changed_line + _AROUND + 1], first + 1))


def numbered(lines: Sequence[str], first: int) -> list[str]:
    """Return each line behind its number, the first being `first`."""
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def size(count: int) -> str:
    """Return a number of bytes as `0B`, `512B`, `1.5K`."""
    if count == 0:
        return "0B"
    unit = min((count.bit_length() - 1) // 10, len(_UNITS) - 1)
    amount = count / 1024**unit
    return f"{int(amount)}{_UNITS[unit]}" if amount == int(amount) else f"{amount:.1f}{_UNITS[unit]}"
