"""The beginning of a text, for titles and lists."""

from __future__ import annotations


def first_words(text: str, most: int) -> str:
    """Return the beginning of `text` on one line, in at most `most` characters.

    A longer text ends with "…", after a whole word where one ends in the second half.
    """
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    blank = flat.rfind(" ", most // 2, most)
    return f"{flat[: blank if blank > 0 else most - 1]}…"
