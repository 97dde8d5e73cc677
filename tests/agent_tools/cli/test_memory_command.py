"""The `memory` command against a server that answers as the agent API's contract says."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assent_client.cli.commands import memory
from assent_client.text import memories_md
from tests.agent_tools.cli.memory_server import TOKEN, Contract, serving

pytestmark = pytest.mark.pure

Run = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def server() -> Iterator[Contract]:
    with serving() as contract:
        yield contract


@pytest.fixture
def run(server: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("list", "--last", "2")` in an empty folder, as somebody with a token for alice."""
    monkeypatch.chdir(tmp_path)
    for name in ("MEMORY_URL", "MEMORY_TOKEN", "MEMORY_OWNER"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: str, stdin: bytes | None = None, **environment: str | None) -> Result:
        given = {"MEMORY_URL": server.url, "MEMORY_TOKEN": TOKEN} | environment
        return CliRunner().invoke(memory, arguments, input=stdin, env=given, prog_name="memory")

    return invoke


@pytest.fixture
def some(server: Contract) -> Contract:
    """Three memories, the fix being the newest."""
    server.put("mem-1-aaaa", "Barrel exports for all module boundaries.", "pattern", "imports", "structure")
    server.put("mem-2-bbbb", "Chose Zod for validation.\n\nIt infers types.", "decision", "validation")
    server.put("mem-3-cccc", "ECONNREFUSED means start docker.", "fix", "docker", at="2026-01-06T00:00:00+00:00")
    return server


def test_add_stores_a_memory_under_an_id_of_its_own(run: Run, server: Contract) -> None:
    done = run("add", "uses barrel exports", "--type", "decision", "--tags", "imports, structure,")
    (id,) = server.notes
    assert done.stdout == f"📝 Memory stored: {id}\n"
    assert (done.exit_code, done.stderr) == (0, "")
    assert re.fullmatch(r"mem-[0-9]{10}-[0-9a-f]{4}", id)
    assert server.notes[id] | {"created_at": ""} == {
        "id": id,
        "type": "decision",
        "content": "uses barrel exports",
        "tags": ["imports", "structure"],
        "created_at": "",
    }


@pytest.mark.parametrize("words", ["add x", "delete mem-1-aaaa", "prime"])
def test_what_people_decided_is_told_beside_the_output(run: Run, some: Contract, words: str) -> None:
    some.decided = [{"proposal_id": 7, "text": "Proposal 7 for block 'goals' was rejected by alice (wrong): No.\x1b"}]
    done = run(*words.split())
    assert (done.exit_code, "Proposal 7" in done.stdout) == (0, False)
    assert done.stderr == (
        "Decided since you were last told:\n"
        "- Proposal 7 for block 'goals' was rejected by alice (wrong): No.⟨U+001B ESCAPE⟩\n"
        "(3 more: list_proposals with decided_since abc.)\n"
    )
    assert run("add", "She rows.").stderr == ""


def test_add_prints_the_id_alone_or_the_memory_which_is_a_pattern_otherwise(run: Run, server: Contract) -> None:
    done = run("add", "chose Zod", "-t", "decision", "--format", "quiet")
    assert done.stdout.splitlines() == list(server.notes)
    stored = json.loads(run("add", "chose Zod", "--tags", "a,b", "--format", "json").stdout)
    assert server.notes[stored.pop("id")]["type"] == "pattern"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored.pop("created"))
    assert stored == {"type": "pattern", "content": "chose Zod", "tags": ["a", "b"], "status": "applied"}


def test_add_tries_another_id_when_one_is_taken(run: Run, server: Contract) -> None:
    server.taken = 2
    assert run("add", "x").exit_code == 0
    assert len({request.arguments["memory_id"] for request in server.requests}) == 3


def test_what_waits_for_a_person_is_not_called_stored(run: Run, some: Contract) -> None:
    some.policy = "review"
    asked = "The user will be asked to approve this change.\nhttp://assent.test/proposals/12/\n"
    assert re.fullmatch(rf"📝 Memory proposed: mem-\d+-[0-9a-f]{{4}}\n{re.escape(asked)}", run("add", "x").stdout)
    assert run("delete", "mem-1-aaaa").stdout == f"🗑️  Deletion proposed: mem-1-aaaa\n{asked}"


