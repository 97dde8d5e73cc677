"""What a model can do that sees `text` and nothing else: jobs in a new session, and what each description promises."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.registry import ENDPOINTS, TOOLS
from approvals import services
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.mcp.peer import Peer, text_of
from tests.support.acts import approve, as_seen, save
from tests.support.fixtures import MakeBlock, Propose

WHY = {"reasoning": "She said so in October."}


def read(call: Call, tool: str, /, **asked: Any) -> str:
    """The text of an answer, of which the model sees nothing else."""
    text: str = answered(call(tool, **asked))["text"]
    return text


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, f"{pattern} is not in:\n{text}"
    return match[1]


# -- jobs -----------------------------------------------------------------------------------------


@pytest.fixture
def several(propose: Propose, goals: Block) -> list[Proposal]:
    """Proposals of a session that is over."""
    changes = [("likes math", "loves math"), ("B2 exam", "C1 exam"), ("one book", "two books")]
    return [propose(goals, *change) for change in changes]


@pytest.mark.parametrize("way", ["list_proposals", "get_proposal", "decisions", "prompt"])
def test_what_a_reviewer_asks_for_is_done_in_a_new_session(
    call: Call, token: str, tim: User, several: list[Proposal], way: str
) -> None:
    asked = several[1].pk
    comment = "Not C1 yet: say that she is thinking of it."
    services.request_changes(actor=tim, proposal_id=asked, revision=1, comment=comment, reason="wrong")
    if way == "prompt":
        result = Peer(token).result("prompts/get", {"name": "review_my_proposals"})
        text = result["messages"][0]["content"]["text"]
    elif way == "get_proposal":
        text = read(call, way, proposal_id=asked)
    elif way == "decisions":
        text = read(call, "recall")
    else:
        text = read(call, way, status="changes_requested")
    assert comment in text
    number = int(found(r"with proposal_id=(\d+)", text))
    # What it was about: its own old words are in the block still, and stand in the text.
    assert re.search(r"B2 exam.*C1 exam", text)
    block = read(call, "read_memory_block", block_label=found(r"block '(\w+)'", text))
    assert "B2 exam" in block
    change = {"old_string": "pass the B2 exam", "new_string": "pass the B2 exam, and thinks of C1,"}
    read(call, "propose_memory_edit", block_label="goals", **change, proposal_id=number, **WHY)
    proposal = Proposal.objects.get(pk=asked)
    assert (proposal.status, proposal.current_revision_number) == ("open", 2)


def test_the_right_one_of_several_is_taken_back(call: Call, several: list[Proposal]) -> None:
    text = read(call, "list_proposals")
    number = int(found(r"- (\d+): block 'goals', open; it still applies\n  You asked: .*two books", text))
    read(call, "withdraw_proposal", proposal_id=number)
    assert list(Proposal.objects.filter(status="withdrawn")) == [several[2]]


def test_a_rejection_is_learnt_from(call: Call, tim: User, several: list[Proposal]) -> None:
    services.reject(actor=tim, proposal_id=several[0].pk, revision=1, reason="wrong", comment="She likes it, no more.")
    for text in (
        read(call, "list_proposals", status="rejected"),
        read(call, "get_proposal", proposal_id=several[0].pk),
    ):
        assert re.search(r"rejected.*\(wrong\): She likes it, no more\.[^¶]*likes math.*loves math", text)
        assert "Alice said so." in text, "its own reason"
    again = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math"}
    refusal = refused(call("propose_memory_edit", **again, reasoning="Again."), 409, "rejected_before")["text"]
    assert "She likes it, no more." in refusal
    assert "force=true" in refusal


def test_what_was_decided_is_read_with_the_words_that_were_taken(
    call: Call, tim: User, goals: Block, several: list[Proposal]
) -> None:
    text = goals.body.replace("likes math", "enjoys algebra")
    services.approve_edited(actor=tim, **as_seen(several[0]), text=text)
    approve(tim, several[2])
    told = read(call, "recall")
    assert 'The memory has "Alice enjoys algebra." instead of "Alice loves math."' in told
    assert re.search(rf"Proposal {several[2].pk} .*approved by tim.*one book.*two books", told)


def test_a_new_block_that_waits_is_found_again_and_gone_on_with(call: Call, goals: Block) -> None:
    read(call, "propose_memory_block", label="diary", title="Diary", body="- She rowed.\n", **WHY)
    number = int(found(r"- diary: Diary \(proposal (\d+)", read(call, "list_memory_blocks")))
    asked = found(r"You asked: propose_memory_block (\{.*\})", read(call, "get_proposal", proposal_id=number))
    assert json.loads(asked)["body"] == "- She rowed.\n"
    read(call, "propose_memory_append", block_label="diary", content="- She sailed.\n", proposal_id=number, **WHY)
    assert Proposal.objects.get().current_revision.result_text == "- She rowed.\n- She sailed.\n"


def test_a_long_change_is_cut_and_says_how_to_get_all_of_it(call: Call, goals: Block) -> None:
    content = "She rows. " * 200
    read(call, "propose_memory_append", block_label="goals", content=content, **WHY)
    number = Proposal.objects.get().pk
    text = read(call, "get_proposal", proposal_id=number)
    most = int(found(r"1,000 more characters: max_characters=(\d+) brings them", text))
    assert content in read(call, "get_proposal", proposal_id=number, max_characters=most)
    assert len(read(call, "list_proposals")) < 800


# -- promises -------------------------------------------------------------------------------------


@pytest.fixture
def scene(
    call: Call, api: Machine, alice: User, tim: User, goals: Block, several: list[Proposal], make_block: MakeBlock
) -> dict[str, Any]:
    """Several of everything that is read."""
    make_block(alice, "plan", "x" * 90 + "\ny\n" * 9)
    for text in ("She rows.", "She sails."):
        save(alice, text)
        said = {"messages": [{"role": "user", "content": text, "author": "Alice"}, {"role": "user", "content": "Yes."}]}
        answered(api.post(f"/api/v1/users/alice/conversations/{text[4:-1]}/messages/", said))
    read(call, "remember", content="She might row in Kiel.", confidence=0.2)
    services.comment(actor=tim, proposal_id=several[1].pk, text="Since when?")
    services.request_changes(actor=tim, proposal_id=several[1].pk, revision=1, comment="Say when.", reason="wrong")
    services.approve_edited(actor=tim, **as_seen(several[0]), text=goals.body.replace("likes math", "enjoys algebra"))
    long = answered(call("propose_memory_append", block_label="plan", content="She rows. " * 20, **WHY))["data"][
        "proposal_id"
    ]
    return {"decided": several[0].pk, "asked": several[1].pk, "open": several[2].pk, "long": long}


#: What a description says, how the tool is called then, and what stands in its text.
PROMISES: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "list_proposals",
        "their status",
        {},
        r"approved with changes\n[^¶]*list_proposals with proposal_id has all of one\.",
    ),
    ("list_proposals", "what the reviewer said", {}, r"changes_requested .*\(wrong\): Say when\."),
    ("list_proposals", "whether those still open apply", {}, r"open; (its target changed, and )?it still applies"),
    ("list_proposals", "With decided_since: what was decided since", {"decided_since": ""}, r"enjoys algebra"),
    ("get_proposal", "its status", {"proposal_id": "open"}, r"is open: "),
    ("get_proposal", "the reviewer's reason", {"proposal_id": "asked"}, r"\(wrong\)"),
    ("get_proposal", "the changes asked of you", {"proposal_id": "asked"}, r"Say when\."),
    ("get_proposal", "comments", {"proposal_id": "asked"}, r"tim commented: Since when\?"),
    ("get_proposal", "was approved in which words", {"proposal_id": "decided"}, r'"Alice enjoys algebra\." instead of'),
    ("get_proposal", "whether it still applies", {"proposal_id": "open"}, r"it still applies"),
    (
        "read_memory_block",
        "its own first line is line 1",
        {"block_label": "goals", "line_numbers": True},
        r"^1\t# Goals",
    ),
    ("memory_save", "Returns a note_id", {"content": "She skis."}, r"note-[0-9a-f-]{36}"),
    ("memory_list_sessions", "when they were and what they began with", {}, r"rows \(20.*: She rows\."),
    ("propose_block_deletion", "submitted as a proposal", {"block_label": "plan", **WHY}, r"It is proposal \d+"),
]


@pytest.mark.parametrize(("tool", "promise", "asked", "said"), PROMISES)
def test_what_a_description_promises_is_in_the_text(
    call: Call, scene: dict[str, Any], tool: str, promise: str, asked: dict[str, Any], said: str
) -> None:
    assert promise in TOOLS[tool].description
    given = {name: scene.get(value, value) if isinstance(value, str) else value for name, value in asked.items()}
    assert re.search(said, read(call, tool, **given)), read(call, tool, **given)


#: What each tool, and what each address that lists, is called with; lists that are not said otherwise with `limit=1`.
PARTS: dict[str, dict[str, Any]] = {
    "list_memory_blocks": {},
    "list_files": {},
    "list_proposals": {},
    "memory_list_sessions": {},
    "memory_read_session": {"session_id": "rows"},
    "read_memory_block": {"block_label": "plan", "max_characters": 100},
    "view_file": {"path": "/memories/blocks/plan.md", "max_characters": 100},
    "memory_search": {"query": "she", "max_characters": 100},
    "recall": {"max_characters": 100},
    "get_proposal": {"proposal_id": "long", "max_characters": 100},
    "prime_memories": {"budget": 10},
}
LISTS = {
    "block_list": "users/alice/blocks/",
    "block_history": "users/alice/blocks/goals/history/",
    "note_list": "users/alice/notes/",
    "decision_list": "proposals/decisions/",
}


@pytest.mark.parametrize("tool", [name for name, tool in TOOLS.items() if tool.effect == "read_only"])
def test_whatever_is_cut_says_so_and_how_to_get_the_rest(call: Call, scene: dict[str, Any], tool: str) -> None:
    given = {name: scene.get(value, value) if isinstance(value, str) else value for name, value in PARTS[tool].items()}
    takes = TOOLS[tool].arguments.model_fields
    if "limit" in takes and "max_characters" not in given:
        given["limit"] = 1
    answer = answered(call(tool, **given))
    data, text = answer["data"], answer["text"]
    rest = data.get("next") or data.get("next_range") or ("max_characters=" if data.get("left_out") else "budget=0")
    assert str(rest) in text, text
    for most in ("limit", "top_k"):
        if most in takes and "next" not in data:
            cut = given | {"max_characters": None, most: 1}
            assert re.search(r"\(There may be more: limit, up to \d+, shows more\.\)", read(call, tool, **cut))


@pytest.mark.parametrize("name", [name for name, each in ENDPOINTS.items() if "limit" in each.arguments.model_fields])
def test_a_list_by_address_says_that_it_goes_on(api: Machine, scene: dict[str, Any], name: str) -> None:
    services.approve(actor=User.objects.get(username="tim"), **as_seen(Proposal.objects.get(pk=scene["open"])))
    answer = answered(api.get(f"/api/v1/{LISTS[name]}?limit=1"))
    assert answer["data"]["next"] in answer["text"]


def test_what_is_less_sure_is_counted(call: Call, scene: dict[str, Any]) -> None:
    for asked in ({}, {"query": "zzzz"}, {"query": "zzzz", "match": "text"}):
        less = "(1 of less confidence are left out, whatever they say: min_confidence=0 takes them in.)"
        assert less in read(call, "recall", **asked)
    assert "less confidence" not in read(call, "recall", min_confidence=0)


def test_nothing_that_was_removed_or_deleted_is_in_the_text(
    call: Call, alice: User, tim: User, several: list[Proposal], historian: Machine
) -> None:
    services.reject(actor=tim, proposal_id=several[0].pk, revision=1, reason="too_private", comment="No.")
    block = reads.block("alice", "goals")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=block.sha256)
    made = answered(call("propose_memory_block", label="diary", title="", body="She read two books.", **WHY))
    number = made["data"]["proposal_id"]
    approve(alice, Proposal.objects.get(pk=number))
    sha256 = reads.block("alice", "diary").sha256
    services.delete_block(actor=alice, owner="alice", label="diary", loaded_sha256=sha256)
    asks: list[Callable[[], str]] = [
        lambda: read(call, "list_proposals"),
        lambda: read(call, "recall"),
        lambda: read(call, "get_proposal", proposal_id=number),
    ]
    for ask in asks:
        assert "math" not in ask()
        assert "book" not in ask()
    assert "two books" in read(historian.call, "list_proposals")
    assert "two books" in read(historian.call, "get_proposal", proposal_id=number)


def test_a_model_with_the_usual_list_is_sent_to_no_tool_that_it_does_not_see(
    alice: User, tim: User, goals: Block, several: list[Proposal], issue: Issue
) -> None:
    peer = Peer(issue(alice, toolset="core"))
    seen = set(peer.names())
    services.comment(actor=tim, proposal_id=several[1].pk, text="Since when?")
    services.approve_edited(actor=tim, **as_seen(several[0]), text=goals.body.replace("likes math", "enjoys algebra"))
    which = {"block_label": "diary", "content": "She rows.", **WHY}
    texts = [text_of(peer.call("propose_memory_append", **which, **more)) for more in ({}, {"title": "Diary"}, {})]
    texts += [text_of(peer.call("list_proposals", **more)) for more in ({}, {"decided_since": ""})]
    texts += [text_of(peer.call("list_proposals", proposal_id=each.pk)) for each in several]
    assert "list_proposals with proposal_id has all of one." in texts[-5]
    assert "Since when?" in texts[-4]
    for text in texts:
        assert {name for name in TOOLS if re.search(rf"\b{name}\b", text)} <= seen, text
    assert "memory_search has the ids" in text_of(peer.call("memory_delete", note_id="note-1"))
    assert "list_proposals has the numbers" in text_of(peer.call("withdraw_proposal", proposal_id=99))
    alone = Peer(issue(alice), query="tools=memory_delete")
    assert text_of(alone.call("memory_delete", note_id="note-1")) == "Error: Note 'note-1' not found."
