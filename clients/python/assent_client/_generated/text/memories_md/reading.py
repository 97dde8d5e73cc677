"""Reading memories.md: what is well-formed is read, the rest reported with its line.

Lenient where people write by hand: text before the first memory, a heading without an id, a missing comment, a `>`
without the space, Windows line ends, a byte order mark. Strict where guessing could overwrite another memory: two
headings with one id refuse the whole file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from assent_client._generated.text.memories_md.escapes import unescape_line, unescape_tag
from assent_client._generated.text.memories_md.ids import EXAMPLE, id_of, is_id
from assent_client._generated.text.memories_md.memory import SECTIONS, Memory, Parsed, Skipped
from assent_client._generated.text.notes import MAX_CONTENT, MAX_TAG

#: Bytes. 10,000 memories of everyday length are 3 MB.
LARGEST_FILE = 32 * 1024 * 1024
#: Headings in one file. Without a bound the largest file could be eight million empty ones, and gigabytes of reasons.
MOST_MEMORIES = 100_000

_SECTION = re.compile(r"##(?!#)\s*(.*)")
_HEADING = re.compile(r"###(?!#)\s*(.*)")
_ID = re.compile(r"[a-z0-9-]+(?!\w)")
_COMMENT = re.compile(r"\s*<!--(.*)-->\s*")
_TAGS = re.compile(r"(?:^|\|)\s*tags:([^|]*)")
_CREATED = re.compile(r"(?:^|\|)\s*created:([^|]*)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PORTABLE = re.compile(r"\s*<!--\s*portable:")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")

# "Patterns" may be followed by more words ("Patterns we use"): other readers allow it.
_SECTIONS = re.compile(rf"({'|'.join(SECTIONS.values())})(?!\w)", re.IGNORECASE)
_TYPE_OF = {heading.lower(): kind for kind, heading in SECTIONS.items()}
_SHOWN = 60


class Unreadable(ValueError):
    """A file that is refused as a whole. The message is a sentence for people, without the full stop."""


class NotText(Unreadable):
    """The file is binary, or in another encoding than UTF-8."""


class FileTooLarge(Unreadable):
    """The file has more than `LARGEST_FILE` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(
            f"the file has {size:,} bytes, more than the {LARGEST_FILE:,} a memories.md may have: split it"
        )


class TooManyMemories(Unreadable):
    """The file has more than `MOST_MEMORIES` headings."""

    def __init__(self) -> None:
        super().__init__(f"the file has more than the {MOST_MEMORIES:,} memories one may have: split it")


class DuplicateId(Unreadable):
    """Two headings of the file have one id."""

    def __init__(self, id: str, first: int, second: int) -> None:
        self.id = id
        self.first = first
        self.second = second
        super().__init__(f"lines {first} and {second} have the same id {id}: give one of them another")


def read(data: bytes, *, latest: date | None = None) -> Parsed:
    """Return the memories in the bytes of a file. Raises FileTooLarge, and what `parse` raises."""
    if len(data) > LARGEST_FILE:
        raise FileTooLarge(len(data))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise NotText("the file is in UTF-16: save it as UTF-8")
    try:
        return parse(data.decode(), latest=latest)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotText(f"the file is not text in UTF-8 (line {line}): save it as UTF-8") from error


def parse(text: str, *, latest: date | None = None) -> Parsed:
    """Return the memories in the text of a file.

    A memory before any section is a pattern. One whose heading is `###` alone gets an id made of its content, so that
    the same file read again means the same memories. Content over `notes.MAX_CONTENT`, a tag over `notes.MAX_TAG`, an
    invalid day or id, an unknown section and a heading without content are skipped, each with its line. So is a day
    after `latest`, where that is given: a memory from the future would be the newest of all until then.

    Raises Unreadable: NotText when the text holds NUL or half of a surrogate pair, DuplicateId for two headings of
    one id, TooManyMemories.
    """
    if found := _NO_TEXT.search(text):
        at = text.count("\n", 0, found.start()) + 1
        raise NotText(f"line {at} holds the character U+{ord(found[0]):04X}: this is no text file")
    reader = _FileReader(latest)
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        reader.take(number, line.removesuffix("\r"))
    reader.end_block()
    skipped = tuple(sorted(reader.skipped, key=lambda skipped: skipped.line))
    return Parsed(tuple(reader.memories), skipped, reader.is_portable)


