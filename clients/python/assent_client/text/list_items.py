"""What other memory files have: list items under headings, and lines as `[2026-03-01] - She rows.`

Belongs here: finding them in a text. Bringing them in is the import's (`Parsed`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from assent_client.text.memories_md import MOST_MEMORIES, TYPE_OF, Memory, Parsed, Skipped, Unreadable, check, id_of
from assent_client.text.notes import MAX_CONTENT, MAX_TAG

#: Front matter, code and comments, each after a line end: with `^`, looking for them in 6 MB took 0.13 s, now 0.02.
_NO_ITEMS = re.compile(
    r"\n(?:(?<=\A\n)---[ \t\r]*(?=\n)[\s\S]*?\n---.*"
    r"|[ \t]*+(?:(```|~~~)[\s\S]*?(?:\n[ \t]*\1.*|\Z)|<!--[\s\S]*?(?:-->.*|\Z)))"
)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)|\*\*([^*]+)\*\*:?")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|[0-9]{1,4}[.)])(?:[ \t]+(.*)|$)")
_RULE = re.compile(r"[-*_= ]{3,}")
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_DAY = re.compile(
    r"(?:\[([0-9]{4}-[0-9]{2}-[0-9]{2}|unknown)\]|([0-9]{4}-[0-9]{2}-[0-9]{2})(?=:| [-–—] ))[ \t]*[-–—:]?[ \t]*"
)
_MARKS = re.compile(r"[*_`#:]+")


class FoundItems(Parsed):
    """What a file has: an item each, with what is nested in it, tagged with its heading.

    What no note can be is skipped, such as an item that is too long.
    """

    @property
    def headings(self) -> int:
        """How many headings they stand under."""
        return len({memory.tags for memory in self.memories if memory.tags})

    @property
    def counted(self) -> str:
        """Return "37 list items under 6 headings"."""
        items, headings = len(self.memories), self.headings
        said = f"{items:,} list item{'' if items == 1 else 's'}"
        return f"{said} under {headings:,} heading{'' if headings == 1 else 's'}" if headings else said


def find(text: str, *, latest: date | None = None) -> FoundItems:
    """Return the items of a text. Front matter, code and comments have none.

    Args:
        latest: an item from a later day counts as one without a day.

    Raises Unreadable for too many items, and what `memories_md.check` raises.
    """
    check(text)
    memories: dict[str, Memory] = {}
    lines: dict[str, int] = {}
    skipped: list[Skipped] = []
    for line, heading, day, content in _items(text, latest):
        heading = _MARKS.sub(" ", heading).strip()
        kind, tags = TYPE_OF.get(heading.lower(), "note"), (heading[:MAX_TAG],) if heading else ()
        memory = Memory(id_of(content), kind, content, tags, day)
        if len(content) > MAX_CONTENT:
            over = f"{len(content):,} characters, {len(content) - MAX_CONTENT:,} over the limit of {MAX_CONTENT:,}"
            skipped.append(Skipped(line, f"the item has {over}"))
        elif memory.id in memories:
            skipped.append(Skipped(line, f"the same as in line {lines[memory.id]:,}"))
        elif content:
            memories[memory.id], lines[memory.id] = memory, line
    return FoundItems(tuple(memories.values()), tuple(skipped))


def _items(text: str, latest: date | None) -> Iterator[tuple[int, str, date | None, str]]:
    """Return the line, the heading, the day and the text of each item."""
    # Plain tuples, and one list for what all items say: 100,000 objects kept the garbage collector busy for a second.
    found: list[tuple[int, str, date | None, int]] = []
    parts: list[str] = []
    inside: int | None = None  # how far the item that is being read is indented
    heading, is_after_blank = "", False
    listed = _NO_ITEMS.sub(lambda found: "\n" * found[0].count("\n"), "\n" + text.removeprefix("\ufeff"))
    for number, line in enumerate(map(str.rstrip, listed.split("\n"))):
        if not line:
            is_after_blank = True
            continue
        if line[0] in "-*_= " and _RULE.fullmatch(line):
            inside = None
        elif line.lstrip()[0] in "#*" and (title := _HEADING.fullmatch(line.strip())):
            inside, heading = None, title[1] or title[2] or ""
        elif entry := _ITEM.fullmatch(line) or _DAY.match(line):
            is_listed = entry.re is _ITEM
            indent = len(entry[1].expandtabs(4)) if is_listed else 0
            said = _BOX.sub("", entry[2] or "", count=1) if is_listed else line
            if inside is not None and is_listed and indent > inside:
                parts.append(f"{' ' * (indent - inside - 2)}- {said}")
            else:
                day, said = _dated(said, _DAY.match(said) if is_listed else entry, latest)
                found.append((number, heading, day, len(parts)))
                parts.append(said)
                inside = indent
        elif inside is not None and (line[0] in " \t" or not is_after_blank):
            parts.append(line.strip())
        else:
            inside = None
        is_after_blank = False
        if len(found) > MOST_MEMORIES:
            raise Unreadable(f"the file has more than {MOST_MEMORIES:,} list items: split it")
    ends = [*(begin for *_item, begin in found[1:]), len(parts)]
    for (number, heading, day, begin), end in zip(found, ends, strict=False):
        yield number, heading, day, "\n".join(parts[begin:end]).strip()


def _dated(said: str, found: re.Match[str] | None, latest: date | None) -> tuple[date | None, str]:
    """Return the day an item begins with, as `_DAY` found it, and the rest of it."""
    if not found:
        return None, said
    try:
        day = date.fromisoformat(found[1] or found[2]) if found[1] != "unknown" else None
    except ValueError:
        return None, said
    return None if day and latest and day > latest else day, said[found.end() :]
