"""What the `memory` command does with a memory, by a server and on this installation's own databases alike."""

import json
import re
import secrets
from functools import partial
from pathlib import Path

import pytest
from django.urls import reverse

from approvals import services
from approvals.models import Policy, Proposal, User
from approvals.recovery.integrity import problems
from approvals.services.notes import ChangeContext, save
from assent_client.text import memories_md
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, caught_up
from tests.agent_tools.cli.conftest import SOME, Run
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import approve
from tests.support.fixtures import ClientOf, Propose


@pytest.fixture
def some(run: Run) -> Run:
    """The command with three memories."""
    assert run("import", "-", stdin=SOME).stdout == "Imported: 3 new, 0 updated, 0 unchanged, 0 skipped.\n"
    return run


def test_the_whole_life_of_a_memory(run: Run) -> None:
    done = run("add", "Uses barrel exports.", "--type", "decision", "--tags", "imports, structure,")
    (note,) = reads.notes("alice")
    assert (done.exit_code, done.stdout) == (0, f"📝 Memory stored: {note.id}\n")
    assert re.fullmatch(r"mem-[0-9]{10}-[0-9a-f]{4}", note.id)
    assert (note.content, note.type, note.tags) == ("Uses barrel exports.", "decision", ("imports", "structure"))
    exported = run("export").stdout_bytes
    assert run("delete", note.id).stdout == f"🗑️  Memory deleted: {note.id}\n"
    assert run("show", note.id).exit_code == 1
    assert reads.notes("alice") == ()
    assert run("import", "-", stdin=exported).exit_code == 0
    assert run("export").stdout_bytes == exported
    assert list(problems()) == []


def test_the_owners_own_command_writes_in_their_name(local: Run) -> None:
    local("add", "She sails.")
    (note,) = reads.notes("alice")
    assert (note.source, reads.history("alice", "note", note.id)[0].actor) == ("user", "alice")


def test_add_prints_the_id_alone_or_the_memory_which_is_a_pattern_otherwise(run: Run) -> None:
    id = run("add", "chose Zod", "-t", "decision", "--format", "quiet").stdout.strip()
    assert reads.note("alice", id).type == "decision"
    assert run("add", "Chose  zod.").stdout == f"📝 Known already: {id}\n"
    stored = json.loads(run("add", "left Zod", "--tags", "a,b", "--format", "json").stdout)
    assert reads.note("alice", stored.pop("id")).type == "pattern"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored.pop("created"))
    assert stored == {"type": "pattern", "content": "left Zod", "tags": ["a", "b"], "status": "applied"}


def test_add_tries_another_id_when_one_is_taken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    drawn, any_other = iter(["aaaa", "aaaa", "aaaa", "bbbb"]), secrets.token_hex
    with monkeypatch.context() as drawing:
        drawing.setattr("secrets.token_hex", lambda size: next(drawn) if size == 2 else any_other(size))
        ids = [run("add", content, "--format", "quiet").stdout for content in ("x", "y")]
    assert ids == ["mem-1800000000-aaaa\n", "mem-1800000000-bbbb\n"]


def test_what_is_refused_is_said_and_exits_with_1(run: Run) -> None:
    done = run("add", "x" * 2_001)
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.fullmatch("Error: .*[Tt]he content has 2,001 characters, 1 more than the 2,000 a.*\n", done.stderr)


def test_list_shows_a_table_newest_first_or_what_is_asked_for(some: Run) -> None:
    assert some("list").stdout.splitlines() == [
        "ID          TYPE         CREATED     TAGS                CONTENT",
        "mem-3-cccc  🔧 fix       2026-01-07  docker              ECONNREFUSED means start docker.",
        "mem-2-bbbb  ⚖️ decision  2026-01-06  validation          Chose Zod for validation. It infers types.",
        "mem-1-aaaa  🔄 pattern   2026-01-05  imports, structure  Barrel exports for all module boundaries.",
    ]
    assert some("list", "--last", "2", "--format", "quiet").stdout == "mem-3-cccc\nmem-2-bbbb\n"
    assert some("list", "-t", "pattern", "--format", "quiet").stdout == "mem-1-aaaa\n"
    assert json.loads(some("list", "--format", "json").stdout)[1] == {
        "id": "mem-2-bbbb",
        "type": "decision",
        "content": "Chose Zod for validation.\n\nIt infers types.",
        "tags": ["validation"],
        "created": "2026-01-06",
    }
    assert some("list", "--format", "markdown").stdout == some("export").stdout


