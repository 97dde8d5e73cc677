"""memories.md: read, written, and the same after both."""

import contextlib
import re
import time
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assent_client.text import list_items, memories_md
from assent_client.text.memories_md import Memory, Parsed, Skipped, Unreadable, parse, read, write
from assent_client.text.notes import MAX_CONTENT, MAX_TAG

pytestmark = pytest.mark.pure

PLAN = """\
# Memories

## Patterns

### mem-1737372000-a1b2
> This codebase uses barrel exports for all module boundaries.
> Each directory has an index.ts that re-exports public API.
<!-- tags: imports, structure | created: 2025-01-20 -->

## Decisions

## Fixes

### mem-1737390000-g7h8
> ECONNREFUSED on port 5432 means PostgreSQL isn't running. Fix: `docker-compose up -d`
<!-- tags: docker, debugging, database | created: 2025-01-21 -->

## Context

### mem-1737400000-i9j0
> The `ralph-core` crate is the shared library.
<!-- tags:  | created: 2025-01-21 -->
"""
DAY = date(2025, 1, 20)


def block(heading: str = "mem-1-aaaa", content: str = "> text", comment: str = "") -> str:
    return "\n".join(line for line in (f"### {heading}", content, comment) if line) + "\n"


def memory(id: str = "mem-1-aaaa", content: str = "text", type: str = "pattern", *tags: str, day: date = DAY) -> Memory:
    return Memory(id, type, content, tags, day)


# -- reading --------------------------------------------------------------------------------------


def test_the_plans_example_is_read_and_written_back_byte_for_byte() -> None:
    parsed = parse(PLAN)
    assert parsed.skipped == ()
    assert parsed.memories[0] == Memory(
        id="mem-1737372000-a1b2",
        type="pattern",
        content="This codebase uses barrel exports for all module boundaries.\n"
        "Each directory has an index.ts that re-exports public API.",
        tags=("imports", "structure"),
        created=date(2025, 1, 20),
    )
    assert [found.type for found in parsed.memories] == ["pattern", "fix", "context"]
    assert write(parsed.memories) == PLAN


@pytest.mark.parametrize(
    ("line", "means"),
    [("> a", "a"), (">", ""), ("> ", ""), (">  ", " "), (">a", "a"), (">  a", " a"), ("> > a", "> a")],
)
def test_a_quoted_line_is_read_without_its_mark(line: str, means: str) -> None:
    assert parse(block(content=f"> x\n{line}\n> y")).memories[0].content == f"x\n{means}\ny"


@pytest.mark.parametrize(
    ("comment", "tags", "created"),
    [
        ("", (), None),
        ("<!-- tags: a, b | created: 2025-01-20 -->", ("a", "b"), DAY),
        ("<!-- tags:  | created: 2025-01-20 -->", (), DAY),
        ("  <!-- tags: a,,b , | created: 2025-01-20 -->  ", ("a", "b"), DAY),
        ("<!-- created: 2025-01-20 | tags: a -->", ("a",), DAY),
        ("<!-- tags: a -->", ("a",), None),
        ("<!-- created: 2025-01-20 -->", (), DAY),
        ("<!-- asked tim about the tags: he agrees -->", (), None),
        ("<!-- tags: a | created: 2024-01-01 -->\n<!-- tags: b | created: 2025-01-20 -->", ("b",), DAY),
    ],
)
def test_tags_and_day_come_from_the_comment_and_may_be_missing(
    comment: str, tags: tuple[str, ...], created: date | None
) -> None:
    parsed = parse(block(comment=comment))
    assert parsed == Parsed((Memory("mem-1-aaaa", "pattern", "text", tags, created),), ())


@pytest.mark.parametrize(
    ("heading", "type"),
    [
        ("## Patterns", "pattern"),
        ("## Lessons Learned", "lesson_learned"),
        ("## Decisions we stand by", "decision"),
        ("##  Fixes  ", "fix"),
        ("Some words of the owner's.", "pattern"),
    ],
)
def test_the_section_says_the_type(heading: str, type: str) -> None:
    assert parse(f"# Memories\n\n{heading}\n\n{block()}").memories[0].type == type


def test_words_around_the_memories_are_left_alone() -> None:
    before = "Mine.\n> quoted, of nobody\n\n# Memories\n\nWhat I know.\n\n## Fixes\n\nMore words.\n\n"
    text = f"{before}{block()}\n# Else\n\nBye.\n"
    assert parse(text) == Parsed((Memory("mem-1-aaaa", "fix", "text"),), ())


