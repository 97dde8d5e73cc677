"""Cutting blocks, notes and conversations into what a search finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.search.ranking import chunking
from memory_app.search.ranking.chunking import chunks_of_block, chunks_of_message, chunks_of_note, row_of
from memory_app.search.ranking.query import ExpressionKind, asked_kind, marks

pytestmark = pytest.mark.pure


def test_a_block_is_cut_at_its_sections_and_keeps_their_path() -> None:
    body = "start\n# Goals\npass\n## Algebra\nsolve\n# Habits #\nread\n"

    assert [(chunk.section, chunk.text) for chunk in chunks_of_block(label="plan", title="Plan", body=body)] == [
        ("", "start"),
        ("Goals", "pass"),
        ("Goals › Algebra", "solve"),
        ("Habits", "read"),
    ]


def test_a_header_in_a_code_fence_is_no_header() -> None:
    body = "# Code\n```sh\n# not a header\n~~~\n````\nafter\n# Next\nx"

    assert [section for section, _ in chunking.sections(body)] == ["", "Code", "Next"]


def test_an_empty_block_is_one_chunk_with_its_title() -> None:
    (chunk,) = chunks_of_block(label="plan", title="Plan", body="\n\n", description="what to learn")

    assert chunk.meaning == "Plan\nwhat to learn"
    assert "plan" in row_of(1, chunk).terms.split()


def test_a_long_section_is_cut_at_paragraphs_first() -> None:
    paragraph = "Alice reads. " * 50
    chunks = chunks_of_block(label="plan", title="Plan", body=f"# A\n{paragraph}\n\n{paragraph}")

    assert [chunk.text for chunk in chunks] == [paragraph.rstrip(), paragraph]
    assert [chunk.order for chunk in chunks] == [0, 1]
    # Without any place to cut, at the limit.
    assert [len(part) for part in chunking.cut("x" * 61, 60)] == [60, 1]


@given(st.text(alphabet="ab .\n。", max_size=400), st.integers(10, 60))
def test_cutting_loses_nothing_but_space(text: str, longest: int) -> None:
    parts = chunking.cut(text, longest)

    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= longest for part in parts)


def test_a_note_of_the_full_length_is_one_chunk_and_its_tags_are_searched() -> None:
    (chunk,) = chunks_of_note(note_id="n", content="word " * 399 + "12345", tags=["school"], rationale="for exams")
    assert {"school", "exams"} <= set(row_of(1, chunk).terms.split())
    assert "exams" not in chunk.meaning


def test_messages_keep_their_place_when_they_are_long() -> None:
    said = enumerate(["y" * 5_000, " ", "z"])
    chunks = [chunk for at, text in said for chunk in chunks_of_message("s", str(at), text, sequence=at, author="Ben")]
    assert [chunk.item_id for chunk in chunks] == ["0", "0", "0", "2"]
    assert [chunk.order for chunk in chunks] == sorted(chunk.order for chunk in chunks)


@pytest.mark.parametrize(
    ("text", "kind", "asked"),
    [
        ("Did you go?", ExpressionKind.QUESTION, ExpressionKind.NONE),
        ("行きましたか？", ExpressionKind.QUESTION, ExpressionKind.NONE),
        ("I went yesterday", ExpressionKind.TIME, ExpressionKind.NONE),
        ("she has two dogs", ExpressionKind.NUMBER, ExpressionKind.NONE),
        ("we saw Anna there", ExpressionKind.NAME, ExpressionKind.NONE),
        ("wow, thanks", ExpressionKind.NONE, ExpressionKind.NONE),
        ("When did she go?", ExpressionKind.QUESTION, ExpressionKind.TIME),
        ("how many dogs?", ExpressionKind.QUESTION, ExpressionKind.NUMBER),
        ("Who came?", ExpressionKind.QUESTION, ExpressionKind.NAME),
    ],
)
def test_a_text_has_one_kind_of_expression_and_a_query_asks_for_one(
    text: str, kind: ExpressionKind, asked: ExpressionKind
) -> None:
    assert marks(text) == kind
    assert asked_kind(text)[0] is asked