def test_list_reads_every_page(run: Run) -> None:
    run("import", "-", stdin="".join(f"### mem-{number}-aaaa\n> x{number}\n" for number in range(450)).encode())
    assert len(run("list", "--format", "quiet").stdout.splitlines()) == 450
    assert len(run("list", "--last", "201", "--format", "quiet").stdout.splitlines()) == 201


def test_an_empty_memory_says_so(run: Run) -> None:
    assert run("list").stdout == "No memories found.\n"
    assert run("search", "x", "--format", "json").stdout == "[]\n"
    assert run("list", "--format", "quiet").stdout == ""


def test_search_finds_ten_of_those_with_the_words_a_tag_and_the_type(some: Run) -> None:
    def found(*words: str) -> list[str]:
        return some("search", *words, "--format", "quiet").stdout.split()

    assert found("--tags", "docker,imports") == ["mem-3-cccc", "mem-1-aaaa"]
    assert found("--type", "fix", "--tags", "docker,imports") == ["mem-3-cccc"]
    assert found("zod") == ["mem-2-bbbb"]
    more = "".join(f"### mem-{number}-dddd\n> authentication {number}\n" for number in range(25))
    some("import", "-", stdin=more.encode())
    assert len(found("authentication")) == 10
    assert len(found("authentication", "--all")) == 25


def test_show_prints_one_memory_in_full(some: Run) -> None:
    assert some("show", "mem-2-bbbb").stdout == (
        "⚖️ decision  mem-2-bbbb\nCreated: 2026-01-06\nTags:    validation\n\n"
        "Chose Zod for validation.\n\nIt infers types.\n"
    )
    assert some("show", "mem-2-bbbb", "--format", "markdown").stdout == (
        "### mem-2-bbbb\n> Chose Zod for validation.\n>\n> It infers types.\n"
        "<!-- tags: validation | created: 2026-01-06 -->\n"
    )
    assert json.loads(some("show", "mem-2-bbbb", "--format", "json").stdout)["tags"] == ["validation"]
    assert some("show", "mem-2-bbbb", "--format", "quiet").stdout == "mem-2-bbbb\n"


@pytest.mark.parametrize("subcommand", ["show", "delete"])
def test_an_unknown_id_is_said_on_stderr_and_exits_with_1(some: Run, subcommand: str) -> None:
    for id in ("mem-1737372000-a1b2", "../../tools", "a/b?c#d", "é", ""):
        done = some(subcommand, id)
        assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: Memory not found: {id}\n")
    assert len(reads.notes("alice")) == 3


def test_unseen_characters_in_a_memory_are_printed_by_name(run: Run, alice: User) -> None:
    run("import", "-", stdin="### mem-1-aaaa\n> a\x1b[2Jb \u202edrawkcab\n> c\n<!-- tags: \x07b -->".encode())
    for waiting in Proposal.objects.open():  # an agent's import of such a text waits
        approve(alice, waiting)
    assert "⟨U+001B ESCAPE⟩[2Jb ⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩drawkcab c" in run("list").stdout
    assert "⟨U+0007 BELL⟩" in run("show", "mem-1-aaaa").stdout
    as_json = run("show", "mem-1-aaaa", "--format", "json").stdout
    assert not {"\x1b", "\u202e"} & set(as_json)
    assert json.loads(as_json)["content"] == "a\x1b[2Jb \u202edrawkcab\nc"
    assert "> a\x1b[2Jb \u202edrawkcab\n" in run("show", "mem-1-aaaa", "--format", "markdown").stdout