def test_a_refusal_of_the_server_is_said_and_exits_with_1(run: Run, server: Contract) -> None:
    done = run("add", "x" * 2_001)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == ("Error: Content must have at most 2,000 characters, this is 1 over.\n")


def test_nothing_to_store_is_said_in_words_of_the_command(run: Run, server: Contract) -> None:
    for content in ("", "  "):
        done = run("add", content)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == "Error: There is nothing to store: the content is empty.\n"
    assert server.requests == []


def test_prime_takes_all_days_as_the_settings_do_and_explains_its_types(run: Run, some: Contract) -> None:
    assert run("prime", "--recent", "0").exit_code == 0
    helped = " ".join(run("prime", "--help").stdout.split())
    assert "Only memories of these comma-separated types: pattern, decision, fix" in helped


def test_list_shows_a_table_newest_first(run: Run, some: Contract) -> None:
    assert run("list").stdout.splitlines() == [
        "ID          TYPE         CREATED     TAGS                CONTENT",
        "mem-3-cccc  🔧 fix       2026-01-06  docker              ECONNREFUSED means start docker.",
        "mem-2-bbbb  ⚖️ decision  2026-01-05  validation          Chose Zod for validation. It infers types.",
        "mem-1-aaaa  🔄 pattern   2026-01-05  imports, structure  Barrel exports for all module boundaries.",
    ]


def test_list_is_cut_and_printed_as_asked(run: Run, some: Contract) -> None:
    assert run("list", "--last", "2", "--format", "quiet").stdout == "mem-3-cccc\nmem-2-bbbb\n"
    assert run("list", "-t", "pattern", "--format", "quiet").stdout == "mem-1-aaaa\n"
    assert json.loads(run("list", "--format", "json").stdout)[1] == {
        "id": "mem-2-bbbb",
        "type": "decision",
        "content": "Chose Zod for validation.\n\nIt infers types.",
        "tags": ["validation"],
        "created": "2026-01-05",
    }
    printed = run("list", "--format", "markdown").stdout
    assert printed == run("export").stdout
    assert len(memories_md.parse(printed).memories) == 3


def test_list_reads_every_page(run: Run, server: Contract) -> None:
    for number in range(450):
        server.put(f"mem-{number}-aaaa", "x")
    assert len(run("list", "--format", "quiet").stdout.splitlines()) == 450
    assert len(run("list", "--last", "201", "--format", "quiet").stdout.splitlines()) == 201


def test_an_empty_memory_says_so(run: Run) -> None:
    assert run("list").stdout == "No memories found.\n"
    assert run("search", "x", "--format", "json").stdout == "[]\n"
    assert run("list", "--format", "quiet").stdout == ""


def test_search_finds_ten_of_those_with_the_words_a_tag_and_the_type(run: Run, some: Contract) -> None:
    assert run("search", "--tags", "docker,imports", "--format", "quiet").stdout == "mem-3-cccc\nmem-1-aaaa\n"
    assert run("search", "--type", "fix", "--tags", "docker,imports", "--format", "quiet").stdout == "mem-3-cccc\n"
    assert run("search", "zod", "--format", "quiet").stdout == "mem-2-bbbb\n"
    for number in range(25):
        some.put(f"mem-{number}-dddd", "authentication")
    assert len(run("search", "authentication", "--format", "quiet").stdout.splitlines()) == 10
    assert len(run("search", "authentication", "--all", "--format", "quiet").stdout.splitlines()) == 25


def test_show_prints_one_memory_in_full(run: Run, some: Contract) -> None:
    assert run("show", "mem-2-bbbb").stdout == (
        "⚖️ decision  mem-2-bbbb\nCreated: 2026-01-05\nTags:    validation\n\n"
        "Chose Zod for validation.\n\nIt infers types.\n"
    )
    assert run("show", "mem-2-bbbb", "--format", "markdown").stdout == (
        "### mem-2-bbbb\n> Chose Zod for validation.\n>\n> It infers types.\n"
        "<!-- tags: validation | created: 2026-01-05 -->\n"
    )
    assert json.loads(run("show", "mem-2-bbbb", "--format", "json").stdout)["tags"] == ["validation"]
    assert run("show", "mem-2-bbbb", "--format", "quiet").stdout == "mem-2-bbbb\n"