def test_an_empty_file_and_the_template_hold_nothing() -> None:
    assert memories_md.TEMPLATE == "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    assert parse("") == parse(memories_md.TEMPLATE) == read(b"") == Parsed((), ())


def test_a_heading_alone_gets_an_id_of_its_content() -> None:
    first, second = parse("###\n> One.\n\n### \n> Two.\n").memories
    assert memories_md.is_id(first.id)
    assert memories_md.is_id(second.id)
    assert first.id != second.id
    again = parse("###\n> Two.\n\n###\n> Two.\n\n###\n")
    assert [memory.id for memory in again.memories] == [second.id]
    assert again.skipped == (
        Skipped(4, "the same memory as in line 1"),
        Skipped(7, "no content: its lines begin with `> `"),
    )


# -- what is skipped ------------------------------------------------------------------------------

NO_ID = f"“{{}}” is not an id such as {memories_md.EXAMPLE}; `###` alone gets a new one"


@pytest.mark.parametrize(
    ("malformed", "reason"),
    [
        (block("My great idea"), NO_ID.format("My great idea")),
        (block("mem-12-abcde"), NO_ID.format("mem-12-abcde")),
        (block("mem-12-ABCD"), NO_ID.format("mem-12-ABCD")),
        (block("mem-\u0661-aaaa"), NO_ID.format("mem-\u0661-aaaa")),
        (block("note-12"), NO_ID.format("note-12")),
        (block("x" * 70), NO_ID.format("x" * 60 + "…")),
        (block(content=""), "no content: its lines begin with `> `"),
        (block(content="> \n>"), "no content: its lines begin with `> `"),
        (block(content="words"), "no content: its lines begin with `> `"),
        (block(content="> " + "é" * 2_001), "content has 2,001 characters, 1 over the limit of 2,000"),
        (
            block(comment=f"<!-- tags: a, {'é' * 65} | created: 2025-01-20 -->"),
            f"a tag has more than 64 characters: “{'é' * 60}…”",
        ),
        (block(comment="<!-- created: 2025-02-30 -->"), "created is no day such as 2025-01-20: “2025-02-30”"),
        (block(comment="<!-- tags: a | created: today -->"), "created is no day such as 2025-01-20: “today”"),
        (block(comment="<!-- tags: a | created: 20250120 -->"), "created is no day such as 2025-01-20: “20250120”"),
    ],
)
def test_a_malformed_memory_is_skipped_with_its_line_and_the_rest_is_read(malformed: str, reason: str) -> None:
    parsed = parse(f"{block('mem-1-b001')}\n{malformed}\n{block('mem-1-b002')}")
    assert [found.id for found in parsed.memories] == ["mem-1-b001", "mem-1-b002"]
    assert parsed.skipped == (Skipped(4, reason),)


def test_memories_of_an_unknown_section_are_skipped_until_the_next_section() -> None:
    parsed = parse(f"## Ideas\n{block('mem-1-aaaa')}## Fixes\n{block('mem-1-bbbb')}")
    assert [found.id for found in parsed.memories] == ["mem-1-bbbb"]
    (skipped,) = parsed.skipped
    assert skipped.line == 2
    assert skipped.reason.startswith("“Ideas” is no section: Patterns, Decisions, Fixes, Context, Notes, Facts,")


def test_a_line_that_lost_its_mark_is_reported_in_its_place_and_the_memory_taken() -> None:
    parsed = parse(block("bad") + block(content="> one\ntwo") + block("worse"))
    assert [skipped.line for skipped in parsed.skipped] == [1, 5, 6]
    assert parsed.skipped[1].reason == "the text of a memory follows `> `; this line does not"
    assert [found.content for found in parsed.memories] == ["one"]


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("second", [block(content="> other"), block(content=""), f"## Ideas\n{block()}"])
def test_two_headings_with_one_id_refuse_the_file(second: str) -> None:
    with pytest.raises(Unreadable, match=r"^lines 1 and \d have the same id mem-1-aaaa: give one of them another$"):
        parse(block() + second)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00", "line 1 holds the character U+0000: this is no text file"),
        (PLAN.encode() + b"\x00", "line 23 holds the character U+0000: this is no text file"),
        (PLAN.encode("utf-16"), "the file is in UTF-16: save it as UTF-8"),
        ("### mem-1-aaaa\n> Müsli\n".encode("latin-1"), "the file is not text in UTF-8 (line 2): save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "the file is not text in UTF-8 (line 1): save it as UTF-8"),
    ],
)
def test_a_file_that_is_not_text_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(data)
    assert str(caught.value) == says
    with pytest.raises(Unreadable, match=re.escape("line 2 holds the character U+D83D")):
        parse("### mem-1-aaaa\n> \ud83d")


