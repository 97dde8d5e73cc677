"""The blocks and lines of a redline that were moved: on which side of the move they are, and what they were before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from approvals.markdown.blocks import Node
from memory_app.text import worddiff
from memory_app.text.worddiff import Paragraph


class Moves:
    """What was moved, by lines from 0.

    Args:
        paragraphs: of the change's redline.
        blocks: of the text before.
    """

    def __init__(self, paragraphs: Sequence[Paragraph], blocks: Sequence[Node]) -> None:
        lines = worddiff.moved_lines_of(paragraphs)
        self._origins = {line.after_line - 1: line.before_line - 1 for line in lines}
        self._gone = {line.before_line - 1 for line in lines}
        self._starts = dict(_by_first_line(blocks)) if lines else {}
        self._readable: tuple[set[int], set[int]] = (set(), set())
        for paragraph in paragraphs if lines else ():
            if not paragraph.is_blank:
                for line, readable in zip((paragraph.before_line, paragraph.after_line), self._readable, strict=True):
                    if line is not None:
                        readable.add(line - 1)

    def side(self, before: Iterable[int] | None, after: Iterable[int] | None) -> str:
        """Return `from` or `to` for lines of one of the texts that were all moved; empty for others, and for both."""
        if not self._gone or (before is None) == (after is None):
            return ""
        if before is not None:
            its = self._readable[0].intersection(before)
            return "from" if its and its <= self._gone else ""
        its = self._readable[1].intersection(after or ())
        return "to" if its and its <= self._origins.keys() else ""

    def origin(self, line: int) -> int:
        """Return where a line that was moved here stood in the text before."""
        return self._origins[line]

    def was(self, new: Node) -> Node | None:
        """Return the words, or the row of a table, that a moved block was before, if it was laid out alike."""
        line = next((line for line in new.lines if line in self._origins), None)
        if line is None:
            return None
        found = self._starts.get((new.kind == "tr", new.is_code, self._origins[line] - line + new.first))
        return found if found and len(found.inner) == len(new.inner) else None


def _by_first_line(blocks: Iterable[Node]) -> Iterator[tuple[tuple[bool, bool, int], Node]]:
    """Yield the blocks that have words, and the rows of tables, with their first lines."""
    for block in blocks:
        if block.kind == "tr" or (block.content is not None and block.kind not in ("th", "td")):
            yield (block.kind == "tr", block.is_code, block.first), block
        yield from _by_first_line(block.inner)