@pytest.mark.parametrize("id", ["mem-1737372000-a1b2", "../../tools", "a/b?c#d", "é", ""])
@pytest.mark.parametrize("subcommand", ["show", "delete"])
def test_an_unknown_id_is_said_on_stderr_and_exits_with_1(run: Run, some: Contract, subcommand: str, id: str) -> None:
    done = run(subcommand, id)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: Memory not found: {id}\n")
    assert len(some.notes) == 3


def test_unseen_characters_in_a_memory_are_printed_by_name(run: Run, server: Contract) -> None:
    server.put("mem-1-aaaa", "a\x1b[2Jb \u202edrawkcab\nc", "fix", "\x07")
    assert "⟨U+001B ESCAPE⟩[2Jb ⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩drawkcab c" in run("list").stdout
    assert "⟨U+0007 BELL⟩" in run("show", "mem-1-aaaa").stdout
    as_json = run("show", "mem-1-aaaa", "--format", "json").stdout
    assert "\x1b" not in as_json
    assert "\u202e" not in as_json
    assert json.loads(as_json)["content"] == "a\x1b[2Jb \u202edrawkcab\nc"
    assert "> a\x1b[2Jb \u202edrawkcab\n" in run("show", "mem-1-aaaa", "--format", "markdown").stdout


def test_delete_removes_a_memory(run: Run, some: Contract) -> None:
    assert run("delete", "mem-2-bbbb").stdout == "🗑️  Memory deleted: mem-2-bbbb\n"
    assert list(some.notes) == ["mem-1-aaaa", "mem-3-cccc"]


def test_prime_prints_the_text_for_a_context_as_it_comes(run: Run, server: Contract) -> None:
    assert run("prime").stdout == "# Memories\n\nbudget 0 {}\n"
    done = run("prime", "--budget", "2000", "--type", "fix,pattern", "--tags", "a", "--recent", "30")
    assert done.stdout == "# Memories\n\nbudget 2000 {'types': ['fix', 'pattern'], 'tags': ['a'], 'recent': 30}\n"
    assert json.loads(run("prime", "--format", "json", "--recent", "1").stdout) == {"recent": 1}


def test_init_makes_the_template_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / ".agent" / "memories.md"
    assert run("init").stdout == "Created .agent/memories.md\n"
    assert file.read_text() == "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    file.write_text("mine")
    done = run("init")
    assert (done.exit_code, done.stderr) == (1, "Error: .agent/memories.md exists already; --force overwrites it.\n")
    assert file.read_text() == "mine"
    run("init", "--force")
    assert file.read_text() == memories_md.TEMPLATE


def test_export_then_import_then_export_is_the_same_to_the_byte(run: Run, some: Contract, tmp_path: Path) -> None:
    some.put("mem-4-dddd", "ends in a carriage return\r\nand > quotes\n\n```\n# code\n```", "fact", "a,b", "|")
    exported = run("export").stdout_bytes
    assert run("export", "out/memories.md").stdout == "Written out/memories.md\n"
    assert (tmp_path / "out" / "memories.md").read_bytes() == exported
    some.notes.clear()
    assert run("import", "out/memories.md").stdout == "Imported: 4 new, 0 updated, 0 unchanged, 0 skipped.\n"
    assert run("export", "-").stdout_bytes == exported


def test_an_import_whose_time_was_up_may_be_sent_again(run: Run, server: Contract) -> None:
    error = {"code": "timeout", "message": "It took longer than 600 seconds and was stopped.", "details": {}}
    server.fixed = (504, "application/json", json.dumps({"ok": False, "text": "", "error": error}).encode())
    done = run("import", "-", "--owner", "alice", stdin=b"### mem-1-aaaa\n> x\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: It took longer than 600 seconds and was stopped. Import the file again: nothing is doubled. If that "
        "takes too long as well, split it.\n"
    )


def test_import_reads_the_usual_file_or_standard_input(run: Run, server: Contract) -> None:
    text = memories_md.write([memories_md.parse("### mem-1-aaaa\n> x\n<!-- created: 2026-01-05 -->").memories[0]])
    run("init")
    Path(".agent/memories.md").write_text(text)
    assert run("import").exit_code == 0
    assert run("import", "-", stdin=text.encode()).stdout == "Imported: 0 new, 1 updated, 0 unchanged, 0 skipped.\n"
    assert server.requests[-1].type == "text/markdown; charset=utf-8"


