"""What the `memory` command says by itself: usage, files, and servers that are away or none of ours."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from assent_client import __version__
from assent_client.text import memories_md
from tests.agent_tools.cli.conftest import Run, invoke
from tests.support.receiver import Receiver, receiver

pytestmark = pytest.mark.pure

ONE = b"### mem-1-aaaa\n> x\n"


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


@pytest.fixture
def run(there: Receiver) -> Run:
    """The command for alice, with a server that answers as the test says."""
    return partial(invoke, MEMORY_URL=there.url.removesuffix("/hook"), MEMORY_TOKEN="asn_x", MEMORY_OWNER="alice")


def failed(done: Result) -> str:
    assert (done.exit_code, done.stdout) == (1, "")
    return done.stderr


def test_its_version_is_that_of_the_client(run: Run) -> None:
    assert run("--version").stdout == f"memory {__version__}\n"


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
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_asks_no_server(run: Run, there: Receiver, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: memory ")
    assert there.received == []
    if "idea" in done.stderr:
        assert [kind for kind in memories_md.TYPES if kind not in done.stderr] == []


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
    done = run("list", **environment | {"MEMORY_OWNER": ""})
    assert done.exit_code == 2
    assert says in done.stderr


def test_help_has_examples() -> None:
    overview = invoke("--help").stdout
    assert "memory search --type fix --tags docker" in overview
    for subcommand in ("add", "search", "list", "show", "delete", "prime", "init", "import", "export", "skill"):
        assert re.search(rf"^  {subcommand} ", overview, re.MULTILINE)
        helped = invoke(subcommand, "--help")
        assert (helped.exit_code, helped.stdout[:14]) == (0, "Usage: memory ")
    assert 'memory add "chose Zod for validation" -t decision --tags validation' in invoke("add", "-h").stdout
    explained = " ".join(invoke("prime", "--help").stdout.split())
    assert "Only memories of these comma-separated types: pattern, decision, fix" in explained
    assert memories_md.PORTABLE_EXPLAINED in " ".join(invoke("export", "--help").stdout.split())


def test_subcommands_options_and_types_complete() -> None:
    def completed(words: str) -> str:
        asked = {"_MEMORY_COMPLETE": "bash_complete", "COMP_CWORD": str(words.count(" "))}
        return invoke(COMP_WORDS=words, **asked).stdout

    assert "plain,prime" in completed("memory pr")
    assert "plain,--tags" in completed("memory add --t")
    assert completed("memory add --type de") == "plain,decision\n"
    assert "_MEMORY_COMPLETE=zsh_complete" in invoke(_MEMORY_COMPLETE="zsh_source").stdout


def test_skill_is_printed_without_a_server() -> None:
    assert invoke("skill").stdout == memories_md.SKILL


# -- files ----------------------------------------------------------------------------------------


def test_init_makes_the_template_once(tmp_path: Path) -> None:
    file = tmp_path / ".agent" / "memories.md"
    assert invoke("init").stdout == "Created .agent/memories.md\n"
    assert file.read_text() == "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    file.write_text("mine")
    assert failed(invoke("init")) == "Error: .agent/memories.md exists already; --force overwrites it.\n"
    assert file.read_text() == "mine"
    invoke("init", "--force")
    assert file.read_text() == memories_md.TEMPLATE


def test_a_file_that_cannot_be_read_or_written_is_named() -> None:
    assert failed(invoke("import", "nowhere.md")) == "Error: nowhere.md cannot be read: No such file or directory.\n"
    Path(".agent").write_text("a file, not a folder")
    assert failed(invoke("init")).startswith("Error: .agent/memories.md cannot be written: ")


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
    ids=["no text", "too large", "one id twice"],
)
def test_a_file_that_is_none_is_refused_before_it_is_sent(run: Run, there: Receiver, data: bytes, says: str) -> None:
    Path("f.md").write_bytes(data)
    assert failed(run("import", "f.md")).startswith(f"Error: f.md cannot be imported: {says}")
    assert there.received == []


def test_nothing_to_store_is_said_in_words_of_the_command(run: Run, there: Receiver) -> None:
    for content in ("", "  "):
        assert failed(run("add", content)) == "Error: There is nothing to store: the content is empty.\n"
    assert there.received == []


# -- servers --------------------------------------------------------------------------------------


def test_a_server_that_is_away_is_named(run: Run) -> None:
    said = failed(run("list", MEMORY_URL="http://127.0.0.1:1/"))
    assert said.startswith("Error: http://127.0.0.1:1 cannot be reached: ")
    assert said.endswith("Is the server running?\n")


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (502, "text/html", b"<h1>Bad gateway</h1>"),
        (200, "text/html", b"<h1>Welcome</h1>"),
        (200, "application/json", b"[]"),
        (200, "application/json", b"{}"),
        (404, "application/json", b'{"detail": "no"}'),
    ],
)
def test_an_answer_that_is_not_assents_is_no_traceback(
    run: Run, there: Receiver, status: int, kind: str, body: bytes
) -> None:
    there.status, there.headers, there.body = status, {"Content-Type": kind}, body
    for arguments in (["list"], ["export"], ["add", "x"]):
        said = failed(run(*arguments))
        assert re.fullmatch(rf"Error: http://\S+ answered {status}, but not as Assent does: check MEMORY_URL.\n", said)


def answer(there: Receiver, status: int, **payload: object) -> None:
    there.status, there.headers = status, {"Content-Type": "application/json"}
    there.body = json.dumps(payload).encode()


def test_an_answer_of_another_version_is_no_traceback(run: Run, there: Receiver) -> None:
    answer(there, 200, ok=True, text="", data={"items": [{"id": 1}], "next": None})
    for arguments in (["list"], ["show", "mem-1-aaaa"], ["prime"], ["import", "-"]):
        said = failed(run(*arguments, stdin=ONE))
        assert re.fullmatch(
            r"Error: http://\S+ answers in a way this command does not know: it may be older or newer.\n", said
        )


def test_what_a_server_says_cannot_move_the_cursor(run: Run, there: Receiver) -> None:
    answer(there, 400, error={"code": "x", "message": "\u001b[2J"})
    assert failed(run("add", "x")) == "Error: ⟨U+001B ESCAPE⟩[2J\n"


def test_an_import_whose_time_was_up_may_be_sent_again(run: Run, there: Receiver) -> None:
    error = {"code": "timeout", "message": "It took longer than 600 seconds and was stopped.", "details": {}}
    answer(there, 504, ok=False, text="", error=error)
    assert failed(run("import", "-", stdin=ONE)) == (
        "Error: It took longer than 600 seconds and was stopped. Import the file again: nothing is doubled. If that "
        "takes too long as well, split it.\n"
    )
    (sent,) = there.received
    assert (sent.path, sent.body.encode()) == ("/api/v1/users/alice/memories.md", ONE)
    assert sent.headers["content-type"] == "text/markdown; charset=utf-8"


def test_the_token_does_not_follow_a_redirect(run: Run, there: Receiver) -> None:
    with receiver() as other:
        there.status, there.headers = 302, {"Location": other.url}
        assert f"has moved to {other.url}: change MEMORY_URL." in failed(run("list"))
        assert other.received == []
