"""Numbered lists: where every list counts on, items are merged without their numbers and counted anew.

One item put in at the top changes the number of all that follow; without this each of them would be a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memory_app.text import lines
from memory_app.text.merge.values import Conflict, Part

_NUMBERED = r"([ \t]*)(0|[1-9]\d{0,2})(?=[.)][ \t])"
_ITEM = re.compile(_NUMBERED)
_ANY_ITEM = re.compile(rf"^{_NUMBERED}", re.MULTILINE)


def uncounted(texts: Sequence[str]) -> list[str] | None:
    """Return the texts with the first number of each list before all its items; None if a list does not count on."""
    found = [list(_lists(text)) for text in texts]
    if not any(found) or not all(map(_counts_on, (items for each in found for items in each))):
        return None
    return [
        _with_numbers(text, {place: items[0][1] for items in each for place, _ in items})
        for text, each in zip(texts, found, strict=True)
    ]


def counted(parts: Sequence[Part]) -> list[Part]:
    """Return parts of uncounted texts with lists that count on, whichever side of a conflict is taken.

    After a conflict in which one side has more items, the items that follow count on from those of that side.
    """
    versions = [_chosen(parts, side) for side in range(3)]
    numbers = [
        {place: items[0][1] + at for items in _lists("".join(version)) for at, (place, _) in enumerate(items)}
        for version in versions
    ]
    found: list[Part] = []
    starts = [0, 0, 0]
    for index, part in enumerate(parts):
        texts = [version[index] for version in versions]
        begun = [index > 0 and not "".join(version[:index]).endswith("\n") for version in versions]
        here = [
            {place - start: number for place, number in each.items() if place > start or not is_begun}
            for each, start, is_begun in zip(numbers, starts, begun, strict=True)
        ]
        if isinstance(part, str):
            most = {place: max(each.get(place, 0) for each in here[1:]) for place in {*here[1], *here[2]}}
            found.append(_with_numbers(part, most))
        else:
            found.append(Conflict(*map(_with_numbers, texts, here)))
        starts = [start + text.count("\n") for start, text in zip(starts, texts, strict=True)]
    return found


def _chosen(parts: Sequence[Part], side: int) -> list[str]:
    return [part if isinstance(part, str) else (part.base, part.ours, part.theirs)[side] for part in parts]


def _with_numbers(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with a number for the item on each of the lines."""
    result = text.split("\n")
    for place, number in numbers.items():
        if 0 <= place < len(result) and (item := _ITEM.match(result[place])):
            result[place] = f"{item[1]}{number}{result[place][item.end() :]}"
    return "\n".join(result)


def _counts_on(items: list[tuple[int, int]]) -> bool:
    return [number for _, number in items] == list(range(items[0][1], items[0][1] + len(items)))


def _lists(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the numbered lists, each as its items' places among the lines and their numbers."""
    open_lists: dict[int, list[tuple[int, int]]] = {}
    above = ""
    if not _ANY_ITEM.search(text):
        return
    for place, line in enumerate(text.split("\n")):
        if line.strip():
            item = _ITEM.match(line)
            indent = len(line) - len(line.lstrip())
            if not (above and lines.continues(above, line)):
                for other in [each for each in open_lists if each > indent or (each == indent and not item)]:
                    yield open_lists.pop(other)
            if item:
                open_lists.setdefault(indent, []).append((place, int(item[2])))
        above = line
    yield from open_lists.values()
