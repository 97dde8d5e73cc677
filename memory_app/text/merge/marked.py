"""Conflicts as git marks them in a file: whole lines between `<<<<<<<`, `=======` and `>>>>>>>`."""

from __future__ import annotations

from collections.abc import Iterator

from memory_app.text.merge.values import Conflict, Conflicted, Part


def marked(result: Conflicted, ours: str, theirs: str) -> tuple[str, int]:
    """Return the text with its conflicts marked, and how many there are: several on one line are marked as one.

    Args:
        ours: the name of our version, for the first mark; `theirs` likewise for the last.
    """
    found: list[str] = []
    count = 0
    for part in _by_lines(result):
        if isinstance(part, str):
            found.append(part)
            continue
        count += 1
        end = "\r\n" if "\r\n" in part.ours + part.theirs else "\n"
        found += (f"<<<<<<< {ours}{end}", _ended(part.ours, end), f"======={end}", _ended(part.theirs, end))
        found.append(f">>>>>>> {theirs}{end}")
    return "".join(found), count


def _by_lines(result: Conflicted) -> Iterator[Part]:
    """Yield the parts, each of whole lines."""
    pending: Conflict | None = None
    begun = ""
    for part in result.parts:
        if isinstance(part, Conflict):
            before = pending or Conflict(begun, begun, begun)
            pending, begun = _followed(before, part), ""
            continue
        text = part
        if pending:
            end = 0 if _is_whole(pending) else text.find("\n") + 1 or len(text)
            pending = _followed(pending, Conflict(*[text[:end]] * 3))
            text = text[end:]
            if not _is_whole(pending):
                continue
            yield pending
            pending = None
        start = text.rfind("\n") + 1
        if text[:start]:
            yield text[:start]
        begun = text[start:]
    if pending or begun:
        yield pending or begun


def _followed(conflict: Conflict, by: Conflict) -> Conflict:
    return Conflict(conflict.base + by.base, conflict.ours + by.ours, conflict.theirs + by.theirs)


def _is_whole(conflict: Conflict) -> bool:
    return all(not text or text.endswith("\n") for text in (conflict.base, conflict.ours, conflict.theirs))


def _ended(text: str, end: str) -> str:
    return text if not text or text.endswith("\n") else text + end
