"""memories.md: notes as one Markdown file that people edit by hand and agents read as it is.

Belongs here: reading such a file, writing one, its sections and ids, the empty template and the skill
text that explains it to an agent. Pure functions, no Django.
Not here: storing what was read (`approvals.services`) and the `memory` command (`assent_client.cli`).

    # Memories

    ## Patterns

    ### mem-1737372000-a1b2
    > Barrel exports for all module boundaries.
    >
    > Each directory has an index.ts.
    <!-- tags: imports, structure | created: 2025-01-20 -->

What the format cannot express is written as numeric character references, which Markdown shows as
the character meant and which other readers of the format pass through. So every note comes back
exactly, and export → import → export gives the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from assent_client.text.notes import ID, MAX_CONTENT, MAX_TAG

#: Type → heading of its section, in the order of the file.
SECTIONS = {
    "pattern": "Patterns",
    "decision": "Decisions",
    "fix": "Fixes",
    "context": "Context",
    "note": "Notes",
    "fact": "Facts",
    "assumption": "Assumptions",
    "hypothesis": "Hypotheses",
    "discovery": "Discoveries",
    "risk": "Risks",
    "unknown": "Unknowns",
    "convention": "Conventions",
    "lesson_learned": "Lessons Learned",
}
TYPES = tuple(SECTIONS)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the format carries of a note.

    Attributes:
        type: a key of `SECTIONS`.
        created: the day (UTC) it was stored; None when the file does not say. A known note then keeps its day, and a
            new one gets today's.
    """

    id: str
    type: str
    content: str
    tags: tuple[str, ...] = ()
    created: date | None = None

    def as_json(self) -> dict[str, object]:
        """Return the fields as plain JSON."""
        created = self.created.isoformat() if self.created else None
        return asdict(self) | {"tags": list(self.tags), "created": created}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a file that was left out.

    Attributes:
        line: the line on which it begins, from 1.
        reason: why, for people, without a full stop.
    """

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file holds, in its order.

    Attributes:
        is_portable: it has, as it says, the four sections of `write_portable` alone, which tell no type.
    """

    memories: tuple[Memory, ...]
    skipped: tuple[Skipped, ...]
    is_portable: bool = False


#: For sentences that say what an id is; the export writes ids of this kind and of the other.
EXAMPLE = "note-0b5f6f0e-58a4-4a52-9a3e-6c1d3a0f9f10 or mem-1737372000-a1b2"

_OF_CONTENT = uuid.UUID("6f5f7f0a-6f0e-5d3c-9a52-2f6d5d0f4c11")


def is_id(text: str) -> bool:
    """Whether `text` is an id a note may have."""
    return ID.fullmatch(text) is not None


def id_of(content: str) -> str:
    """Return the id of a memory that came without one: the same for the same content."""
    return f"note-{uuid.uuid5(_OF_CONTENT, content)}"


def new_id() -> str:
    """Return an id for a memory stored now.

    65,536 of them share a second, so the caller makes another one should it be taken. Hex digits, as the format
    has it; its first examples, and so existing files, go to z, which is read too.
    """
    return f"mem-{int(time.time())}-{secrets.token_hex(2)}"


# What the format itself cannot express is two things: a carriage return at the end of a line, which every reader takes
# for part of the line end, and a tag with one of the characters that end a tag (comma, bar, line end, white space
# around it, `>`, which may close the comment). Both become numeric character references: `&#13;`, `&#44;`. Text that
# looks like one already gets its ampersand written as a reference, as in HTML.
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


#: Bytes. 10,000 memories of everyday length are 3 MB.
LARGEST_FILE = 32 * 1024 * 1024
#: Headings in one file. Without a bound the largest file could be eight million empty ones, and gigabytes of reasons.
MOST_MEMORIES = 100_000
#: Lines in one file. Without a bound, 6 MB of empty ones took 16 s on a busy server.
MOST_LINES = 500_000

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
TYPE_OF = {heading.lower(): kind for kind, heading in SECTIONS.items()}
_SHOWN = 60


class Unreadable(ValueError):
    """A file that is refused as a whole. The message is a sentence for people, without the full stop."""


