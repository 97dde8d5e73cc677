"""Whether an edit that does not fit was made already, by an approval or by the owner.

That new_string is in the block proves nothing: an edit that shortens a passage always finds it there. The proof is an
earlier version which the edit turns into today's text at that place. Versions of a deleted block of the same label do
not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound, RevisionNotFound
from memory_app.text import edits

#: Changes of the block that are looked at, newest first: each version is one read.
VERSIONS = 20
#: Characters of context on each side of a place to compare; the text further away may have changed.
_AROUND = 16


def line_of(block: Block, asked: Sequence[edits.Edit], index: int, text: str) -> int | None:
    """Return the line on which `text` has what edit `index` makes of an earlier version; None when none shows it.

    Args:
        asked: all edits of the call.
        text: the block's text with the edits before that one.
    """
    edit = asked[index]
    if not isinstance(edit, edits.Replace) or not edit.new_string:
        return None
    for earlier in _earlier(block):
        before = applied(earlier, asked[:index])
        if edit.old_string in before and (place := _made_at(edit, before, text)) is not None:
            return text.count("\n", 0, place) + 1
    return None


def applied(body: str, earlier: Sequence[edits.Edit]) -> str:
    """Return `body` with the edits made, or unchanged where they do not fit."""
    try:
        return edits.apply(body, earlier).text
    except edits.EditError:
        return body


def _earlier(block: Block) -> Iterator[str]:
    for change in reads.history(block.owner, TargetKind.BLOCK, block.label, limit=VERSIONS):
        try:
            version = reads.block_at(block.owner, block.label, change.commit)
        except (BlockNotFound, RevisionNotFound):  # deleted then, or cleared from the history
            return
        if version.created_at != block.created_at:
            return
        yield version.body


def _made_at(edit: edits.Replace, before: str, text: str) -> int | None:
    """Return where `text` has the first of the places that the edit makes in `before`, if it has them all."""
    try:
        edits.apply(before, [edit])
    except edits.EditError:
        return None
    # The ends of a text count as ends of lines, or "Alice" at the end would be found in "Alice Marlowe".
    before, text = f"\n{before}\n", f"\n{text}\n"
    first, at = None, before.find(edit.old_string)
    while at >= 0:
        end = at + len(edit.old_string)
        head = before[max(at - _AROUND, 0) : at]
        place = text.find(head + edit.new_string + before[end : end + _AROUND])
        if place < 0:
            return None
        # Of the text without the end of line that was put before it.
        first = place + len(head) - 1 if first is None else first
        at = before.find(edit.old_string, end)
    return first
