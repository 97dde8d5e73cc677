"""Numbered lists into which both sides put an item: they count on, as they did in each side's text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_app.text import lines

_ITEM = re.compile(r"([ \t]*)(\d{1,3})(?=[.)][ \t])")


def renumbered(ours: str, theirs: str, text: str) -> str:
    """Return the merged text with lists counted through, if all the lists of both sides were."""
    found = list(_lists(text))
    if all(map(_counts_on, found)) or not all(map(_counts_on, (*_lists(ours), *_lists(theirs)))):
        return text
    result = text.split("\n")
    for items in found:
        for number, (place, _) in enumerate(items, items[0][1]):
            if item := _ITEM.match(result[place]):
                result[place] = f"{item[1]}{number}{result[place][item.end() :]}"
    return "\n".join(result)


def _counts_on(items: list[tuple[int, int]]) -> bool:
    return [number for _, number in items] == list(range(items[0][1], items[0][1] + len(items)))


def _lists(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the numbered lists, each as its items' places among the lines and their numbers."""
    open_lists: dict[int, list[tuple[int, int]]] = {}
    above = ""
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