class FileTooLarge(Unreadable):
    """The file has more than `LARGEST_FILE` bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"the file has {size:,} bytes, more than the {LARGEST_FILE:,} a memories.md may have: split it"
        )


def read(data: bytes, *, latest: date | None = None) -> Parsed:
    """Return the memories in the bytes of a file. Raises FileTooLarge, and what `parse` raises."""
    return parse(decoded(data), latest=latest)


def decoded(data: bytes) -> str:
    """Return the text of a file. Raises FileTooLarge, and Unreadable for what is not UTF-8."""
    if len(data) > LARGEST_FILE:
        raise FileTooLarge(len(data))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unreadable("the file is in UTF-16: save it as UTF-8")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"the file is not text in UTF-8 (line {line}): save it as UTF-8") from error


def parse(text: str, *, latest: date | None = None) -> Parsed:
    """Return the memories in the text of a file.

    A memory before any section is a pattern. One whose heading is `###` alone gets an id made of its content, so that
    the same file read again means the same memories. Content over `notes.MAX_CONTENT`, a tag over `notes.MAX_TAG`, an
    invalid day or id, an unknown section and a heading without content are skipped, each with its line. So is a day
    after `latest`, where that is given: a memory from the future would be the newest of all until then.

    Raises Unreadable for two headings of one id, for too many headings, and what `check` raises.
    """
    check(text)
    reader = _FileReader(latest)
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line and line != "\r":
            reader.take(number, line.removesuffix("\r"))
    reader.end_block()
    skipped = tuple(sorted(reader.skipped, key=lambda skipped: skipped.line))
    return Parsed(tuple(reader.memories), skipped, reader.is_portable)


def check(text: str) -> None:
    """Raise Unreadable for NUL, half of a surrogate pair and too many lines."""
    if (lines := text.count("\n")) > MOST_LINES:
        raise Unreadable(f"the file has {lines:,} lines, more than the {MOST_LINES:,} a memory file may have: split it")
    if found := _NO_TEXT.search(text):
        at = text.count("\n", 0, found.start()) + 1
        raise Unreadable(f"line {at} holds the character U+{ord(found[0]):04X}: this is no text file")


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
        elif line.startswith("#") and (heading := _HEADING.fullmatch(line)):
            self._begin_block(number, heading[1].strip())
        elif line.startswith("#") and (section := _SECTION.fullmatch(line)):
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
            self._type = TYPE_OF[known[1].lower()]

    def _begin_block(self, number: int, heading: str) -> None:
        self.end_block()
        self._headings += 1
        if self._headings > MOST_MEMORIES:
            raise Unreadable(f"the file has more than the {MOST_MEMORIES:,} memories one may have: split it")
        start = _ID.match(heading)
        block = _Block(number, start[0] if start else "", self._type)
        if heading and not is_id(block.id):
            block.problem = f"{_quoted(heading)} is not an id such as {EXAMPLE}; `###` alone gets a new one"
        elif self._unknown_section:
            block.problem = f"{_quoted(self._unknown_section)} is no section: {', '.join(SECTIONS.values())}"
        if is_id(block.id) and self._lines.setdefault(block.id, number) != number:
            lines = f"lines {self._lines[block.id]} and {number}"
            raise Unreadable(f"{lines} have the same id {block.id}: give one of them another")
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


#: Sections that every whole file has, so that people see where to write.
_ALWAYS = ("pattern", "decision", "fix", "context")


class Unwritable(ValueError):
    """A memory that no reader could read again."""

    def __init__(self, memory: Memory, reason: str) -> None:
        super().__init__(f"{memory.id}: {reason}")


def write(memories: Iterable[Memory], *, empty_sections: bool = True) -> str:
    """Return the file of `memories`, the same for the same memories in any order. Empty tags are left out.

    Args:
        empty_sections: with the headings every file has; without them it is for reading only.

    Raises Unwritable for a memory without a date or content, with an unknown type or a malformed id, and for
    the second one of an id.
    """
    wanted = list(memories)
    _check(wanted)
    wanted.sort(key=lambda memory: (memory.created or date.min, memory.id))
    parts = ["# Memories\n"]
    for kind, heading in SECTIONS.items():
        blocks = [write_block(memory) for memory in wanted if memory.type == kind]
        if blocks or (empty_sections and kind in _ALWAYS):
            parts += [f"## {heading}\n", *blocks]
    return "\n".join(parts)


def write_block(memory: Memory) -> str:
    """Return one memory as a file has it: heading, quoted content, comment."""
    tags = ", ".join(escape_tag(tag) for tag in memory.tags if tag)
    comment = f"<!-- tags: {tags} | created: {memory.created} -->\n"
    return "\n".join([f"### {memory.id}", quoted(memory.content), comment])


def quoted(content: str) -> str:
    """Return the lines of a memory's content as a file has them, without the last line end."""
    # A bare `>` for an empty line: editors that strip white space at the end of lines change nothing.
    return "\n".join(f"> {escape_line(line)}" if line else ">" for line in content.split("\n"))