def test_a_file_of_50_mb_is_refused_before_it_is_looked_at() -> None:
    began = time.thread_time()
    with pytest.raises(memories_md.FileTooLarge, match=r"^the file has 50,000,000 bytes, more than the 33,554,432"):
        read(b"x" * 50_000_000)
    assert time.thread_time() - began < 1


#: What a file of 6 MB may be made of.
REPEATED = (
    *(
        "\r\n",
        "\n",
        "\r",
        "-",
        "-\n",
        "- ",
        "- a\n",
        "  - \n",
        "#",
        "#\n",
        "##\n",
        "## x\n",
        "###\n",
        " ",
        " \n",
        "\t\n",
        "|\n",
    ),
    *(
        "|",
        "> ",
        ">\n",
        "> a\n",
        "[",
        "<!--",
        "<!-- a -->\n",
        "1. a\n",
        "a",
        "x\n",
        "&#13;",
        "```\n",
        "\u2028",
        "---\n",
    ),
    *("[2026-03-01] - a\n", "**a\n", "a: b, c d e\n"),
)


@pytest.mark.parametrize("piece", REPEATED)
def test_a_file_of_one_thing_again_and_again_is_read_or_refused_at_once(piece: str) -> None:
    text = piece * (6_000_000 // len(piece.encode()))
    for begin in ("", "### mem-1-aaaa\n> a\n"):
        for reader in (parse, list_items.find):
            began = time.thread_time()
            with contextlib.suppress(Unreadable):
                reader(begin + text)
            assert time.thread_time() - began < 1
    if text.count("\n") > memories_md.MOST_LINES:
        with pytest.raises(Unreadable, match="lines, more than the 500,000"):
            parse(text)


def test_more_headings_than_may_be_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than the 100,000 memories"):
        parse("###\n" * (memories_md.MOST_MEMORIES + 1))


# -- writing --------------------------------------------------------------------------------------


def test_sections_come_in_the_plans_order_then_the_others_where_needed() -> None:
    written = write(memory(f"mem-1-000{number:x}", "x", kind) for number, kind in enumerate(memories_md.TYPES))
    assert " ".join(re.findall(r"^## .*$", written, re.MULTILINE)) == (
        "## Patterns ## Decisions ## Fixes ## Context ## Notes ## Facts ## Assumptions ## Hypotheses ## Discoveries"
        " ## Risks ## Unknowns ## Conventions ## Lessons Learned"
    )


def test_inside_a_section_memories_come_by_day_then_id() -> None:
    older = memory("mem-9-cccc", day=date(2024, 12, 31))
    written = write([memory("mem-2-aaaa"), memory("mem-1-bbbb"), older])
    assert re.findall(r"^### (.*)$", written, re.MULTILINE) == ["mem-9-cccc", "mem-1-bbbb", "mem-2-aaaa"]


def test_an_empty_line_is_a_bare_mark() -> None:
    assert "### mem-1-aaaa\n> one\n>\n> two\n<!-- tags:  | created: 2025-01-20 -->\n" in write(
        [memory(content="one\n\ntwo")]
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (memory(type="idea"), "mem-1-aaaa: there is no section for the type 'idea'"),
        (memory("idea-1"), "idea-1: is not an id of a memory"),
        (memory(content=" \n"), "mem-1-aaaa: has no content"),
        (Memory("mem-1-aaaa", "fix", "text"), "mem-1-aaaa: has no date"),
        (memory("mem-1-0000", type="note"), "mem-1-0000: there are two memories with this id"),
    ],
)
def test_a_memory_that_could_not_be_read_back_is_not_written(bad: Memory, reason: str) -> None:
    with pytest.raises(memories_md.Unwritable, match=f"^{re.escape(reason)}$"):
        write([memory("mem-1-0000"), bad])


# -- there and back -------------------------------------------------------------------------------

