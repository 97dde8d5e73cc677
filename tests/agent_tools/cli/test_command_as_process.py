"""The `memory` command as a process: from anywhere, on a terminal, and to its end."""

import os
import pty
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from memory_app import reads
from memory_app.search import index_state
from tests import environment
from tests.agent_tools.cli.conftest import SOME, Run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
#: `process("list", MEMORY_OWNER="alice")`, in the test's folder.
Process = Callable[..., subprocess.CompletedProcess[bytes]]
CALLED = [sys.executable, "-m", "agent_tools.cli"]


@pytest.fixture
def variables(server: str, token: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "MEMORY_URL": server, "MEMORY_TOKEN": token}


@pytest.fixture
def process(variables: dict[str, str]) -> Process:
    """The command by a server, with scribe's token for alice."""

    def start(*words: str, called: list[str] = CALLED, **more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*called, *words], env=variables | more, capture_output=True, timeout=60, check=False)

    return start


@pytest.fixture
def on_terminal(variables: dict[str, str]) -> Callable[..., tuple[int, str, str]]:
    """The command with a terminal as its stderr or stdout: its exit code, what it printed beside the terminal, and
    what the terminal showed."""

    def start(*arguments: str, stdin: bytes = b"", columns: int = 80, shows: str = "stderr") -> tuple[int, str, str]:
        here, there = pty.openpty()
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {shows: there}
        more = variables | {"COLUMNS": str(columns)}
        process = subprocess.Popen([*CALLED, *arguments], env=more, stdin=subprocess.PIPE, **streams)
        os.close(there)
        shown: list[bytes] = []

        def read() -> None:
            with suppress(OSError):  # the other end is closed: the process is over
                while some := os.read(here, 4096):
                    shown.append(some)

        reading = threading.Thread(target=read)
        reading.start()
        printed, errors = process.communicate(stdin, timeout=60)
        reading.join()
        os.close(here)
        return process.returncode, (printed or errors or b"").decode(), b"".join(shown).decode()

    return start


def test_it_works_from_anywhere_also_where_no_utf_8_is_shown(process: Process, remote: Run) -> None:
    remote("import", "-", stdin=SOME)
    done = process("show", "mem-2-bbbb", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"\\u2696\\ufe0f decision  mem-2-bbbb\n")
    done = process("show", "mem-2-aaaa")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"Error: Memory not found: mem-2-aaaa\n")


def test_by_a_server_it_needs_no_django(process: Process) -> None:
    done = process("list", called=[sys.executable, "-X", "importtime", *CALLED[1:]])
    assert done.stdout == b"No memories found.\n"
    assert b"httpx" in done.stderr
    assert b"django" not in done.stderr


def test_as_a_process_it_leaves_the_index_in_order_when_it_ends(local: Run, process: Process) -> None:
    """Cut off while it indexed, the process would leave its lease behind, and a search wait for a minute."""
    local("add", "She sails.")
    assert local("search", "sails", "--format", "quiet").stdout  # there is an index
    connections.close_all()
    done = process("add", "She rows.", MEMORY_URL="", MEMORY_TOKEN="", MEMORY_OWNER="alice")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {note.content for note in reads.notes("alice")} == {"She sails.", "She rows."}
    if environment.is_embedded():  # with servers a worker indexes after the change
        assert not index_state.is_behind("alice")
        assert not index_state.is_busy("alice")


def test_on_a_terminal_an_import_says_that_it_has_begun(on_terminal: Any) -> None:
    code, printed, shown = on_terminal("import", "-", stdin=SOME)
    assert (code, printed) == (0, "Imported: 3 new, 0 updated, 0 unchanged, 0 skipped.\n")
    assert "Importing …" in shown


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        (100, "ID          TYPE         CREATED     TAGS                CONTENT"),
        (36, "ID          CONTENT"),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns_and_no_broken_lines(
    remote: Run, on_terminal: Any, columns: int, first: str
) -> None:
    wide = f"## Context\n\n### mem-4-dddd\n> {'漢字 ' * 40}\n<!-- created: 2026-02-01 -->\n"
    remote("import", "-", stdin=SOME + wide.encode())
    code, _, shown = on_terminal("list", columns=columns, shows="stdout")
    lines = shown.splitlines()
    assert (code, lines[0], len(lines)) == (0, first, 5)
    for line in lines:
        doubled = [char for char in line if unicodedata.east_asian_width(char) in "WF"]
        assert len(line) + len(doubled) <= columns
    assert lines[1].endswith("…")
