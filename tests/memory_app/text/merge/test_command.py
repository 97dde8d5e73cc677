"""`python -m memory_app.text.merge` prints what `git merge-file -p` prints, and ends with its exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

Texts = tuple[bytes, bytes, bytes]

MERGE = [sys.executable, "-m", "memory_app.text.merge"]
FILES = ["base", "ours", "theirs"]
ONE = (b"a\nb\nc\n", b"a\nx\nc\n", b"a\ny\nc\n")


def run(folder: Path, texts: Texts, command: list[str]) -> tuple[int, str, str]:
    """The exit code, the output and the errors of a command about three files."""
    for name, content in zip(FILES, texts, strict=True):
        (folder / name).write_bytes(content)
    root = Path(__file__).resolve().parents[4]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root)}  # no settings: it needs none
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        pytest.param((b"a\n\nb\n\nc\n", b"x\n\nb\n\nc\n", b"a\n\nb\n\ny\n"), "", id="clean"),
        pytest.param(ONE, "", id="one conflict"),
        pytest.param((b"a\n\n\n\nc\n", b"x\n\n\n\nz\n", b"y\n\n\n\nw\n"), "", id="two conflicts"),
        pytest.param((b"a", b"x", b"y"), "", id="no line end"),
        pytest.param((b"", b"x\n", b"y\n"), "", id="from nothing"),
        pytest.param((b"a\r\nb\r\nc\r\n", b"a\r\nx\r\nc\r\n", b"a\r\ny\r\nc\r\n"), "", id="CRLF"),
        pytest.param(ONE, "-L mine", id="one label"),
        pytest.param(ONE, "-L mine -L old -L theirs:a", id="all labels"),
    ],
)
def test_it_prints_what_git_prints(tmp_path: Path, texts: Texts, labels: str) -> None:
    git = run(tmp_path, texts, ["git", "merge-file", "-p", *labels.split(), "ours", "base", "theirs"])
    assert run(tmp_path, texts, [*MERGE, "-p", *labels.split(), *FILES]) == git
    assert git[2] == ""


def test_a_conflict_inside_a_line_is_marked_as_whole_lines(tmp_path: Path) -> None:
    texts = (b"One here. Two there.\nEnd.\n", b"One!! Two there.\nEnd.\n", b"One?? Two was there.\nEnd.\n")
    marked = "<<<<<<< ours\nOne!! Two there.\n=======\nOne?? Two was there.\n>>>>>>> theirs\nEnd.\n"
    code, printed, _ = run(tmp_path, texts, [*MERGE, *FILES])
    # What only one side changed is merged inside the line that the conflict is on.
    assert (code, printed) == (1, marked.replace("!! Two there", "!! Two was there"))


def test_many_conflicts_end_with_127(tmp_path: Path) -> None:
    base, ours, theirs = ("\n\n".join(f"{side} {number}" for number in range(200)).encode() for side in "bot")
    assert run(tmp_path, (base, ours, theirs), [*MERGE, *FILES])[0] <= 127


@pytest.mark.parametrize(
    ("theirs", "arguments", "says"),
    [
        (b"a\0b", FILES, "error: cannot merge binary files: theirs\n"),
        (b"\xff", FILES, "error: theirs is not UTF-8: byte 0\n"),
        (b"", ["a", "b", "c"], "error: cannot read a: No such file or directory\n"),
        (b"", ["a"], "error: the following arguments are required: OURS, THEIRS\n"),
        (b"", [*["-L", "a"] * 4, *FILES], "error: -L may be given three times\n"),
    ],
)
def test_what_cannot_be_merged_is_refused(tmp_path: Path, theirs: bytes, arguments: list[str], says: str) -> None:
    code, printed, error = run(tmp_path, (b"a\n", b"b\n", theirs), [*MERGE, *arguments])
    assert (code, printed) == (255, "")
    assert error.endswith(says)