@pytest.mark.parametrize(
    ("data", "counts", "warned"),
    [
        (
            b"### mem-1-aaaa\n> x\n\n### idea\n> y\n",
            "1 new, 0 updated, 0 unchanged, 1 skipped",
            r"Warning: standard input, line 4: “idea” is not an id such as note-.*; `###` alone gets a new one\.\n",
        ),
        (
            b"# Hello\n\nNot what you were looking for.\n",
            "0 new, 0 updated, 0 unchanged, 0 skipped",
            r"Warning: standard input has no memories: no heading in it is such as “### mem-1737372000-a1b2”\.\n",
        ),
    ],
)
def test_import_warns_of_what_it_skips_and_of_a_file_without_memories(
    run: Run, server: Contract, data: bytes, counts: str, warned: str
) -> None:
    done = run("import", "-", stdin=data)
    assert (done.exit_code, done.stdout) == (0, f"Imported: {counts}.\n")
    assert re.fullmatch(warned, done.stderr)


def test_import_says_when_it_waits_for_a_person(run: Run, server: Contract) -> None:
    server.policy = "review"
    done = run("import", "-", stdin=b"### mem-1-aaaa\n> x\n")
    assert done.stdout == (
        "Proposed: 1 new, 0 updated, 0 unchanged, 0 skipped.\nThe user will be asked to approve this change.\n"
    )
    as_json = json.loads(run("import", "-", "--format", "json", stdin=b"### mem-2-aaaa\n> x\n").stdout)
    assert as_json == {
        "status": "open",
        "proposal_id": 12,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "skipped": [],
    }


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x00\x01", "line 1 holds the character U+0000: this is no text file"),
        (
            b"x" * (memories_md.LARGEST_FILE + 100),
            "the file has more than the 33,554,432 bytes a memories.md may have: split it.",
        ),
        (b"### mem-1-aaaa\n> x\n### mem-1-aaaa\n> y\n", "lines 1 and 3 have the same id mem-1-aaaa"),
    ],
)
def test_a_file_that_is_none_is_refused_before_it_is_sent(run: Run, server: Contract, data: bytes, says: str) -> None:
    Path("f.md").write_bytes(data)
    done = run("import", "f.md")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: f.md cannot be imported: {says}")
    assert server.requests == []


@pytest.mark.slow
def test_on_a_terminal_an_import_says_that_it_has_begun(server: Contract, on_terminal: Any) -> None:
    code, printed, shown = on_terminal("import", "-", stdin=b"### mem-1-aaaa\n> x\n")
    assert (code, printed) == (0, "Imported: 1 new, 0 updated, 0 unchanged, 0 skipped.\n")
    assert "Importing …" in shown


def test_where_nobody_looks_an_import_prints_its_result_alone(run: Run, server: Contract) -> None:
    done = run("import", "-", stdin=b"### mem-1-aaaa\n> x\n", MEMORY_OWNER="alice")
    assert done.stderr == ""
    assert [request.path for request in server.requests] == ["/api/v1/users/alice/memories.md"]


def test_a_file_that_cannot_be_read_or_written_is_named(run: Run) -> None:
    done = run("import", "nowhere.md")
    assert (done.exit_code, done.stderr) == (1, "Error: nowhere.md cannot be read: No such file or directory.\n")
    Path(".agent").write_text("a file, not a folder")
    assert run("init").stderr.startswith("Error: .agent/memories.md cannot be written: ")


def test_skill_is_printed_without_a_server(run: Run) -> None:
    assert run("skill", MEMORY_URL="http://127.0.0.1:1").stdout == memories_md.SKILL


def test_the_owner_is_the_one_the_token_serves(run: Run, some: Contract) -> None:
    run("list")
    assert [request.path for request in some.requests] == ["/api/v1/token/", "/api/v1/users/alice/notes/"]


def test_the_owner_can_be_named_before_and_after_the_subcommand(run: Run, some: Contract) -> None:
    some.owners = ["alice", "ben", "tim"]
    run("list", MEMORY_OWNER="alice")
    run("--owner", "ben", "list", MEMORY_OWNER="alice")
    run("list", "--owner", "tim", MEMORY_OWNER="alice")
    run("delete", "mem-1-aaaa", "--owner", "ben")
    assert [request.path.split("/")[4] for request in some.requests[:3]] == ["alice", "ben", "tim"]
    assert some.requests[3].arguments["user_id"] == "ben"