# Everything the format itself is made of, and what naive readers trip over.
_MARKUP = ("> ", ">", "# ", "## ", "## Patterns", "### ", "### mem-1-aaaa", "- ", "1. ", "---", "```", "~~~", "\\")
_COMMENTS = ("<!-- ", "-->", "<!-- tags: a | created: 2025-01-20 -->")
_REFERENCES = ("&#13;", "&amp;#13;", "&amp;amp;#13;", "&", "#13;", "#")
_SPACES = ("\n", "\n\n", "\r", "\r\n", " ", "  ", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\ufeff", "\u200b")
_FORMAT = st.sampled_from([*_MARKUP, *_COMMENTS, *_REFERENCES, *_SPACES, "\u202e", "é", "e\u0301", "😀", "字"])
_ANY = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
contents = (
    st.lists(_FORMAT | st.text(_ANY, max_size=12), min_size=1, max_size=30)
    .map("".join)
    .filter(lambda text: bool(text.strip()) and len(text) <= MAX_CONTENT)
)
tags = (
    st.lists(
        st.sampled_from([",", "|", "&#44;", "&", "#", ";", "-->", "\n", " ", "\t", "c++", "é"])
        | st.text(_ANY, max_size=8)
    )
    .map("".join)
    .filter(lambda tag: 0 < len(tag) <= MAX_TAG)
)
ids = st.from_regex(r"mem-[0-9]{1,20}-[0-9a-z]{4}", fullmatch=True) | st.uuids().map(lambda uuid: f"note-{uuid}")
memories = st.lists(
    st.builds(
        Memory,
        id=ids,
        type=st.sampled_from(memories_md.TYPES),
        content=contents,
        tags=st.lists(tags, max_size=4).map(tuple),
        created=st.dates(date(1900, 1, 1), date(2200, 12, 31)),
    ),
    max_size=6,
    unique_by=lambda memory: memory.id,
)


@pytest.mark.slow
@given(memories)
def test_whatever_a_note_holds_comes_back_exactly_also_with_windows_line_ends(wanted: list[Memory]) -> None:
    text = write(wanted)
    parsed = read(text.encode())
    in_order = sorted(wanted, key=lambda memory: (memories_md.TYPES.index(memory.type), memory.created, memory.id))
    assert parsed == Parsed(tuple(in_order), ())
    assert write(parsed.memories) == text
    assert read(("\ufeff" + text.replace("\n", "\r\n")).encode()) == parsed


@given(st.lists(_FORMAT | st.text(_ANY, max_size=12), max_size=40).map("".join))
@example("### mem-1-aaaa\n> a&#13;\n> b&amp;#13;\n<!-- tags: &#65;, &#0;, &#55357; -->")
def test_whatever_a_file_holds_is_read_and_then_stays_the_same(text: str) -> None:
    try:
        first = parse(text)
    except Unreadable:
        return
    dated = [Memory(m.id, m.type, m.content, m.tags, m.created or DAY) for m in first.memories]
    exported = write(dated)
    assert write(parse(exported).memories) == exported


@given(contents)
def test_other_readers_of_the_format_see_the_same_lines(content: str) -> None:
    """The plan's own reader: what it takes for content, but for empty lines, which it leaves out."""
    lines = write([memory(content=content)]).split("\n")
    seen = [line.removesuffix("\r") for line in lines if re.match(r"^> (.+)$", line.removesuffix("\r"))]
    assert len(seen) == sum(1 for line in content.split("\n") if line)
    assert sum(1 for line in lines if re.match(r"^### (mem-\d+-[0-9a-f]{4})", line)) == 1
    assert lines.count("<!-- tags:  | created: 2025-01-20 -->") == 1


@pytest.mark.parametrize(
    ("tag", "written"),
    [
        ("ci/cd", "ci/cd"),
        ("two words", "two words"),
        ("R&D", "R&D"),
        ("a,b", "a&#44;b"),
        ("a|b", "a&#124;b"),
        ("-->", "--&#62;"),
        (" x", "&#32;x"),
        ("x\n", "x&#10;"),
        ("&#44;", "&#38;#44;"),
    ],
)
def test_a_tag_is_escaped_only_where_it_has_to_be(tag: str, written: str) -> None:
    text = write([memory("mem-1-aaaa", "text", "fix", "first", tag)])
    assert f"<!-- tags: first, {written} | created: 2025-01-20 -->" in text
    assert parse(text).memories[0].tags == ("first", tag)


def test_ten_thousand_memories_are_written_and_read_within_seconds() -> None:
    content = "A sentence of everyday length, twice over.\n" * 5
    many = [memory(f"mem-{number}-aaaa", content, "fact", "a", "b") for number in range(10_000)]
    began = time.thread_time()
    assert len(parse(write(many)).memories) == 10_000
    assert time.thread_time() - began < 5


# -- ids ------------------------------------------------------------------------------------------


def test_a_new_id_is_the_second_and_four_hex_digits() -> None:
    found = re.fullmatch(r"mem-([0-9]+)-[0-9a-f]{4}", memories_md.new_id())
    assert found
    assert abs(int(found[1]) - time.time()) < 5
    assert memories_md.is_id(found[0])
    assert "\nmemory search --type fix --tags docker\n" in memories_md.SKILL, "the skill names the command as it is"
