"""The `memory` command on this installation's own databases: no server, no token, the owner's own name."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from django.db import connections
from django.urls import reverse

from agent_tools.cli.local import LocalMemories
from approvals.models import User
from approvals.recovery.integrity import problems
from approvals.services.notes import ChangeContext, save
from assent_client.cli.commands import CliContext, memory
from memory_app import reads
from memory_app.search import index_state
from tests import environment
from tests.agent_tools.checks import answered, caught_up
from tests.agent_tools.conftest import Call, Machine
from tests.support.fixtures import ClientOf

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


def run(*words: str, stdin: str | None = None, owner: str = "alice") -> Result:
    """The command in this process, whose Django is ready: a start of its own takes seconds."""
    given = {"MEMORY_URL": None, "MEMORY_TOKEN": None, "MEMORY_OWNER": owner, "ASSENT_LOG_LEVEL": "ERROR"}
    mask = os.umask(0o077)
    try:
        return CliRunner().invoke(memory, words, input=stdin, env=given, obj=CliContext(local=LocalMemories))
    finally:
        os.umask(mask)


def run_process(*words: str) -> subprocess.CompletedProcess[str]:
    connections.close_all()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMORY_")}
    if url := os.environ.get("MEMORY_DATABASE_URL"):
        environment["MEMORY_DATABASE_URL"] = url
    return subprocess.run(
        [sys.executable, "-m", "agent_tools.cli", *words],
        cwd=ROOT,
        env=environment | {"MEMORY_OWNER": "alice"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_whole_life_of_a_memory(alice: User) -> None:
    added = run("add", "She prefers worked examples.", "--type", "pattern", "--tags", "learning,style")
    assert added.exit_code == 0, added.stderr
    note = reads.notes("alice")[0]
    assert (note.content, note.type, note.tags, note.source) == (
        "She prefers worked examples.",
        "pattern",
        ("learning", "style"),
        "user",
    )
    assert reads.history("alice", "note", note.id)[0].actor == "alice"
    assert note.id in run("search", "examples", "--format", "quiet").stdout
    assert note.id in run("list", "--format", "quiet").stdout
    assert "She prefers worked examples." in run("show", note.id).stdout
    assert "worked examples" in run("prime").stdout

    exported = run("export").stdout
    assert note.id in exported
    deleted = run("delete", note.id, stdin="y\n")
    assert deleted.exit_code == 0, deleted.stderr
    assert reads.notes("alice") == ()
    imported = run("import", "-", stdin=exported)
    assert imported.exit_code == 0, imported.stderr
    assert run("export").stdout == exported
    assert list(problems()) == []


def test_an_unknown_id_is_one_line_and_exit_code_1(alice: User) -> None:
    answer = run("show", "mem-1700000000-abcd")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == "Error: Memory not found: mem-1700000000-abcd\n"


def test_it_says_whose_memory_is_missing(alice: User) -> None:
    assert run("list", owner="nobody").stderr == "Error: There is nobody called nobody.\n"
    assert "Say whose memory" in run("list", owner="").stderr


def test_a_portable_export_says_what_it_replaces_and_is_imported_without_doubling(alice: User) -> None:
    run("add", "She prefers worked examples.", "--type", "fact")
    exported = run("export", "--portable")
    assert "## Context\n\n### mem-" in exported.stdout
    assert "## Facts" not in exported.stdout
    assert "facts" in exported.stderr
    assert "under Context" in exported.stderr
    assert "Four sections only" in " ".join(run("export", "--help").stdout.split())
    came = run("import", "-", stdin=exported.stdout)
    assert came.stdout == "Imported: 0 new, 0 updated, 1 unchanged, 0 skipped.\n"
    assert [note.type for note in reads.notes("alice")] == ["fact"]


def test_people_agents_and_the_command_find_the_same_notes_in_the_same_order(
    alice: User, api: Machine, call: Call, client_of: ClientOf
) -> None:
    texts = ("Passed the algebra exam.", "Sits the statistics exam in June, then another exam.", "Likes algebra.")
    for content in (*texts, "Examples help her.", *(f"Keeps hive {number}, not an exam." for number in range(12))):
        save(by=ChangeContext(actor=alice), owner="alice", content=content, type="fact", tags=["school"])
    save(by=ChangeContext(actor=alice), owner="alice", content="An exam of another type.", type="note")
    caught_up(partial(api.get, "/api/v1/users/alice/notes/?q=exam"))
    page = client_of(alice)
    for query in ("algebra exam", "exam", "statistcs", "alg", "note-"):
        listed = caught_up(partial(api.get, f"/api/v1/users/alice/notes/?q={query}&type=fact&tag=school"))
        ids = [item["id"] for item in listed["data"]["items"]]
        assert ids, query
        recalled = answered(call("recall", query=query, type="fact", limit=50))["data"]["memories"]
        assert [memory["id"] for memory in recalled] == ids, query
        found = run("search", query, "--type", "fact", "--tags", "school", "--all", "--format", "quiet")
        assert found.stdout.split() == ids, query
        asked = {"q": query, "type": "fact", "tag": "school"}
        html = page.get(reverse("notes", args=["alice"]), asked).content.decode()
        assert re.findall(r'href="/memory/alice/notes/([^/"]+)/" data-open', html) == ids, query


def test_as_a_process_it_leaves_the_index_in_order_when_it_ends(alice: User) -> None:
    """Cut off while it indexed, the process would leave its lease behind, and a search wait for a minute."""
    run("add", "She sails.")
    assert run("search", "sails", "--format", "quiet").stdout  # there is an index
    done = run_process("add", "She rows.")
    assert (done.returncode, done.stderr) == (0, "")
    assert {note.content for note in reads.notes("alice")} == {"She sails.", "She rows."}
    if environment.is_embedded():  # with servers a worker indexes after the change
        assert not index_state.is_behind("alice")
        assert not index_state.is_busy("alice")
