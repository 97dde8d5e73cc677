"""What a reviewer should look at twice: flags computed from the text before and after a change.

Belongs here: deciding which flags a change gets, from the two texts alone, and what counts as a link. Not here: their
wording (the pages have it), limits, and what policy does about them.

Only what a change adds counts; what the text had already is not flagged again. A flag is a hint and proves nothing:
text can persuade a model in ways no pattern lists, and a person may quote an instruction for good reason.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from approvals.markdown import parsing
from approvals.markdown.unseen import dropped
from approvals.risks import credentials
from approvals.risks.prompt_injection import instructions
from assent_client.text import invisible
from memory_app.text import patterns
from memory_app.text.worddiff import Segment, common_ends, diff

_READ = patterns.beside(__file__)
_LINK = re.compile(_READ["link"], re.IGNORECASE | re.MULTILINE)
_SCRIPT = re.compile(r"data:\w+/|(?:java|vb)script:\S*[(;=]", re.IGNORECASE)
_LIKE_A_TARGET = re.compile(r"[/.#:]")
_SHOWN_TARGET = re.compile(r"\s*(?:https?://|www\.)\S+", re.IGNORECASE)
_PUNCTUATION = ".,;:!?*_"
#: A line of plain words, behind what makes it an item or a heading.
_PLAIN_LINE = re.compile(r"([ >#*+\d.)-]*)[^\W\d_](?:[\w ,;?’]|\.(?= |$))*")
_SCRIPT_SCHEMES = ("javascript:", "vbscript:", "data:")


@dataclass(frozen=True)
class AddedLink:
    """Where a link leads, and whether it shows something else or runs a script."""

    target: str
    is_misleading: bool


def added_links(before: str, after: str, whole: tuple[str, str]) -> list[AddedLink]:
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
    old, new = ([_PLAIN_LINE.fullmatch(line) for line in text.splitlines()] for text in (before, after))
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


T = TypeVar("T")

Level = Literal["danger", "warning", "info"]

#: The flag that policy stops at: nothing with it goes into the memory before a person has seen it.
SECRETS = "secrets"
#: The flag of what Markdown drops: an agent reads it, and a rendered text does not show it.
NOT_SHOWN = "not_shown"

DELETES_MUCH_DANGER = 0.5
DELETES_MUCH_WARNING = 0.25
# A change that takes away less than this (about a sentence) and puts something else in its place counts only for what
# the text lost in length; else one reworded line would "delete half" of every small block.
_REWORDING = 60

#: Characters of what an agent says with a change that are searched for secrets: the longest reason and one of the
#: longest messages. All that a call may bring, a megabyte, would take seconds.
MOST_SAID = 24_000

# A flag names some of what it found; a page has no room for a thousand links.
_MOST_EXAMPLES = 5
_LONGEST_EXAMPLE = 120

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DANGEROUS_KINDS = frozenset[invisible.Kind](("zero_width", "bidi", "tag", "variation", "control"))

_MAIL = re.compile(r"(?<![\w.+/-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
_PHONE = re.compile(_READ["phone"])


@dataclass(frozen=True)
class Risk:
    """One flag.

    Attributes:
        key: one of `review.summary.RISK_TITLES`; the pages have the words for it.
        params: plain values to fill these in with: `percent` of deletes_much; `count` and up to five `examples` of
            the others; `said` of secrets, how many of them are in the agent's own words alone; `hide_others` where
            some of hidden_characters are seen and cover what stands beside them.
    """

    key: str
    level: Level
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RiskReport:
    """What a reviewer is told of a change without reading it."""

    risks: tuple[Risk, ...]
    deleted_share: float

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads back."""
        return {"risks": [asdict(risk) for risk in self.risks], "deleted_share": self.deleted_share}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RiskReport:
        return cls(tuple(Risk(**risk) for risk in values["risks"]), values["deleted_share"])


def report(
    before: str,
    after: str,
    *,
    segments: Sequence[Segment] | None = None,
    is_deletion: bool = False,
    beside: tuple[str, str] = ("", ""),
    said: str = "",
) -> RiskReport:
    """Return how much a change takes away, and its flags in the order of `RISK_TITLES`, each at most once.

    Args:
        segments: the diff of the two texts, when the caller has it already.
        is_deletion: the change says that it deletes all of it, so that it does needs no flag.
        beside: what stands beside the two texts and is read like them; how much of it goes counts for nothing.
        said: what the agent says with the change, see `said_with`; it is searched for secrets alone.
    """
    if before == after and beside[0] == beside[1] and not said:
        return RiskReport((), 0.0)
    share = deleted_share(before, diff(before, after) if segments is None else segments)
    before, after = ("\n\n".join(filter(None, said)) for said in zip((before, after), beside, strict=True))
    # What both texts begin and end with, line by line, adds nothing to either.
    whole = before, after
    head, tail = common_ends(before, after)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    found = (
        _secrets(before, after, said, whole),
        _hidden_characters(before, after),
        _not_shown(before, after, whole),
        _mixed_scripts(before, after, "\n".join(whole)),
        _reads_like_instructions(before, after),
        None if is_deletion else _deletes_much(share),
        _links_added(before, after, whole),
        _contacts_added(before, after),
    )
    return RiskReport(tuple(risk for risk in found if risk), share)


def deleted_share(before: str, segments: Sequence[Segment]) -> float:
    """Return how much of `before` a change takes away, from 0 to 1, in characters that are not white space.

    A few words put in the place of others take away only what they are shorter by. What was moved is still there.
    """
    whole = _length(before)
    segments = [segment for segment in segments if not (segment.move and segment.kind == "removed")]
    gone = sum(_length(segment.text) for segment in segments if segment.kind == "removed")
    if gone < _REWORDING:
        gone = 0
        for segment, following in pairwise((*segments, Segment("same", ""))):
            if segment.kind == "removed":
                instead = _length(following.text) if following.kind == "added" else 0
                gone += max(_length(segment.text) - instead, 0)
    return gone / whole if whole else 0.0


