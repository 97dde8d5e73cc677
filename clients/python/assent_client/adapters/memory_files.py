"""The six commands of Anthropic's memory tool over Assent, as steps: each asks for calls one by one, returns the text.

A step is a call to make; the adapter makes it, waiting for it or not (`anthropic`). What a path means, and how files
are shown, is in `memory_paths`. The first line of each text is the one of the tool in the Anthropic package; a write
adds that a person is asked: a model that believes its file is there stops saying what it wanted to keep.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assent_client.adapters import memory_paths
from assent_client.adapters.memory_paths import BLOCKS, NOTES, CommandRefused, Entry, MemoryPath, Place
from assent_client.errors import APIStatusError, NotFoundError

#: Notes a listing names; an owner may have thousands.
MOST_NOTES = 100
#: Characters of an answer that leaves out nothing.
WHOLE = 1_000_000
#: Proposals looked through for a file that waits.
_MOST_PROPOSALS = 200
#: Lines a refusal names; a letter occurs in all of them.
_MOST_LINES_NAMED = 20
_FORCE_ADVICE = ("If it has, make the call with force=true", "force needs a reasoning")


class Answered(Protocol):
    """What a call answers: a text for the model, and data."""

    @property
    def text(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Step:
    """A call to make: `client.tools.call("read_memory_block", block_label="goals")`."""

    resource: str
    method: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)


Steps = Generator[Step, Answered, str]


@dataclass(frozen=True)
class Provenance:
    """What goes with every write.

    Args:
        reasoning: shown to the person who decides; the path is added where it is left empty.
        session_id: of the conversation, at most 128 characters.
    """

    reasoning: str = ""
    session_id: str = ""

    def of(self, what: str) -> dict[str, Any]:
        given = {"reasoning": self.reasoning or what}
        return given | ({"session_id": self.session_id} if self.session_id else {})


def tool(name: str, arguments: dict[str, Any]) -> Step:
    return Step("tools", "call", (name,), arguments)


def told(done: str, answer: Answered, *, is_new: bool = False) -> str:
    """Return a command's own text, and what became of the write; `is_new` as for `waits`."""
    data = answer.data
    if data.get("status") == "known":
        return answer.text
    parts = [done]
    if data.get("status") in ("applied", "withdrawn"):
        parts.append(f"Applied at once (#{data['proposal_id']}); the person sees it and can revert it.")
    else:
        parts.append(waits(data["proposal_id"], is_new=is_new))
    return "\n".join(parts)


def with_decisions(steps: Steps, told: set[str]) -> Steps:
    """Return the steps, their text followed by what people decided about this agent's proposals.

    Any answer may tell that: also one that a command asks for on its way, or before it refuses.

    Args:
        told: cursors of what this tool told before, to which what is told now is added. Answers to reading say it
            again each time, since a program that reads may show no model what they carry.
    """
    lines: list[str] = []
    try:
        step = next(steps)
        while True:
            try:
                answer = yield step
            except APIStatusError as error:
                step = steps.throw(error)
            else:
                decisions = answer.data.get("decisions") or {}
                news = [each for each in decisions.get("items", ()) if each["cursor"] not in told]
                told |= {each["cursor"] for each in news}
                lines += [f"- {each['text']}" for each in news]
                step = steps.send(answer)
    except StopIteration as done:
        return _followed(str(done.value), lines)
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
    if is_new:
        return (
            f"Proposed (#{proposal_id}): a person will be asked to approve this change. "
            "Until then it is not in the memory, and only you see it here."
        )
    return (
        f"Proposed (#{proposal_id}): a person will be asked to approve this change. "
        "Until then the file reads as before."
    )


def path_of(path: object) -> MemoryPath:
    if not isinstance(path, str) or not path:
        raise CommandRefused("Missing required parameter: path")
    return memory_paths.parse(path)


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


@dataclass(frozen=True)
class Pending:
    """A proposal of this agent that creates a file which is not there yet."""

    proposal_id: int
    title: str
    text: str


