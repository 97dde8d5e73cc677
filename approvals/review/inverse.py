"""Taking a change of a text back where the text has changed since: pure, without a database.

The words that the change removed come back and those it added go, wherever a later change left them as they were.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from memory_app.text import edits
from memory_app.text.edits import Replace


class TouchesTheSame(Exception):
    """A later change touches the text that would be taken back."""


def without(change: tuple[str, str], now: str) -> str:
    """Return the text `now` without a change that was made earlier.

    Args:
        change: the text before it and after it.

    Raises:
        TouchesTheSame: a person has to take it back by hand.
    """
    before, after = change
    wanted = _inverse(before, after)
    try:
        # All of them fit the text after the change at once, so in their order they do as well.
        return edits.reapply(now, wanted)
    except (edits.DoesNotFit, edits.TextTooLong):
        raise TouchesTheSame from None


def _inverse(before: str, after: str) -> list[Replace]:
    """Return replacements of lines that make `before` of `after`, each with enough around it to be found once."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    opcodes = SequenceMatcher(None, new, old, autojunk=False).get_opcodes()
    wanted, text, moved = [], after, 0
    for kind, start, end, old_start, old_end in opcodes:
        if kind == "equal":
            continue
        lines = text.splitlines(keepends=True)
        here, there = start + moved, end + moved
        back = old[old_start:old_end]
        around = 0 if start != end else 1
        while text.count("".join(lines[max(0, here - around) : there + around])) != 1 and around < len(lines):
            around += 1
        head, tail = lines[max(0, here - around) : here], lines[there : there + around]
        found = "".join([*head, *lines[here:there], *tail])
        put = "".join([*head, *back, *tail])
        wanted.append(Replace(found, put, occurrences=1))
        text = "".join([*lines[:here], *back, *lines[there:]])
        moved += len(back) - (end - start)
    return wanted
