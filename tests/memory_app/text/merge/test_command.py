"""`python -m memory_app.text.merge` prints what `git merge-file -p` prints, and ends with its exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure


def run(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> subprocess.CompletedProcess[bytes]:
    for name, content in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(content)
    return command(folder, "base", "ours", "theirs")


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).resolve().parents[4]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root)}  # no settings: it needs none
    call = [sys.executable, "-m", "memory_app.text.merge", *arguments]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, check=False)


def git(folder: Path) -> subprocess.CompletedProcess[bytes]:
    call = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    return subprocess.run(call, cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        pytest.param(b"a\n\nb\n\nc\n", b"x\n\nb\n\nc\n", b"a\n\nb\n\ny\n", id="clean"),
        pytest.param(b"a\nb\nc\n", b"a\nx\nc\n", b"a\ny\nc\n", id="one conflict"),
        pytest.param(b"a\n\n\n\nc\n", b"x\n\n\n\nz\n", b"y\n\n\n\nw\n", id="two conflicts"),
        pytest.param(b"a", b"x", b"y", id="no line end"),
        pytest.param(b"", b"x\n", b"y\n", id="from nothing"),
        pytest.param(b"a\r\nb\r\nc\r\n", b"a\r\nx\r\nc\r\n", b"a\r\ny\r\nc\r\n", id="CRLF"),
    ],
)
def test_it_prints_what_git_prints(tmp_path: Path, base: bytes, ours: bytes, theirs: bytes) -> None:
    done = run(tmp_path, base, ours, theirs)
    expected = git(tmp_path)
    assert (done.stdout, done.returncode) == (expected.stdout, expected.returncode)
    assert done.stderr == b""


def test_a_conflict_inside_a_line_is_marked_as_whole_lines(tmp_path: Path) -> None:
    done = run(tmp_path, b"One here. Two there.\nEnd.\n", b"One!! Two there.\nEnd.\n", b"One?? Two was there.\nEnd.\n")
    assert done.stdout.decode() == (
        "<<<<<<< ours\nOne!! Two was there.\n=======\nOne?? Two was there.\n>>>>>>> theirs\nEnd.\n"
    )
    assert done.returncode == 1


def test_many_conflicts_end_with_127(tmp_path: Path) -> None:
    base, ours, theirs = ("\n\n".join(f"{side} {number}" for number in range(200)) for side in ("b", "o", "t"))
    assert run(tmp_path, *(text.encode() for text in (base, ours, theirs))).returncode <= 127


@pytest.mark.parametrize(
    ("content", "says"), [(b"a\0b", "cannot merge binary files: theirs"), (b"\xff", "theirs is not UTF-8: byte 0")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    done = run(tmp_path, b"a\n", b"b\n", content)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (255, b"", f"error: {says}\n")


@pytest.mark.parametrize("labels", [["-L", "mine"], ["-L", "mine", "-L", "old", "-L", "a b"]], ids=["one", "all"])
def test_labels_stand_in_for_the_names_of_files(tmp_path: Path, labels: list[str]) -> None:
    for name, content in (("base", "a\n"), ("ours", "x\n"), ("theirs", "y\n")):
        (tmp_path / name).write_text(content)
    done = command(tmp_path, "-p", *labels, "base", "ours", "theirs")
    call = ["git", "merge-file", "-p", *labels, "ours", "base", "theirs"]
    expected = subprocess.run(call, cwd=tmp_path, capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (expected.stdout, expected.returncode)
    assert command(tmp_path, *["-L", "a"] * 4, "base", "ours", "theirs").returncode == 255


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    done = command(tmp_path, "a", "b", "c")
    assert (done.returncode, done.stderr.decode()) == (255, "error: cannot read a: No such file or directory\n")
    assert command(tmp_path, "a").returncode == 255
