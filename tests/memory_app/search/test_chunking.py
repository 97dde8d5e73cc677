"""Cutting blocks, notes and conversations into what a search finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.search.ranking.chunking import (
    LONGEST_PASSAGE,
    ConversationMessage,
    chunks_of_block,
    chunks_of_conversation,
    chunks_of_note,
    cut,
    row_of,
    sections,
)
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

    assert [section for section, _ in sections(body)] == ["", "Code", "Next"]


def test_an_empty_block_is_one_chunk_with_its_title() -> None:
    (chunk,) = chunks_of_block(label="plan", title="Plan", body="\n\n", description="what to learn")

    assert chunk.meaning == "Plan\nwhat to learn"
    assert "plan" in row_of(1, chunk).terms.split()


def test_a_long_section_is_cut_at_paragraphs_first() -> None:
    paragraph = "Alice reads. " * 50
    chunks = chunks_of_block(label="plan", title="Plan", body=f"# A\n{paragraph}\n\n{paragraph}")

    assert [chunk.text for chunk in chunks] == [paragraph.rstrip(), paragraph]
    assert [chunk.order for chunk in chunks] == [0, 1]


@given(st.text(alphabet="ab .\n。", max_size=400), st.integers(10, 60))
def test_cutting_loses_nothing_but_space(text: str, longest: int) -> None:
    parts = cut(text, longest)

    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= longest for part in parts)


def test_a_text_without_any_place_to_cut_is_cut_at_the_limit() -> None:
    assert [len(part) for part in cut("x" * (LONGEST_PASSAGE + 1), LONGEST_PASSAGE)] == [LONGEST_PASSAGE, 1]


def test_a_note_of_the_full_length_is_one_chunk_and_its_tags_are_searched() -> None:
    (chunk,) = chunks_of_note(
        note_id="n", content="word " * 399 + "12345", tags=["school"], rationale="because of exams"
    )

    assert {"school", "exams"} <= set(row_of(1, chunk).terms.split())
    assert "exams" not in chunk.meaning


def test_messages_keep_their_place_when_they_are_long() -> None:
    messages = [
        ConversationMessage("a", "y" * 5_000, 0, "Alice"),
        ConversationMessage("b", " ", 1, "Ben"),
        ConversationMessage("c", "z", 2, "Ben"),
    ]
    chunks = chunks_of_conversation("s", messages)

    assert [chunk.item_id for chunk in chunks] == ["a", "a", "a", "c"]
    assert [chunk.order for chunk in chunks] == sorted(chunk.order for chunk in chunks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Did you go?", ExpressionKind.QUESTION),
        ("行きましたか？", ExpressionKind.QUESTION),
        ("I went yesterday", ExpressionKind.TIME),
        ("she has two dogs", ExpressionKind.NUMBER),
        ("we saw Anna there", ExpressionKind.NAME),
        ("wow, thanks", ExpressionKind.NONE),
    ],
)
def test_a_text_is_marked(text: str, expected: ExpressionKind) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When did she go?", ExpressionKind.TIME),
        ("how many dogs?", ExpressionKind.NUMBER),
        ("Who came?", ExpressionKind.NAME),
        ("what was said?", ExpressionKind.NONE),
    ],
)
def test_a_query_asks_for_a_kind_of_expression(query: str, expected: ExpressionKind) -> None:
    assert asked_kind(query)[0] is expected
