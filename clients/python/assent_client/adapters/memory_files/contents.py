"""What is in files and folders, with what this agent has proposed and nobody has decided."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from assent_client.adapters.memory_files import paths, views
from assent_client.adapters.memory_files.paths import MemoryPath, Place
from assent_client.adapters.memory_files.steps import Answered, CommandRefused, Step, Steps, tool
from assent_client.errors import NotFoundError

#: Notes a listing names; an owner may have thousands.
MOST_NOTES = 100
#: Characters of an answer that leaves out nothing.
WHOLE = 1_000_000
#: Proposals looked through for a file that waits.
_MOST_PROPOSALS = 200


@dataclass(frozen=True)
class Pending:
    """A proposal of this agent that creates a file which is not there yet."""

    proposal_id: int
    title: str
    text: str


def view_folder(target: MemoryPath) -> Steps:
    entries: list[views.Entry] = []
    more: list[str] = []
    if target.place is not Place.NOTES:
        blocks = yield tool("list_memory_blocks", {"max_characters": WHOLE})
        files = [views.Entry(f"{paths.BLOCKS}/{each['label']}.md", each["length"]) for each in blocks.data["items"]]
        entries += _with_folder(target, paths.BLOCKS, files)
        waiting = yield from all_pending()
        if waiting:
            listed = ", ".join(f"{paths.BLOCKS}/{label}.md (#{id})" for label, id in waiting)
            more.append(f"Proposed, and not there until a person approves: {listed}")
    if target.place is not Place.BLOCKS:
        notes = yield Step("notes", "list", named={"limit": MOST_NOTES})
        files = [
            views.Entry(f"{paths.NOTES}/{each['id']}.md", len(each["content"].encode())) for each in notes.data["items"]
        ]
        entries += _with_folder(target, paths.NOTES, files)
        if notes.data["next"]:
            more.append(f"Only the newest {MOST_NOTES} notes are listed.")
    return "\n\n".join([views.folder(target.given, entries), *more])


def _with_folder(target: MemoryPath, folder: str, files: Sequence[views.Entry]) -> list[views.Entry]:
    if target.place is not Place.ROOT:
        return list(files)
    return [views.Entry(f"{folder}/", sum(each.size for each in files)), *files]


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