def view_folder(target: MemoryPath) -> Steps:
    entries: list[Entry] = []
    more: list[str] = []
    if target.place is not Place.NOTES:
        blocks = yield tool("list_memory_blocks", {"max_characters": WHOLE})
        files = [Entry(f"{BLOCKS}/{each['label']}.md", each["length"]) for each in blocks.data["items"]]
        entries += _with_folder(target, BLOCKS, files)
        waiting = yield from all_pending()
        if waiting:
            listed = ", ".join(f"{BLOCKS}/{label}.md (#{id})" for label, id in waiting)
            more.append(f"Proposed, and not there until a person approves: {listed}")
    if target.place is not Place.BLOCKS:
        notes = yield Step("notes", "list", named={"limit": MOST_NOTES})
        files = [Entry(f"{NOTES}/{each['id']}.md", len(each["content"].encode())) for each in notes.data["items"]]
        entries += _with_folder(target, NOTES, files)
        if notes.data["next"]:
            more.append(f"Only the newest {MOST_NOTES} notes are listed.")
    return "\n\n".join([memory_paths.folder(target.given, entries), *more])


def _with_folder(target: MemoryPath, folder: str, files: Sequence[Entry]) -> list[Entry]:
    if target.place is not Place.ROOT:
        return list(files)
    return [Entry(f"{folder}/", sum(each.size for each in files)), *files]


def content_of(
    target: MemoryPath, *, missing: str = "The path {path} does not exist. Please provide a valid path."
) -> Generator[Step, Answered, tuple[str, Pending | None]]:
    """Return a file's text, and the proposal it comes from where it is only proposed."""
    try:
        if target.place is Place.NOTE:
            note = yield Step("notes", "get", (target.name,))
            return str(note.data["content"]), None
        block = yield tool("read_memory_block", {"block_label": target.name, "max_characters": WHOLE})
        return str(block.data["body"]), None
    except NotFoundError as error:
        pending = yield from pending_of(target)
        if pending is None:
            raise CommandRefused(missing.format(path=target.given)) from error
        return pending.text, pending


def exists(target: MemoryPath) -> Generator[Step, Answered, bool]:
    try:
        yield from content_of(target)
    except CommandRefused:
        return False
    return True


def pending_of(target: MemoryPath) -> Generator[Step, Answered, Pending | None]:
    """Return the undecided proposal of this agent that creates the block."""
    if target.place is not Place.BLOCK:
        return None
    for label, id in (yield from all_pending(target.name)):
        proposal = yield tool("get_proposal", {"proposal_id": id, "max_characters": WHOLE})
        return Pending(
            id, str(proposal.data.get("target_title") or title_of(label)), str(proposal.data["result"] or "")
        )
    return None


def all_pending(label: str | None = None) -> Generator[Step, Answered, list[tuple[str, int]]]:
    """Return label and number of this agent's undecided proposals of new blocks, newest first."""
    found: list[tuple[str, int]] = []
    for status in ("open", "changes_requested"):
        asked = {"status": status, "limit": _MOST_PROPOSALS} | ({"block_label": label} if label else {})
        proposals = yield tool("list_proposals", asked)
        found += [
            (each["block_label"], each["proposal_id"])
            for each in proposals.data["items"]
            if each["kind"] == "create_block"
        ]
    return found


def title_of(label: str) -> str:
    return label.replace("_", " ").replace("-", " ").title()


def view(path: object, view_range: object = None) -> Steps:
    """Return a folder's listing, or a file with line numbers."""
    target = path_of(path)
    lines = view_range_of(view_range)
    if target.is_folder:
        return (yield from view_folder(target))
    content, pending = yield from content_of(target)
    if content.count("\n") >= memory_paths.MOST_LINES:
        raise CommandRefused(f"File {target.given} exceeds maximum line limit of 999,999 lines.")
    if lines is not None and lines[1] != -1 and lines[1] < lines[0]:
        raise CommandRefused(f"Invalid `view_range` parameter: {list(lines)}. The first line is after the last.")
    shown = memory_paths.file(target.given, content, lines)
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
    return told(f"{head}\n{memory_paths.snippet(after, _line_of(content, old))}", answer, is_new=pending is not None)


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
        raise CommandRefused(f"Only files in {BLOCKS} can be renamed. A note keeps its id: change what it says.")
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
        return told(f"{head}\n{memory_paths.snippet(after, _line_of(result, old))}", answer)
    return ""


def _amended(target: MemoryPath, pending: Pending, text: str, why: dict[str, Any]) -> Step:
    named = {"label": target.name, "title": pending.title, "body": text, "proposal_id": pending.proposal_id}
    return tool("propose_memory_block", named | why)


def _create_note(target: MemoryPath, text: str, said: Provenance) -> Steps:
    if (yield from exists(target)):
        raise CommandRefused(f"File {target.given} already exists")
    answer = yield tool("memory_save", {"content": text} | said.of(""))
    made = answer.data.get("note_id")
    named = f"\nNotes are named by their ids: it is {NOTES}/{made}.md." if made else ""
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