def _deletes_much(share: float) -> Risk | None:
    if share < DELETES_MUCH_WARNING:
        return None
    return Risk("deletes_much", "danger" if share >= DELETES_MUCH_DANGER else "warning", {"percent": int(share * 100)})


def _length(text: str) -> int:
    return sum(map(len, text.split()))


def said_with(reasoning: str, evidence: Iterable[Mapping[str, Any]]) -> str:
    """Return what an agent says with a change and quotes for it: at most `MOST_SAID` characters, the reason first.

    Args:
        evidence: conversation turns `{role, content, at?}`.
    """
    return "\n\n".join(filter(None, [reasoning, *(turn["content"] for turn in evidence)]))[:MOST_SAID]


def _secrets(before: str, after: str, said: str, whole: tuple[str, str]) -> Risk | None:
    """Return the flag for secrets that a change adds, and for those the agent says that neither `whole` text has."""
    new, quoted = _new_secrets(after, before), _new_secrets(said, *whole)
    if not new and not quoted:
        return None
    return _risk(SECRETS, "danger", (*new, *quoted), **({"said": len(quoted)} if quoted else {}))


def _new_secrets(text: str, *known: str) -> list[str]:
    """Return the secrets of a text that none of those known has, masked."""
    found = list(credentials.find(text))
    if not found:  # the ordinary case, which costs one look
        return []
    had = {credential.value for each in known for credential in credentials.find(each)}
    return [credential.masked for credential in found if credential.value not in had]


def _hidden_characters(before: str, after: str) -> Risk | None:
    new = _added(_unseen(before), _unseen(after), lambda unseen: unseen.char)
    if not new:
        return None
    is_dangerous = any(unseen.kind in _DANGEROUS_KINDS for unseen in new)
    more = {"hide_others": True} if any(unseen.kind == "piled" for unseen in new) else {}
    level: Level = "danger" if is_dangerous else "warning"
    return _risk("hidden_characters", level, [f"{unseen.code} {unseen.name}" for unseen in new], **more)


def _not_shown(before: str, after: str, whole: tuple[str, str]) -> Risk | None:
    """Return the flag for words that Markdown drops, such as a cell too many; where they stand depends on all of it."""
    had = dropped(whole[0])
    if not had and _changes_words(before, after):
        return None
    new = _added(had, dropped(whole[1]), str)
    return _risk(NOT_SHOWN, "danger", new) if new else None


def _added(before: Iterable[T], after: Iterable[T], key: Callable[[T], object]) -> list[T]:
    """Return of what is found after the change what was not found as often before it."""
    had, new = Counter(map(key, before)), list[T]()
    for each in after:
        if had[key(each)]:
            had[key(each)] -= 1
        else:
            new.append(each)
    return new


def _unseen(text: str) -> Iterator[invisible.Hidden]:
    marks = sum(map(text.count, "\u200e\u200f\u061c"))
    # Beside letters that run from right to left, which are then many, a direction mark is part of the spelling.
    ordinary = {"direction_mark"} if marks and len(_RIGHT_TO_LEFT.findall(text)) >= 2 * marks else set()
    return (found for found in invisible.find(text) if found.kind not in invisible.HARMLESS | ordinary)


def _mixed_scripts(before: str, after: str, whole: str) -> Risk | None:
    # Where it stands in the text makes no difference.
    had, have = (invisible.stray_letters(text, whole) for text in (before, after))
    new: dict[str, list[str]] = {}
    for stray in _added(had, have, lambda stray: (stray.word, stray.letters)):
        letters = (f"{letter} {name}" for letter, name in zip(stray.letters, stray.names, strict=True))
        new.setdefault(stray.word, []).extend(letters)
    if not new:
        return None
    said = [f"{word}: {', '.join(dict.fromkeys(letters))}" for word, letters in new.items()]
    return _risk("mixed_scripts", "danger", said)


def _reads_like_instructions(before: str, after: str) -> Risk | None:
    # Only lines that are new can add an instruction; a megabyte of old ones need not be searched.
    old_lines = set(before.split("\n"))
    new_lines = [line for line in after.split("\n") if line not in old_lines]
    found = Counter(instructions("\n".join(new_lines)))
    if found:
        found -= Counter(instructions(before))
    if not found:
        return None
    is_override = any(instruction.is_override for instruction in found)
    shown = (instruction.snippet for instruction in sorted(found.elements(), key=lambda item: not item.is_override))
    return _risk("reads_like_instructions", "danger" if is_override else "warning", shown)


def _links_added(before: str, after: str, whole: tuple[str, str]) -> Risk | None:
    new = added_links(before, after, whole)
    if not new:
        return None
    is_dangerous = any(link.is_misleading for link in new)
    return _risk("links_added", "danger" if is_dangerous else "warning", [link.target for link in new])


def _contacts_added(before: str, after: str) -> Risk | None:
    had = set(_contacts(before))
    new = [contact for contact in _contacts(after) if contact not in had]
    return _risk("contacts_added", "info", new) if new else None


def _contacts(text: str) -> Iterator[str]:
    yield from _MAIL.findall(text)
    yield from _PHONE.findall(text)


def _risk(key: str, level: Level, found: Iterable[str], **more: Any) -> Risk:
    everything = list(found)
    examples = [example[:_LONGEST_EXAMPLE] for example in dict.fromkeys(everything)]
    return Risk(key, level, {"count": len(everything), "examples": examples[:_MOST_EXAMPLES], **more})