def test_prime_prints_the_text_for_a_context_as_it_comes(some: Run) -> None:
    def primed(*words: str) -> list[str]:
        return re.findall("mem-.-....", some("prime", *words).stdout)

    assert primed() == primed("--recent", "0") == ["mem-1-aaaa", "mem-2-bbbb", "mem-3-cccc"]
    assert primed("--budget", "1") == primed("--type", "fix,pattern", "--tags", "docker,zod") == ["mem-3-cccc"]
    assert json.loads(some("prime", "--format", "json", "--recent", "1").stdout) == []
    assert some("prime", "--recent", "1").stdout == "\n"


def test_export_then_import_then_export_is_the_same_to_the_byte(run: Run, alice: User) -> None:
    content = "ends in a carriage return\r\nand > quotes\n\n```\n# code\n```"
    save(by=ChangeContext(actor=alice), owner="alice", content=content, type="fact", tags=["|"])
    run("import", "-", stdin=SOME)
    exported = run("export").stdout_bytes
    assert run("export", "out/memories.md").stdout == "Written out/memories.md\n"
    assert Path("out/memories.md").read_bytes() == exported
    for note in reads.notes("alice"):
        run("delete", note.id)
    assert run("import", "out/memories.md").stdout == "Imported: 4 new, 0 updated, 0 unchanged, 0 skipped.\n"
    assert run("export", "-").stdout_bytes == exported


def test_a_portable_export_says_what_it_replaces_and_is_imported_without_doubling(run: Run) -> None:
    run("add", "She prefers worked examples.", "--type", "fact")
    exported = run("export", "--portable")
    assert "## Context\n\n### mem-" in exported.stdout
    assert "## Facts" not in exported.stdout
    assert memories_md.PORTABLE_EXPLAINED in exported.stderr
    came = run("import", "-", stdin=exported.stdout_bytes)
    assert came.stdout == "Imported: 0 new, 0 updated, 1 unchanged, 0 skipped.\n"
    assert [note.type for note in reads.notes("alice")] == ["fact"]


def test_import_reads_the_usual_file_and_updates_what_is_there(some: Run) -> None:
    some("init")
    Path(".agent/memories.md").write_bytes(SOME.replace(b"docker.", b"Docker."))
    assert some("import").stdout == "Imported: 0 new, 1 updated, 2 unchanged, 0 skipped.\n"


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
        (b"### mem-1-aaaa\n> x\n", "1 new, 0 updated, 0 unchanged, 0 skipped", ""),
    ],
    ids=["an idea", "another file", "nothing to warn of"],
)
def test_import_warns_of_what_it_skips_and_of_a_file_without_memories(
    remote: Run, data: bytes, counts: str, warned: str
) -> None:
    done = remote("import", "-", stdin=data)
    assert (done.exit_code, done.stdout) == (0, f"Imported: {counts}.\n")
    assert re.fullmatch(warned, done.stderr)


def test_the_list_items_of_another_file_are_offered_and_brought_in_when_asked(run: Run) -> None:
    other = b"# Likes\n- Tea\n- Rowing\n"
    done = run("import", "-", stdin=other)
    assert done.stdout == "Imported: 0 new, 0 updated, 0 unchanged, 0 skipped.\n"
    assert "is no memories.md, but has 2 list items under 1 heading: --items brings them in as notes." in done.stderr
    for counts in ("2 new, 0", "0 new, 0"):
        done = run("import", "-", "--items", stdin=other)
        assert done.stdout == f"Imported: {counts} updated, 0 unchanged, 0 skipped.\n"
        assert "memories.md" not in done.stderr
    assert {note.content: note.tags for note in reads.notes("alice")} == {"Tea": ("Likes",), "Rowing": ("Likes",)}


def test_what_waits_for_a_person_is_not_called_stored(remote: Run) -> None:
    remote("import", "-", stdin=SOME)
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    asked = r"\nThe user will be asked to approve this change.\nhttp://127.0.0.1:8000/proposals/\d+/\n"
    for words, said in (
        (["add", "x"], r"📝 Memory proposed: mem-\d+-[0-9a-f]{4}"),
        (["delete", "mem-1-aaaa"], "🗑️  Deletion proposed: mem-1-aaaa"),
        (["import", "-"], "Proposed: 1 new, 0 updated, 0 unchanged, 0 skipped."),
    ):
        assert re.fullmatch(said + asked, remote(*words, stdin=b"### mem-5-aaaa\n> x\n").stdout)
    as_json = json.loads(remote("import", "-", "--format", "json", stdin=b"### mem-6-aaaa\n> x\n").stdout)
    assert as_json.pop("proposal_id")
    assert as_json == {"status": "open", "created": 1, "updated": 0, "unchanged": 0, "skipped": []}