@dataclass
class _Block:
    """A heading and what has followed it so far."""

    line: int
    id: str
    type: str
    problem: str = ""
    content: list[str] = field(default_factory=list)
    tags: tuple[str, ...] = ()
    created: date | None = None
    stray: int = 0


class _FileReader:
    def __init__(self, latest: date | None) -> None:
        self._latest = latest
        self.memories: list[Memory] = []
        self.is_portable = False
        self.skipped: list[Skipped] = []
        self._type = "pattern"
        self._unknown_section = ""
        self._block: _Block | None = None
        self._lines: dict[str, int] = {}
        self._headings = 0

    def take(self, number: int, line: str) -> None:
        if line.startswith(">"):
            if self._block:
                self._block.content.append(unescape_line(line[1:].removeprefix(" ")))
        elif heading := _HEADING.fullmatch(line):
            self._begin_block(number, heading[1].strip())
        elif section := _SECTION.fullmatch(line):
            self._begin_section(section[1].strip())
        elif line.startswith("# "):
            self.end_block()
        elif not self._block or not line.strip():
            self.is_portable = self.is_portable or bool(_PORTABLE.match(line))
        elif comment := _COMMENT.fullmatch(line):
            _take_metadata(self._block, comment[1], self._latest)
        else:
            self._block.stray = self._block.stray or number

    def end_block(self) -> None:
        """Add the block read so far to the memories, or to what was skipped, with the reason."""
        block, self._block = self._block, None
        if block is None:
            return
        content = "\n".join(block.content)
        problem = block.problem or _problem_of(content)
        if not block.id and not problem:
            block.id = id_of(content)
            if self._lines.setdefault(block.id, block.line) != block.line:
                problem = f"the same memory as in line {self._lines[block.id]:,}"
        if problem:
            self.skipped.append(Skipped(block.line, problem))
            return
        self.memories.append(Memory(block.id, block.type, content, block.tags, block.created))
        if block.stray:
            self.skipped.append(Skipped(block.stray, "the text of a memory follows `> `; this line does not"))

    def _begin_section(self, heading: str) -> None:
        self.end_block()
        known = _SECTIONS.match(heading)
        self._unknown_section = "" if known else heading
        if known:
            self._type = _TYPE_OF[known[1].lower()]

    def _begin_block(self, number: int, heading: str) -> None:
        self.end_block()
        self._headings += 1
        if self._headings > MOST_MEMORIES:
            raise TooManyMemories
        start = _ID.match(heading)
        block = _Block(number, start[0] if start else "", self._type)
        if heading and not is_id(block.id):
            block.problem = f"{_quoted(heading)} is not an id such as {EXAMPLE}; `###` alone gets a new one"
        elif self._unknown_section:
            block.problem = f"{_quoted(self._unknown_section)} is no section: {', '.join(SECTIONS.values())}"
        if is_id(block.id) and self._lines.setdefault(block.id, number) != number:
            raise DuplicateId(block.id, self._lines[block.id], number)
        self._block = block


def _problem_of(content: str) -> str:
    if not content.strip():
        return "no content: its lines begin with `> `"
    over = len(content) - MAX_CONTENT
    if over > 0:
        return f"content has {len(content):,} characters, {over:,} over the limit of {MAX_CONTENT:,}"
    return ""


def _take_metadata(block: _Block, comment: str, latest: date | None) -> None:
    """Read tags and day from a comment; any other comment is ignored."""
    if tags := _TAGS.search(comment):
        named = (unescape_tag(tag.strip()) for tag in tags[1].split(","))
        block.tags = tuple(tag for tag in named if tag)
        if long := next((tag for tag in block.tags if len(tag.strip()) > MAX_TAG), None):
            block.problem = block.problem or f"a tag has more than {MAX_TAG} characters: {_quoted(long)}"
    if created := _CREATED.search(comment):
        day = created[1].strip()
        try:
            block.created = date.fromisoformat(day) if _DAY.fullmatch(day) else None
            if block.created and not 1900 <= block.created.year <= 2200:
                block.created = None
        except ValueError:
            block.created = None
        if block.created is None:
            block.problem = block.problem or f"created is no day such as 2025-01-20: {_quoted(day)}"
        elif latest and block.created > latest:
            block.problem = block.problem or f"the date {day} is in the future"


def _quoted(text: str) -> str:
    return f"“{text[:_SHOWN]}…”" if len(text) > _SHOWN else f"“{text}”"
