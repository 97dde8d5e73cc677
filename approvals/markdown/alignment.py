"""Which block of the text before became which block of the text after, by the lines they share."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from approvals.markdown.blocks import Node
from memory_app.text.worddiff import Paragraph

Pair = tuple[Node | None, Node | None]
_NO_BLANKS = dict.fromkeys(map(ord, " \t\r\n"))


class Alignment:
    """The lines of a change, from 0, and what each says of the blocks it belongs to.

    Args:
        paragraphs: of the change's redline.
        numbers: for each, the number of its change; 0 for an unchanged one.
    """

    def __init__(self, paragraphs: Sequence[Paragraph], numbers: Sequence[int]) -> None:
        self._shared: list[tuple[int, int, int]] = []
        self._before: dict[int | None, int] = {}
        self._after: dict[int | None, int] = {}
        self._changed: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for place, (paragraph, number) in enumerate(zip(paragraphs, numbers, strict=True)):
            before, after = paragraph.before_line, paragraph.after_line
            if before is not None:
                self._before.setdefault(before - 1, place)
            if after is not None:
                self._after.setdefault(after - 1, place)
            if before is not None and after is not None and (shared := _shared(paragraph)):
                self._shared.append((before - 1, after - 1, shared))
            for line, changed in zip((before, after), self._changed, strict=True):
                if number and line is not None:
                    changed.setdefault(line - 1, number)

    def numbers(self, before: Iterable[int], after: Iterable[int]) -> list[int]:
        """Return the numbers of the changes in these lines of the one text and of the other."""
        found: set[int] = set()
        for lines, changed in zip((before, after), self._changed, strict=True):
            found.update(changed[line] for line in lines if line in changed)
        return sorted(found)

    def place(self, before: Node | None, after: Node | None) -> int:
        """Return where a block begins, as the index of a paragraph of the redline."""
        return self.place_of(before.first if before else None, after.first if after else None)

    def place_of(self, before: int | None, after: int | None) -> int:
        """Return where a line is, as `place` does."""
        return self._before.get(before, 0) if after is None else self._after.get(after, 0)

    def pairs(self, before: Sequence[Node], after: Sequence[Node], fit: Callable[[Node, Node], bool]) -> Iterator[Pair]:
        """Yield blocks that stand beside one another, each with what it became, in reading order.

        Args:
            fit: whether one can be shown as a change of the other.
        """
        partner = self._partners(before, after, fit)
        at = new_at = 0
        for index, new_index in (*partner, (len(before), len(after))):
            gone: list[Pair] = [(block, None) for block in before[at:index]]
            come: list[Pair] = [(None, block) for block in after[new_at:new_index]]
            yield from sorted((*gone, *come), key=lambda pair: self.place(*pair))
            if index < len(before) and new_index < len(after):
                yield before[index], after[new_index]
            at, new_at = index + 1, new_index + 1

    def _partners(
        self, before: Sequence[Node], after: Sequence[Node], fit: Callable[[Node, Node], bool]
    ) -> list[tuple[int, int]]:
        if not (before and after):
            return []
        of_before, of_after = _index(before), _index(after)
        weights: Counter[tuple[int, int]] = Counter()
        start = bisect_left(self._shared, (before[0].first,))
        end = bisect_left(self._shared, (before[-1].last,))
        for line, new_line, shared in self._shared[start:end]:
            if line in of_before and new_line in of_after:
                weights[of_before[line], of_after[new_line]] += shared
        # Lines are in one order in both texts, and so are any two pairs that have no block in common.
        taken: set[int] = set()
        new_taken: set[int] = set()
        chosen: list[tuple[int, int]] = []
        for (index, new_index), _weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
            if index in taken or new_index in new_taken or not fit(before[index], after[new_index]):
                continue
            taken.add(index)
            new_taken.add(new_index)
            chosen.append((index, new_index))
        return sorted(chosen)


def _index(blocks: Sequence[Node]) -> dict[int, int]:
    return {line: number for number, block in enumerate(blocks) for line in range(block.first, block.last)}


def _shared(paragraph: Paragraph) -> int:
    """Return how many letters and signs a line kept."""
    return sum(len(segment.text.translate(_NO_BLANKS)) for segment in paragraph.segments if segment.kind == "same")
