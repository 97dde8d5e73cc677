"""Listing and reading blocks: exact texts, as of, ranges, history, paging; and what counts as having read one."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agent_tools.models import BlockRead
from agent_tools.tools import block_reads
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import approve, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose

BLOCKS = "/api/v1/users/alice/blocks/"
HISTORY = f"{BLOCKS}goals/history/"


def test_blocks_are_listed_with_label_and_title(call: Call, alice: User, make_block: MakeBlock) -> None:
    assert answered(call("list_memory_blocks"))["text"] == "No memory blocks exist for this student yet."
    make_block(alice, "goals", "x", title="Learning goals")
    make_block(alice, "study_log", "")
    text = answered(call("list_memory_blocks"))["text"]
    assert text == "Available memory blocks:\n\n- goals: Learning goals\n- study_log: Study Log"
    assert answered(call("read_memory_block", block_label="study_log"))["text"] == "# Study Log\n\n(empty)"


def test_a_block_is_read_as_title_and_body_with_the_agents_own_open_proposals(
    api: Machine, call: Call, goals: Block, propose: Propose
) -> None:
    answer = answered(call("read_memory_block", block_label="goals"))
    assert answer["text"] == f"# Learning goals\n\n{goals.body}"
    data = answer["data"]
    assert (data["sha256"], data["limit"], data["open_proposals"]) == (goals.body_sha256, 20_000, [])
    assert data["commit"] == reads.snapshot("alice", "goals")[0]
    proposal = propose(goals, "likes", "loves")
    answer = answered(call("read_memory_block", block_label="goals"))
    (waiting,) = answer["data"]["open_proposals"]
    assert (waiting["proposal_id"], waiting["mergeability"]) == (proposal.pk, "clean")
    assert answered(api.get(f"{BLOCKS}goals/")) == answer, "by address it is the same"


def test_a_missing_block_is_said_without_the_word_error(call: Call, goals: Block) -> None:
    error = refused(call("read_memory_block", block_label="gaols"), 404, "block_not_found")
    assert error["text"] == "Memory block 'gaols' not found.\nThere are: goals.\nThe nearest is goals."
    assert (error["details"]["available"], error["details"]["nearest"]) == (["goals"], "goals")
    by_title = refused(call("read_memory_block", block_label="Learning Goals"), 404, "block_not_found")
    assert by_title["text"].endswith("The nearest is goals.")


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [
        ([1, 1], "# Goals"),
        ([3, 4], "Alice likes math.\nShe wants to pass the B2 exam in June."),
        ([5, -1], "She reads one book a month."),
        ([5, 99], "She reads one book a month."),
    ],
)
def test_a_range_of_lines_is_those_lines_with_numbers_on_request(
    call: Call, goals: Block, view_range: list[int], shown: str
) -> None:
    which = {"block_label": "goals", "view_range": view_range}
    answer = answered(call("read_memory_block", **which))
    assert (answer["text"], answer["data"]["lines"]) == (shown, 5)
    numbered = answered(call("read_memory_block", **which, line_numbers=True))
    lines = enumerate(shown.split("\n"), view_range[0])
    assert numbered["text"] == "\n".join(f"{number}\t{line}" for number, line in lines)
    assert numbered["data"] == answer["data"]


def test_what_is_inserted_by_the_numbers_shown_stands_below_that_line(call: Call, goals: Block) -> None:
    text = answered(call("read_memory_block", block_label="goals", line_numbers=True))["text"]
    assert text.splitlines()[:3] == ["1\t# Goals", "2\t", "3\tAlice likes math."]
    (number,) = (line.partition("\t")[0] for line in text.splitlines() if line.endswith("in June."))
    why = {"block_label": "goals", "reasoning": "r", "content": "She rows."}
    answer = answered(call("propose_memory_insert", **why, insert_line=int(number)))
    assert "It goes after line 4: She wants to pass the B2 exam in June." in answer["text"]


@pytest.mark.parametrize("view_range", [[0, 1], [3, 2], [9, 10]])
def test_a_range_that_is_none_is_named(call: Call, goals: Block, view_range: list[int]) -> None:
    error = refused(call("read_memory_block", block_label="goals", view_range=view_range), 400, "invalid_arguments")
    assert any(name.startswith("view_range") for name in error["details"]["fields"])


def test_a_block_is_read_as_it_was_at_a_commit(api: Machine, call: Call, alice: User, goals: Block) -> None:
    before = reads.snapshot("alice", "goals")[0]
    edit(alice, "goals", "likes", "loves")
    answer = answered(call("read_memory_block", block_label="goals", as_of=before))
    assert (answer["data"]["body"], answer["data"]["commit"]) == (goals.body, before)
    assert answered(api.get(f"{BLOCKS}goals/?as_of={before}")) == answer


@pytest.mark.parametrize("as_of", ["never", "p/1", "1999-01-01", "f" * 40, "main", "of a proposal"])
def test_an_as_of_the_memory_does_not_know_is_refused(call: Call, proposal: Proposal, as_of: str) -> None:
    if as_of == "of a proposal":  # its commit is there, and nobody has approved what it says
        as_of = proposal.current_revision.head_commit
    refused(call("read_memory_block", block_label="goals", as_of=as_of), 404, "revision_not_found")


def test_blocks_come_in_pages(api: Machine, alice: User, make_block: MakeBlock) -> None:
    for label in ("a", "b", "c"):
        make_block(alice, label, label)
    first = answered(api.get(f"{BLOCKS}?limit=2"))["data"]
    assert [item["label"] for item in first["items"]] == ["a", "b"]
    second = answered(api.get(f"{BLOCKS}?limit=2&cursor={first['next']}"))["data"]
    assert ([item["label"] for item in second["items"]], second["next"]) == (["c"], None)
    for cursor in ("abc", "WyJibG9ja19oaXN0b3J5IiwxXQ=="):
        error = refused(api.get(f"{BLOCKS}?cursor={cursor}"), 400, "invalid_arguments")
        assert list(error["details"]["fields"]) == ["cursor"], "it is none of this list"


def test_history_tells_agent_approver_and_reason(api: Machine, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes", "loves", reasoning="Alice said she loves it.")
    approve(tim, proposal, comment="Yes.")
    approved, created = answered(api.get(HISTORY))["data"]["items"]
    assert (approved["action"], created["action"]) == ("approved", "created")
    assert (approved["agent"], approved["actor"], approved["proposal_id"]) == ("scribe", "tim", proposal.pk)
    assert approved["reasoning"] == "Alice said she loves it."
    first = answered(api.get(f"{HISTORY}?limit=1"))
    page = first["data"]
    said = f"approved by tim, proposed by scribe (proposal {proposal.pk}): Alice said she loves it. Yes."
    more = f"(There are more: call again with cursor {page['next']}.)"
    assert first["text"] == f"- {approved['at']} {said}\n\n{more}"
    assert answered(api.get(f"{HISTORY}?cursor={page['next']}"))["data"]["items"] == [created]


# -- what counts as having read a block before it is rewritten -----------------------------------------

REWRITE = {"block_label": "goals", "content": "# Goals\n\nShe rows.\n", "reasoning": "Tidied."}
UNREAD = "Warning: you have not read block 'goals'"
CHANGED = "Warning: block 'goals' has changed since you read it"


def read(call: Call, **more: Any) -> None:
    answered(call("read_memory_block", block_label="goals", **more))


def warned(call: Call, **more: Any) -> str:
    """The warning about reading of a rewrite that is proposed now, or nothing."""
    Proposal.objects.all().update(status="withdrawn")
    data = answered(call("propose_memory_rewrite", **REWRITE | more))["data"]
    assert data["created"]
    return next((warning for warning in data["warnings"] if "read" in warning), "")


def test_a_rewrite_unread_is_made_with_a_warning_that_names_the_atomic_tools(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_rewrite", **REWRITE | {"session_id": "s-1"}))
    (warning,) = answer["data"]["warnings"]
    assert warning.startswith(f"{UNREAD} in this session, and this replaces all of its text.")
    for tool in ("edit", "edits", "append", "prepend", "insert"):
        assert f"propose_memory_{tool}" in warning
    assert "propose_section_update" in warning
    assert answer["text"].splitlines()[-1] == warning
    assert Proposal.objects.get().status == "open"


def test_an_empty_block_is_filled_without_a_warning(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "")
    assert warned(call) == ""


def test_a_block_read_in_the_session_is_read(call: Call, goals: Block) -> None:
    read(call, session_id="s-1")
    assert warned(call, session_id="s-1") == ""
    assert warned(call) == "", "a call that names no session"
    assert warned(call, session_id="s-2").startswith(UNREAD)
    read(call)
    assert warned(call, session_id="s-2") == "", "a read that named no session counts for any"


def test_the_context_shows_blocks_whole_for_which_it_has_room(api: Machine, call: Call, goals: Block) -> None:
    answered(api.get("/api/v1/users/alice/context/?budget=1"))
    assert warned(call).startswith(UNREAD)
    answered(api.get("/api/v1/users/alice/context/?session_id=s-1"))
    assert warned(call, session_id="s-1") == ""


@pytest.mark.parametrize(
    ("how", "is_whole"),
    [
        ({"view_range": [1, 3]}, False),
        ({"view_range": [2, -1]}, False),
        ({"view_range": [1, -1]}, True),
        ({"view_range": [1, 9]}, True),
        ({"max_characters": 100}, False),
        ({"as_of": "now"}, False),
    ],
)
def test_only_the_whole_text_as_it_is_counts(
    call: Call, alice: User, make_block: MakeBlock, how: dict[str, Any], is_whole: bool
) -> None:
    make_block(alice, "goals", "She rows on the Alster.\n" * 9)
    refused(call("read_memory_block", block_label="goals", view_range=[99, 99]), 400, "invalid_arguments")
    read(call, **({"as_of": reads.head("alice")} if "as_of" in how else how))
    assert (warned(call) == "") == is_whole


@pytest.mark.parametrize(
    ("parts", "is_whole"),
    [
        ([[1, 3], [4, -1]], True),
        ([[1, 3], [3, 6], [7, 9]], True),
        ([[1, 3], [5, -1]], False),
        ([[4, -1], [1, 3]], False),
        ([[1, 3], [4, 8]], False),
    ],
)
def test_a_block_read_in_parts_from_its_beginning_is_read(
    call: Call, alice: User, make_block: MakeBlock, parts: list[list[int]], is_whole: bool
) -> None:
    make_block(alice, "goals", "She rows on the Alster.\n" * 9)
    for part in parts:
        read(call, view_range=part)
    assert (warned(call) == "") == is_whole
    edit(alice, "goals", "She rows on the Alster.\n" * 9, "She rows.\n" * 9)
    read(call, view_range=[4, -1])
    assert warned(call).startswith((UNREAD, CHANGED)), "the beginning was that of another text"


def test_what_another_agent_or_of_another_owner_was_read_does_not_count(
    call: Call, rival: Machine, issue: Issue, alice: User, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(ben, "goals", "Ben's.")
    read(rival.call)
    read(Machine(issue(ben)).call)
    assert warned(call).startswith(UNREAD)
    read(Machine(issue(alice)).call)
    assert warned(call) == "", "another token of the same agent"


def test_a_text_that_changed_since_is_not_the_one_that_was_read(call: Call, goals: Block, alice: User) -> None:
    read(call)
    edit(alice, "goals", "likes", "loves")
    assert warned(call).startswith(CHANGED)
    read(call)
    assert warned(call) == ""


@pytest.mark.parametrize("tool", ["propose_memory_rewrite", "write_file"])
def test_a_rewrite_from_an_older_reading_says_so_to_its_agent_and_its_reviewer(
    call: Call, alice: User, tim: User, goals: Block, client_of: ClientOf, tool: str
) -> None:
    asked = {"path": "/memories/blocks/goals.md"} if tool == "write_file" else {"block_label": "goals"}

    def seen_of(content: str, **more: Any) -> tuple[bool, bool, str]:
        """Whether the agent is told of the older reading, and its reviewer; what the agent is shown of its call."""
        answer = answered(call(tool, **asked, content=content, reasoning="r", **more))
        number = answer["data"]["proposal_id"]
        page = client_of(tim).get(f"/proposals/{number}/").content.decode()
        said = f"is told so. Read it again; if this takes back what others wrote, amend it with proposal_id={number}."
        told = answered(call("get_proposal", proposal_id=number))["text"]
        return said in answer["text"], "rewrote this from an older version of the block" in page, told

    read(call)
    assert seen_of("First.")[:2] == (False, False)
    edit(alice, "goals", "likes", "loves")
    is_told, is_shown, text = seen_of("Second.")
    assert (is_told, is_shown, "is_of_older" in text) == (True, True, False)
    number = Proposal.objects.latest("pk").pk
    assert seen_of("Third.", proposal_id=number)[:2] == (True, True)
    read(call)
    assert seen_of("Fourth.", proposal_id=number)[:2] == (False, False)


def test_a_read_counts_for_a_day_and_in_its_session_for_as_long_as_that_lasts(call: Call, goals: Block) -> None:
    read(call)
    read(call, session_id="s-1")
    block_reads.settle()
    BlockRead.objects.update(at=timezone.now() - timedelta(hours=25))
    assert warned(call).startswith(UNREAD)
    assert warned(call, session_id="s-2").startswith(UNREAD)
    assert warned(call, session_id="s-1") == ""
    assert block_reads.purge() == 0
    BlockRead.objects.update(at=timezone.now() - timedelta(days=31))
    assert block_reads.purge() == 2


def test_reading_again_keeps_one_row_and_nothing_of_text_or_session(call: Call, goals: Block) -> None:
    for _ in range(3):
        read(call, session_id="s-1")
    block_reads.settle()
    (row,) = BlockRead.objects.all()
    assert (row.owner, row.label) == ("alice", "goals")
    assert "s-1" not in row.session
    assert goals.body_sha256 not in (row.text, row.session)
