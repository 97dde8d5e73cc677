"""How a content line and a tag express what the format itself cannot.

That is two things: a carriage return at the end of a line, which every reader takes for part of the line end,
and a tag with one of the characters that end a tag (comma, bar, line end, white space around it, `>`, which may
close the comment). Both become numeric character references: `&#13;`, `&#44;`. Text that looks like one
already gets its ampersand written as a reference, as in HTML.
"""

from __future__ import annotations

import re

_CARRIAGE_RETURN = "&#13;"
_LIKE_CARRIAGE_RETURN = re.compile(r"&((?:amp;)*#13;)$")
_ESCAPED_ONCE_MORE = re.compile(r"&amp;((?:amp;)*#13;)$")

_REFERENCE = re.compile(r"&#([0-9]{1,7});")
_NEEDS_REFERENCE = re.compile(r"[,|\r\n>]|&(?=#[0-9]{1,7};)|\A\s|\s\Z")


def escape_line(line: str) -> str:
    """Return a line of content, without its line end, as it is written after `> `."""
    if line.endswith("\r"):
        return line[:-1] + _CARRIAGE_RETURN
    return _LIKE_CARRIAGE_RETURN.sub(r"&amp;\1", line) if line.endswith("#13;") else line


def unescape_line(line: str) -> str:
    if not line.endswith("#13;"):
        return line
    if line.endswith(_CARRIAGE_RETURN):
        return line.removesuffix(_CARRIAGE_RETURN) + "\r"
    return _ESCAPED_ONCE_MORE.sub(r"&\1", line)


def escape_tag(tag: str) -> str:
    return _NEEDS_REFERENCE.sub(lambda found: f"&#{ord(found[0])};", tag)


def unescape_tag(tag: str) -> str:
    return _REFERENCE.sub(lambda found: _character(int(found[1])) or found[0], tag)


def _character(code: int) -> str | None:
    """Return the character of a reference; None for those that no text may hold."""
    storable = 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return chr(code) if storable else None
