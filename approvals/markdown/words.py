"""The words of a block before and after, as HTML with marks on what changed: words, emphasis, and where links lead.

What is compared is what a reader sees, so a word that only became bold is shown as removed and added, and so is one
that links elsewhere; the address is written out beside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from approvals.markdown import marks
from approvals.markdown.blocks import LINE_BREAK, Run, Style
from assent_client.text import invisible
from memory_app.text import worddiff

#: The label of unseen characters, which takes their place in a text before it is read.
_LABEL = re.compile(r"⟨U\+[0-9A-F]{4,6} [^⟨⟩\n]*⟩")
#: Each label is compared as one character. Those for private use come from nowhere else: in texts they have labels.
_FIRST, _LAST = 0xE100, 0xF8FF
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_STANDING_IN = re.compile(f"([{chr(_FIRST)}-{chr(_LAST)}{LINE_BREAK}])")


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that were kept, removed or added, in one style."""

    kind: worddiff.Kind
    text: str
    style: tuple[Style, ...]


class Marker:
    """Compares words and draws them; one for all blocks of a page, so that a label stays one character.

    Args:
        has_references: whether a text may say characters as `&#x200b;`, which have no labels before it is read.
    """

    def __init__(self, *, has_references: bool) -> None:
        self._has_references = has_references
        self._labels: list[str] = []
        self._codes: dict[str, str] = {}

    def compared(self, before: Sequence[Run], after: Sequence[Run]) -> list[Piece]:
        """Return the words of both, in reading order."""
        old, new = self._coded(before), self._coded(after)
        segments = worddiff.diff("".join(run.text for run in old), "".join(run.text for run in new))
        left, right = _RunCutter(old), _RunCutter(new)
        pieces: list[Piece] = []
        for segment in worddiff.with_replaced_paragraphs(segments):
            if segment.kind == "same":
                pieces += _restyled(left.take(len(segment.text)), right.take(len(segment.text)))
            else:
                runs = (left if segment.kind == "removed" else right).take(len(segment.text))
                pieces += (Piece(segment.kind, run.text, run.style) for run in runs)
        shared = {style for run in old for style in run.style} & {style for run in new for style in run.style}
        return list(_with_addresses(pieces, shared))

    def whole(self, kind: worddiff.Kind, runs: Sequence[Run]) -> list[Piece]:
        """Return words that are all of one kind."""
        pieces = [Piece(kind, run.text, run.style) for run in self._coded(runs)]
        return pieces if kind == "same" else list(_with_addresses(pieces, set()))

    def html(self, pieces: Sequence[Piece]) -> str:
        """Return HTML that still has to be sanitised: attributes are escaped, but addresses may be of any scheme."""
        shown: list[str] = []
        open_ones: tuple[Style, ...] = ()
        before: str = "same"
        for piece in pieces:
            kept = _common(open_ones, piece.style)
            shown += (f"</{tag}>" for _type, tag, _attributes in reversed(open_ones[kept:]))
            shown += map(_opening, piece.style[kept:])
            open_ones = piece.style
            shown.append(self._drawn(piece, is_said=piece.kind != before))
            before = piece.kind
        shown += (f"</{tag}>" for _type, tag, _attributes in reversed(open_ones))
        return "".join(shown)

    def code(self, segments: Sequence[worddiff.Segment]) -> str:
        """Return a code's text; its blanks are those of the source."""
        return "".join(self._drawn(Piece(segment.kind, self._of(segment.text), ())) for segment in segments)

    def _coded(self, runs: Sequence[Run]) -> list[Run]:
        return [Run(self._of(run.text), run.style) for run in runs]

    def _of(self, text: str) -> str:
        if not self._has_references and "⟨" not in text:
            return text  # looking at each text again took a tenth of a long page
        parts = text.split(LINE_BREAK)
        return LINE_BREAK.join(_LABEL.sub(self._code, invisible.plain(part)) for part in parts)

    def _code(self, label: re.Match[str]) -> str:
        code = self._codes.get(label[0])
        if code is None:
            if len(self._labels) > _LAST - _FIRST:
                return label[0]
            code = self._codes[label[0]] = chr(_FIRST + len(self._labels))
            self._labels.append(label[0])
        return code

    def _drawn(self, piece: Piece, *, is_said: bool = True) -> SafeString:
        if piece.text == LINE_BREAK:
            sign = SafeString("↵") if piece.kind != "same" else SafeString()
            return SafeString(f"{marks.changed(piece.kind, sign, is_said=is_said)}<br>")
        parts = _STANDING_IN.split(piece.text)
        if len(parts) == 1:
            return marks.segment(piece.kind, piece.text, is_said=is_said)
        drawn = "".join(self._one(part) if number % 2 else marks.marked(part) for number, part in enumerate(parts))
        return marks.changed(piece.kind, SafeString(drawn), is_said=is_said)

    def _one(self, code: str) -> str:
        return "<br>" if code == LINE_BREAK else marks.mark(self._labels[ord(code) - _FIRST])


def lines_of(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces cut at the line ends of either text, each at the end of its line."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        for part in _LINES.findall(piece.text):
            lines[-1].append(Piece(piece.kind, part, piece.style))
            if part.endswith("\n"):
                lines.append([])
    return lines if lines[-1] else lines[:-1]


class _RunCutter:
    """Runs, handed out by their length in characters."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = iter(runs)
        self._rest: Run | None = None

    def take(self, length: int) -> list[Run]:
        taken: list[Run] = []
        while length:
            run = self._rest or next(self._runs)
            part = run.text[:length]
            taken.append(Run(part, run.style))
            self._rest = Run(run.text[length:], run.style) if len(run.text) > length else None
            length -= len(part)
        return taken


def _restyled(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Piece]:
    """Yield words that are in both, as removed and added where they look or lead otherwise."""
    changed: list[tuple[Run, Run]] = []

    def both() -> Iterator[Piece]:
        yield from (Piece("removed", old.text, old.style) for old, _new in changed)
        yield from (Piece("added", new.text, new.style) for _old, new in changed)
        changed.clear()

    left, right = _RunCutter(before), _RunCutter(after)
    at_before, at_after = _ends(before), _ends(after)
    start = 0
    for end in sorted(at_before | at_after):
        [old], [new] = left.take(end - start), right.take(end - start)
        start = end
        if old.style == new.style:
            yield from both()
            yield Piece("same", new.text, new.style)
        else:
            changed.append((old, new))
    yield from both()


def _ends(runs: Sequence[Run]) -> set[int]:
    ends: set[int] = set()
    at = 0
    for run in runs:
        at += len(run.text)
        ends.add(at)
    return ends


def _with_addresses(pieces: Sequence[Piece], shared: set[Style]) -> Iterator[Piece]:
    """Yield the pieces, each new or removed link followed by where it leads."""
    for number, piece in enumerate(pieces):
        yield piece
        link = _link(piece)
        if piece.kind == "same" or link is None or link in shared:
            continue
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        if following is None or following.kind != piece.kind or _link(following) != link:
            said = " ".join(value for name, value in link[2] if value and (name == "title" or value != piece.text))
            if said:
                yield Piece(piece.kind, f" ({said})", ())


def _link(piece: Piece) -> Style | None:
    return next((style for style in piece.style if style[0] == "link"), None)


def _common(one: Sequence[Style], other: Sequence[Style]) -> int:
    count = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        count += 1
    return count


def _opening(style: Style) -> str:
    _type, tag, attributes = style
    address = dict(attributes).get("href")
    return f"<{tag}>" if address is None else f'<{tag} href="{html.escape(address)}">'
