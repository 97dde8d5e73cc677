"""Links in a text: those that are new in it, and those that mislead.

Belongs here: what one program or another takes for a link, and whether it leads where it says. Not here: the flag that
a change with new links gets (`flags`).
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from approvals.markdown import parsing

_LINK = re.compile(
    r"!?\[(?P<label>[^\[\]\n]{0,300})\]\(\s*<?(?P<target>[^\s()<>]{1,2000})"  # Markdown, images too
    r"|^ {0,3}\[[^\[\]\n]{1,100}\]:\s*<?(?P<defined>[^\s<>]{1,2000})"
    r"|\b(?:src|href)\s*=\s*[\"']?(?P<attribute>[^\s\"'<>]{1,2000})"
    r"|(?P<bare>\b(?:https?|ftp)://[^\s<>\"'`\])]{1,2000}|\bwww\.[^\s<>\"'`\])]{2,2000})"
    r"|(?P<scripted>\b(?:javascript|vbscript|data):[^\s<>\"'`\])]{1,2000})",
    re.IGNORECASE | re.MULTILINE,
)
_SCRIPT = re.compile(r"data:\w+/|(?:java|vb)script:\S*[(;=]", re.IGNORECASE)
_LIKE_A_TARGET = re.compile(r"[/.#:]")
_SHOWN_TARGET = re.compile(r"\s*(?:https?://|www\.)\S+", re.IGNORECASE)
_PUNCTUATION = ".,;:!?*_"
#: A line of plain words, behind what makes it an item or a heading.
_WORDS = re.compile(r"([ >#*+\d.)-]*)[^\W\d_](?:[\w ,;?’]|\.(?= |$))*")
_SCRIPT_SCHEMES = ("javascript:", "vbscript:", "data:")


@dataclass(frozen=True)
class AddedLink:
    """Where a link leads, and whether it shows something else or runs a script."""

    target: str
    is_misleading: bool


def added(before: str, after: str, whole: tuple[str, str]) -> list[AddedLink]:
    """Return the links that a change adds.

    Args:
        whole: both texts in full; `before` and `after` may lack what they begin and end with alike.
    """
    had = {link.target for link in _links(before)}
    written = [*_links(after)]
    new = [link for link in written if link.target not in had]
    return new if _changes_words(before, after) else [*new, *_links_made(written, *whole)]


def _changes_words(before: str, after: str) -> bool:
    """Whether only plain words are put in the place of others, so that no text around them becomes a link.

    Rendering both texts to find that out is a fifth of what proposing such a change takes.
    """
    old, new = ([_WORDS.fullmatch(line) for line in text.splitlines()] for text in (before, after))
    if len(old) != len(new):
        return False
    return all(one and other and one[1] == other[1] for one, other in zip(old, new, strict=True))


def _links(text: str) -> Iterator[AddedLink]:
    """Yield all that looks like a link to one program or another, rendered here or not."""
    for match in _LINK.finditer(text):
        target = next(filter(None, match.group("target", "defined", "attribute", "bare", "scripted")))
        target = target.rstrip(_PUNCTUATION)
        if match["scripted"] and not _SCRIPT.match(target):
            continue  # "Data: 12 points" is no link
        if match["defined"] and not _LIKE_A_TARGET.search(target):
            continue
        yield _link(match["label"] or "", target)


def _links_made(written: Sequence[AddedLink], before: str, after: str) -> Iterator[AddedLink]:
    """Yield the links a page makes of `after` that are neither among those `written` nor made of `before`.

    Both texts are whole: what made a link of some words may be lines away.
    """
    known = {html.unescape(link.target) for link in written}
    misleading = {html.unescape(link.target) for link in written if link.is_misleading}
    made = {link: None for link in _parsed(after) if link.target not in (misleading if link.is_misleading else known)}
    if made:
        had = set(_parsed(before))
        yield from (link for link in made if link not in had)


def _parsed(text: str) -> Iterator[AddedLink]:
    for link in parsing.links(text):
        target = link.target.rstrip(_PUNCTUATION)
        if link.label or _LIKE_A_TARGET.search(target):
            yield _link(link.label, target)


def _link(label: str, target: str) -> AddedLink:
    """Whether it runs a script or shows one site and leads to another."""
    shown = _SHOWN_TARGET.match(label)
    is_misleading = target.lower().startswith(_SCRIPT_SCHEMES) or bool(shown and _host(shown[0]) != _host(target))
    return AddedLink(target, is_misleading or _hides_host(target))


def _host(link: str) -> str:
    link = link.strip().lower()
    try:
        host = urlsplit(link if "://" in link else f"//{link}").hostname or ""
    except ValueError:  # such as an unclosed bracket of an IPv6 address: it leads nowhere
        return ""
    return host.removeprefix("www.")


def _hides_host(link: str) -> bool:
    """Whether the address begins with something that looks like a host and is a user name: `https://bank.com@evil`."""
    try:
        return "@" in urlsplit(link).netloc
    except ValueError:
        return True