@pytest.mark.parametrize("words", [["add", "x"], ["delete", "mem-1-aaaa"], ["import", "-"]], ids=" ".join)
def test_what_people_decided_is_told_beside_the_output(
    remote: Run, tim: User, goals: Block, propose: Propose, words: list[str]
) -> None:
    remote("import", "-", stdin=SOME)
    numbers = [propose(goals, "math", f"maths {number}").pk for number in range(8)]
    for number in numbers:
        services.reject(actor=tim, proposal_id=number, revision=1, reason="wrong", comment="No\x1b.")
    done = remote(*words, stdin=SOME)
    assert (done.exit_code, "Proposal" in done.stdout) == (0, False)
    heading, *told, more = done.stderr.splitlines()
    assert heading == "Decided since you were last told:"
    assert told == [
        f"- Proposal {number} for block 'goals' was rejected by tim (wrong): No⟨U+001B ESCAPE⟩. You asked: "
        f'"# Goals Alice likes math. She wants to …" → "# Goals Alice likes maths {place}. She wants to …". '
        "Your reason: Alice said so."
        for place, number in enumerate(numbers[:5])
    ]
    assert re.fullmatch(r"\(3 more: list_proposals with decided_since \S+\.\)", more)


def test_the_owner_is_the_one_the_token_serves_or_named_before_or_after_the_subcommand(
    remote: Run, alice: User, ben: User, tim: User, issue: Issue
) -> None:
    for owner in (alice, ben, tim):
        id = f"mem-1-{owner.username[:3]}0"
        save(by=ChangeContext(actor=owner), owner=owner.username, content="x", note_id=id)
    assert remote("list", "--format", "quiet").stdout == "mem-1-ali0\n"
    several = partial(remote, MEMORY_TOKEN=issue(alice, ben, tim))
    quiet = ("list", "--format", "quiet")
    assert several(*quiet, MEMORY_OWNER="alice").stdout == "mem-1-ali0\n"
    assert several("--owner", "ben", *quiet, MEMORY_OWNER="alice").stdout == "mem-1-ben0\n"
    assert several(*quiet, "--owner", "tim", MEMORY_OWNER="alice").stdout == "mem-1-tim0\n"
    several("delete", "mem-1-ben0", "--owner", "ben")
    assert reads.notes("ben") == ()


def test_who_may_not_ask_is_told_why(remote: Run, local: Run, alice: User, ben: User, issue: Issue) -> None:
    several = "This token serves several owners: say whose memory with --owner or MEMORY_OWNER."
    for done, code, says in (
        (remote("list", MEMORY_TOKEN=issue(alice, ben)), 1, several),
        (remote("list", "--owner", "mallory"), 1, "This token does not serve user_id 'mallory'."),
        (remote("list", MEMORY_TOKEN="asn_wrong"), 1, "The token is not valid: it is unknown, ended or revoked."),
        (local("list", "--owner", "nobody"), 1, "There is nobody called nobody."),
        (local("list", MEMORY_OWNER=None), 2, "Say whose memory with --owner or MEMORY_OWNER"),
    ):
        assert (done.exit_code, done.stdout) == (code, "")
        assert f"Error: {says}" in done.stderr


def test_people_agents_and_the_command_find_the_same_notes_in_the_same_order(
    alice: User, api: Machine, call: Call, client_of: ClientOf, local: Run
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
        found = local("search", query, "--type", "fact", "--tags", "school", "--all", "--format", "quiet")
        assert found.stdout.split() == ids, query
        asked = {"q": query, "type": "fact", "tag": "school"}
        html = page.get(reverse("notes", args=["alice"]), asked).content.decode()
        assert re.findall(r'href="/memory/alice/notes/([^/"]+)/" data-open', html) == ids, query
