"""What other memory files have is found: list items under headings, and dated entries."""

from datetime import date

import pytest

from assent_client.text import list_items
from assent_client.text.notes import MAX_TAG

DAY = date(2026, 11, 25)

#: A file, and each item as (heading, day, content).
FOUND: dict[str, tuple[str, list[tuple[str, date | None, str]]]] = {
    "bullets under headings": (
        "# Memory\n\nProse stays out.\n\n## Likes\n- Tea\n* Rowing\n+ [x] Chess\n\n## Work\n1. Uses uv\n2) Uses ruff\n",
        [
            ("Likes", None, "Tea"),
            ("Likes", None, "Rowing"),
            ("Likes", None, "Chess"),
            ("Work", None, "Uses uv"),
            ("Work", None, "Uses ruff"),
        ],
    ),
    "the export of other assistants": (
        "**Instructions**\n[2026-01-02] - Answer short.\n[unknown] - No emojis.\n\n"
        "- [2026-01-03] One page.\n2026-01-04: Two.",
        [
            ("Instructions", date(2026, 1, 2), "Answer short."),
            ("Instructions", None, "No emojis."),
            ("Instructions", date(2026, 1, 3), "One page."),
            ("Instructions", date(2026, 1, 4), "Two."),
        ],
    ),
    "nested items and lines that go on belong to their item": (
        "- Works in\n  - Leeds\n    - at home\n  - Freiburg,\n    in spring\n\n"
        "  since 2026\n- Rows\r\non Mondays\r\n\nNot of it.\n",
        [
            ("", None, "Works in\n- Leeds\n  - at home\n- Freiburg,\nin spring\nsince 2026"),
            ("", None, "Rows\non Mondays"),
        ],
    ),
    "front matter, code, comments and rules have none": (
        "---\ntags:\n- a\n---\n- One\n---\n```\n- b\n```\n"
        "<!-- - c -->\n<!--\n- d\n-->\n~~~\n- e\n~~~\n* * *\n-\n- Two\n",
        [("", None, "One"), ("", None, "Two")],
    ),
    "a rule at the start is no front matter": ("---\n- One\n", [("", None, "One")]),
    "a day that is none, or is to come, is no day": (
        "- [2026-13-40] One\n- [2027-01-01] Two\n",
        [("", None, "[2026-13-40] One"), ("", None, "Two")],
    ),
    "other scripts": ("## 好み\n- お茶が好き\n", [("好み", None, "お茶が好き")]),
    "prose": ("# A text\n\nWithout any list.\n", []),
}


@pytest.mark.parametrize(("text", "items"), FOUND.values(), ids=FOUND)
def test_items_are_found_with_their_heading_and_day(text: str, items: list[tuple[str, date | None, str]]) -> None:
    found = list_items.find(text, latest=DAY)
    assert [("".join(each.tags), each.created, each.content) for each in found.memories] == items
    assert found.skipped == ()


def test_what_no_note_can_be_is_told_with_its_line() -> None:
    found = list_items.find(f"- Tea\n- {'x' * 2_001}\n- Tea\n")
    assert [(each.line, each.reason) for each in found.skipped] == [
        (2, "the item has 2,001 characters, 1 over the limit of 2,000"),
        (3, "the same as in line 1"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "1 list item"),
        ("# x\n- a\n- b", "2 list items under 1 heading"),
        ("# x\n- a\n# y\n- b", "2 list items under 2 headings"),
    ],
)
def test_they_are_counted_in_words(text: str, said: str) -> None:
    assert list_items.find(text).counted == said


def test_a_section_of_the_format_gives_the_type_and_a_long_heading_is_cut() -> None:
    found = list_items.find(f"## Decisions\n- Use uv\n## {'A, long | heading ' * 9}\n- Rows\n- > quoted\n")
    assert found.skipped == ()
    long = f"{'A, long | heading ' * 9}"[:MAX_TAG]
    assert [(each.content, each.type, each.tags) for each in found.memories] == [
        ("Use uv", "decision", ("Decisions",)),
        ("Rows", "note", (long,)),
        ("> quoted", "note", (long,)),
    ]
    assert len({each.id for each in found.memories}) == 3
