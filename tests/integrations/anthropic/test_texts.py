"""The model reads what the package's own tool says, word for word, and after that what became of its write."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.integrations.anthropic.conftest import GOALS, Claude, Result, ran

ASKED = "a person will be asked to approve"


def local(folder: Path, goals: str, command: dict[str, Any]) -> Result:
    """What the package's own tool says, where a file has the text of the block."""
    tool = BetaLocalFilesystemMemoryTool(str(folder))
    (folder / "memories" / "blocks").mkdir()
    (folder / "memories" / "blocks" / "goals.md").write_text(goals, encoding="utf-8")
    return ran(tool, command)[0]


SAME = [
    {"command": "view", "path": GOALS},
    {"command": "view", "path": GOALS, "view_range": [2, 5]},
    {"command": "view", "path": GOALS, "view_range": [0, 2]},
    {"command": "view", "path": GOALS, "view_range": [34, 900]},
    {"command": "view", "path": "/memories/blocks/nothing.md"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "create", "path": GOALS, "file_text": "x"},
    {"command": "create", "path": "/memories/blocks", "file_text": "x"},
    {"command": "str_replace", "path": GOALS, "old_str": "not in it", "new_str": "x"},
    {"command": "str_replace", "path": GOALS, "old_str": "Stochastik", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/blocks/nothing.md", "old_str": "a", "new_str": "b"},
    {"command": "str_replace", "path": "/memories/blocks", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": GOALS, "insert_line": 9999, "insert_text": "x"},
    {"command": "insert", "path": GOALS, "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": "/memories/blocks/nothing.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/blocks", "insert_line": 0, "insert_text": "x"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/blocks/nothing.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/blocks/x.md"},
    {"command": "rename", "old_path": GOALS, "new_path": "/memories/blocks/goals.md"},
    {"command": "rename", "old_path": "/memories/blocks/nothing.md", "new_path": "/memories/blocks/x.md"},
]


@pytest.mark.parametrize("command", SAME, ids=lambda each: "-".join(map(str, each.values()))[:60])
def test_reads_and_refusals_are_those_of_the_packages_tool(
    claude: Claude, goals: str, tmp_path: Path, command: dict[str, Any]
) -> None:
    assert claude(command) == [local(tmp_path, goals, command)]


def test_an_edit_shows_the_packages_snippet_and_says_who_decides(claude: Claude, goals: str, tmp_path: Path) -> None:
    new = f"Third-year project {uuid.uuid4().hex[:6]}\nand a line"
    command = {"command": "str_replace", "path": GOALS, "old_str": "Third-year project", "new_str": new}
    expected = local(tmp_path, goals, command)
    (found,) = claude(command)
    assert not found.is_error
    assert found.lines[: len(expected.lines)] == expected.lines
    assert found.lines[len(expected.lines)] == (
        f"Proposed (#{found.proposal}): a person will be asked to approve this change. "
        "Until then the file reads as before."
    )


@pytest.mark.parametrize("line", [0, 3, 35])
def test_lines_are_proposed_where_the_package_puts_them(
    claude: Claude, memory: Any, goals: str, tmp_path: Path, line: int
) -> None:
    text = f"- Buy a notebook {uuid.uuid4().hex[:6]}.\n"
    command = {"command": "insert", "path": GOALS, "insert_line": line, "insert_text": text}
    expected = local(tmp_path, goals, command)
    (found,) = claude(command)
    assert (found.lines[0], found.is_error) == (expected.text, False)
    assert ASKED in found.lines[1]
    result = memory.call("get_proposal", proposal_id=found.proposal, max_characters=100_000)["data"]["result"]
    written = (tmp_path / "memories" / "blocks" / "goals.md").read_text(encoding="utf-8")
    assert result.rstrip("\n") == written.rstrip("\n")


def test_creating_renaming_and_deleting_begin_as_in_the_package(claude: Claude, tmp_path: Path, path: str) -> None:
    renamed = path.replace("habits", "routines")
    script: list[dict[str, Any]] = [
        {"command": "create", "path": path, "file_text": "Likes tea.\nWorks late.\n"},
        {"command": "view", "path": path},
        {"command": "str_replace", "path": path, "old_str": "tea", "new_str": "coffee"},
        {"command": "insert", "path": path, "insert_line": 1, "insert_text": "Gets up early.\n"},
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "rename", "old_path": path, "new_path": renamed},
        {"command": "view", "path": path},
        {"command": "view", "path": renamed, "view_range": [1, 2]},
        {"command": "delete", "path": renamed},
        {"command": "view", "path": renamed},
        {"command": "delete", "path": renamed},
    ]
    expected = ran(BetaLocalFilesystemMemoryTool(str(tmp_path)), *script)
    found = claude(*script)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.is_error == theirs.is_error, ours
        assert ours.lines[: len(theirs.lines)] == theirs.lines
    assert all(ASKED in each.text for each in (*found[:5], found[6], found[8]))
    assert "taken back" in found[9].text


def test_a_folder_is_listed_with_sizes_as_in_the_package(claude: Claude, goals: str) -> None:
    folders = ["/memories", "/memories/blocks", "/memories/notes"]
    root, blocks, notes, with_slash = claude(
        *({"command": "view", "path": each} for each in (*folders, "/memories/blocks/"))
    )
    for folder, shown in zip(folders, (root, blocks, notes), strict=True):
        assert shown.lines[0] == (
            f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items:"
        )
    assert with_slash.lines[2:] == blocks.lines[2:]
    size = next(line for line in blocks.lines if line.endswith(GOALS)).split("\t")[0]
    assert size.endswith("K")
    assert abs(float(size[:-1]) - len(goals.encode()) / 1024) < 0.1
    listed = [line.split("\t")[1] for line in root.lines if "\t" in line]
    assert listed[:2] == ["/memories", "/memories/blocks/"]
    assert "/memories/notes/" in listed
    assert {line.split("\t")[1] for line in blocks.lines if "\t/memories/blocks/" in line} <= set(listed)