def _check(memories: list[Memory]) -> None:
    seen: set[str] = set()
    for memory in memories:
        if memory.type not in SECTIONS:
            raise Unwritable(memory, f"there is no section for the type {memory.type!r}")
        if not is_id(memory.id):
            raise Unwritable(memory, "is not an id of a memory")
        if memory.id in seen:
            raise Unwritable(memory, "there are two memories with this id")
        if not memory.content.strip():
            raise Unwritable(memory, "has no content")
        if memory.created is None:
            raise Unwritable(memory, "has no date")
        seen.add(memory.id)


TEMPLATE = write(())


# Other readers know only the format's first four sections and ids `mem-{digits}-{4 hex digits}`: they skip a memory
# under another id and join its text to the one before. In a portable file the other types go into one of the four
# sections, and the other ids are replaced by ids derived from them, the same each time. A line at the top says that a
# file is of this form: importing it finds each memory again by its replaced id, and leaves its type as it is.

#: Which of the four sections the other types go into.
SECTION_OF: Mapping[str, str] = {
    "convention": "pattern",
    "lesson_learned": "fix",
    **dict.fromkeys(("note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown"), "context"),
}

MARK = "<!-- portable: other types are in these four sections, other ids are replaced; importing changes no type -->"

#: What a person or agent who exports one is told.
PORTABLE_EXPLAINED = (
    "Four sections only: conventions are under Patterns, lessons learned under Fixes, notes, facts, assumptions, "
    "hypotheses, discoveries, risks and unknowns under Context. Ids that are not mem-{digits}-{4 hex digits} are "
    "replaced by such ones, the same each time; importing the file finds their memories again and doubles none. "
    "Readers of this form leave out the empty lines of a memory."
)

_PORTABLE_ID = re.compile(r"mem-[0-9]+-[0-9a-f]{4}")
_SECONDS_OF_A_DAY = 24 * 60 * 60


def section_of(type: str) -> str:
    """Return the type whose section a memory of this type goes into."""
    return SECTION_OF.get(type, type)


def is_portable_id(id: str) -> bool:
    return _PORTABLE_ID.fullmatch(id) is not None


def replaced_ids(known: Iterable[tuple[str, date]]) -> dict[str, str]:
    """Return the id in a portable file for each of an owner's notes whose own id is not valid there.

    Args:
        known: id and day of all the owner's notes, outdated ones too, so that no two get the same.
    """
    notes = sorted(known)
    taken = {id for id, _ in notes if is_portable_id(id)}
    replaced: dict[str, str] = {}
    for id, day in notes:
        if not is_portable_id(id):
            replaced[id] = _unused(id, day, taken)
            taken.add(replaced[id])
    return replaced


def _unused(id: str, day: date, taken: set[str]) -> str:
    """Return an id from the hash of another: a second of the day and four digits. It is one of 5,662,310,400."""
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    attempt = 0
    while True:
        digits = hashlib.sha256(f"{id} {attempt}".encode()).hexdigest()
        made = f"mem-{max(0, midnight) + int(digits[:8], 16) % _SECONDS_OF_A_DAY}-{digits[8:12]}"
        if made not in taken:
            return made
        attempt += 1


def write_portable(memories: Iterable[Memory], ids: Mapping[str, str]) -> str:
    """Return the file, in the four sections.

    Args:
        ids: as `replaced_ids` gives them.

    Raises Unwritable, as `write` does.
    """
    written = write(replace(each, id=ids.get(each.id, each.id), type=section_of(each.type)) for each in memories)
    head, _, rest = written.partition("\n")
    return f"{head}\n\n{MARK}\n{rest}"


# The skill is what an agent is told about using memories: the text that the format came with, as far as it is true. It
# says that memories are above it, which is so only where some are.
_SKILL = Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
_NOT_INCLUDED = "No memories are shown here. Look for them when they may help; there are:"
_ON_REQUEST = """\
Memories are not in your context by themselves. Get those worth knowing at the start of your work, with the tool
`prime_memories` or `memory prime` on a command line; there are:"""


def skill(*, included: bool, on_request: bool = False) -> str:
    """Return the skill for a context with memories above it, or for one without any.

    Args:
        on_request: memories are never put into the context: the agent asks for them.
    """
    reading, beyond = _ON_REQUEST if on_request else _NOT_INCLUDED, ""
    if included:
        reading = "Memories are automatically included in your context. Review the `# Memories` section above for:"
        beyond = " beyond auto-injected context"
    return _SKILL.format(reading=reading, beyond=beyond, types=f"{', '.join(TYPES[:-1])} and {TYPES[-1]}")


SKILL = skill(included=True)