def test_who_may_not_ask_is_told_why(run: Run, some: Contract) -> None:
    some.owners = ["alice", "ben"]
    for arguments, environment, says in (
        ([], {}, "This token serves several owners: say whose memory with --owner or MEMORY_OWNER."),
        (["--owner", "mallory"], {}, "This token does not serve 'mallory'."),
        ([], {"MEMORY_TOKEN": "asn_wrong"}, "The token is not accepted."),
    ):
        done = run("list", *arguments, **environment)
        assert (done.exit_code, done.stderr) == (1, f"Error: {says}\n")


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"MEMORY_URL": ""}, "Say whose memory"),
        ({"MEMORY_TOKEN": ""}, "set MEMORY_TOKEN"),
        ({"MEMORY_TOKEN": "two words"}, "MEMORY_TOKEN is no token"),
        ({"MEMORY_TOKEN": "tökén"}, "MEMORY_TOKEN is no token"),
        ({"MEMORY_URL": "localhost:8000"}, "has to begin with http:// or https://"),
    ],
)
def test_settings_that_make_no_sense_are_usage_errors(run: Run, environment: dict[str, str], says: str) -> None:
    done = run("list", **environment)
    assert done.exit_code == 2
    assert says in done.stderr


def test_a_server_that_is_away_is_named(run: Run) -> None:
    done = run("list", "--owner", "alice", MEMORY_URL="http://127.0.0.1:1/")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: http://127.0.0.1:1 cannot be reached: ")
    assert done.stderr.endswith("Is the server running?\n")


@pytest.mark.parametrize(
    "fixed",
    [
        (502, "text/html", b"<h1>Bad gateway</h1>"),
        (200, "text/html", b"<h1>Welcome</h1>"),
        (200, "application/json", b"[]"),
        (200, "application/json", b"{}"),
        (404, "application/json", b'{"detail": "no"}'),
    ],
)
@pytest.mark.parametrize("arguments", [["list", "--owner", "alice"], ["export", "--owner", "alice"], ["add", "x"]])
def test_an_answer_that_is_not_assents_is_no_traceback(
    run: Run, server: Contract, fixed: tuple[int, str, bytes], arguments: list[str]
) -> None:
    server.fixed = fixed
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.fullmatch(
        rf"Error: http://\S+ answered {fixed[0]}, but not as Assent does: check MEMORY_URL.\n", done.stderr
    )


@pytest.mark.parametrize("arguments", [["list"], ["show", "mem-1-aaaa"], ["prime"], ["import", "-"]])
def test_an_answer_of_another_version_is_no_traceback(run: Run, server: Contract, arguments: list[str]) -> None:
    server.fixed = (200, "application/json", b'{"ok": true, "text": "", "data": {"items": [{"id": 1}], "next": null}}')
    done = run(*arguments, "--owner", "alice", stdin=b"### mem-1-aaaa\n> x\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        done.stderr == f"Error: {server.url} answers in a way this command does not know: it may be older or newer.\n"
    )


def test_what_a_server_says_cannot_move_the_cursor(run: Run, server: Contract) -> None:
    server.fixed = (400, "application/json", b'{"error": {"code": "x", "message": "\\u001b[2J"}}')
    assert run("add", "x").stderr == "Error: ⟨U+001B ESCAPE⟩[2J\n"


def test_the_token_does_not_follow_a_redirect(run: Run, server: Contract) -> None:
    with serving() as other:
        server.fixed, server.location = (302, "text/html", b""), f"{other.url}/api/v1/users/alice/notes/"
        done = run("list", "--owner", "alice")
        assert other.requests == []
    assert done.exit_code == 1
    assert f"has moved to {server.location}: change MEMORY_URL." in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["add"],
        ["add", "x", "--type", "idea"],
        ["list", "--last", "0"],
        ["list", "--format", "yaml"],
        ["prime", "--type", "fix,idea"],
        ["prime", "--budget", "-1"],
        ["prime", "--format", "table"],
        ["forget", "mem-1-aaaa"],
        ["show"],
    ],
)
def test_wrong_usage_exits_with_2_and_asks_no_server(run: Run, server: Contract, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: memory ")
    assert server.requests == []


def test_an_unknown_type_names_the_types(run: Run) -> None:
    for arguments in (["add", "x", "--type", "idea"], ["prime", "--type", "idea"]):
        said = " ".join(run(*arguments).stderr.split())
        for kind in memories_md.TYPES:
            assert kind in said


def test_help_has_examples(run: Run) -> None:
    overview = run("--help").stdout
    assert "memory search --type fix --tags docker" in overview
    for subcommand in ("add", "search", "list", "show", "delete", "prime", "init", "import", "export", "skill"):
        assert re.search(rf"^  {subcommand} ", overview, re.MULTILINE)
        helped = run(subcommand, "--help")
        assert (helped.exit_code, helped.stdout[:14]) == (0, "Usage: memory ")
    assert 'memory add "chose Zod for validation" -t decision --tags validation' in run("add", "-h").stdout


@pytest.fixture
def script(server: Contract, tmp_path: Path) -> Callable[..., Any]:
    """The command as a process of its own."""

    def start(*arguments: str, **environment: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "agent_tools.cli", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "MEMORY_URL": server.url, "MEMORY_TOKEN": TOKEN} | environment,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "first"),
    [
        (100, "ID          TYPE         CREATED     TAGS                CONTENT"),
        (36, "ID          CONTENT"),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns_and_no_broken_lines(
    some: Contract, on_terminal: Any, columns: int, first: str
) -> None:
    some.put("mem-4-dddd", "漢字 " * 40, "context")
    code, _, shown = on_terminal("list", columns=columns, shows="stdout")
    lines = shown.splitlines()
    assert (code, lines[0], len(lines)) == (0, first, 5)
    assert all(wcwidth(line) <= columns for line in lines)
    assert lines[1].endswith("…")


def wcwidth(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.fixture
def on_terminal(server: Contract, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """The command with a terminal as its stderr or stdout: its exit code, what it printed beside the terminal, and
    what the terminal showed."""

    def start(*arguments: str, stdin: bytes = b"", columns: int = 80, shows: str = "stderr") -> tuple[int, str, str]:
        here, there = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_tools.cli", *arguments],
            cwd=tmp_path,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "MEMORY_URL": server.url, "MEMORY_TOKEN": TOKEN, "COLUMNS": str(columns)},
            stdin=subprocess.PIPE,
            stdout=there if shows == "stdout" else subprocess.PIPE,
            stderr=there if shows == "stderr" else subprocess.PIPE,
        )
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


@pytest.mark.slow
def test_the_command_works_as_a_process_from_anywhere(script: Callable[..., Any], some: Contract) -> None:
    done = script("delete", "mem-1-aaaa")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "🗑️  Memory deleted: mem-1-aaaa\n", b"")
    done = script("delete", "mem-1-aaaa")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"Error: Memory not found: mem-1-aaaa\n")


@pytest.mark.slow
def test_a_terminal_without_utf_8_is_no_traceback(script: Callable[..., Any], some: Contract) -> None:
    done = script("show", "mem-2-bbbb", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"\\u2696\\ufe0f decision  mem-2-bbbb\n")


@pytest.mark.slow
def test_subcommands_options_and_types_complete(script: Callable[..., Any]) -> None:
    asked = {"_MEMORY_COMPLETE": "bash_complete"}
    assert b"plain,prime" in script(COMP_WORDS="memory pr", COMP_CWORD="1", **asked).stdout
    assert b"plain,--tags" in script(COMP_WORDS="memory add --t", COMP_CWORD="2", **asked).stdout
    types = script(COMP_WORDS="memory add --type de", COMP_CWORD="3", **asked).stdout
    assert types.split() == [b"plain,decision"]
    assert b"_MEMORY_COMPLETE=zsh_complete" in script(_MEMORY_COMPLETE="zsh_source").stdout


@pytest.mark.slow
def test_the_command_needs_no_django(script: Callable[..., Any], server: Contract, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agent_tools.cli", "list"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MEMORY_URL": server.url, "MEMORY_TOKEN": TOKEN},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"No memories found.\n"
    assert b"httpx" in done.stderr
    assert b"django" not in done.stderr
