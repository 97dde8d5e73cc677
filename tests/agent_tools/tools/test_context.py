"""prime_memories and the context endpoint: budget, receipt, filters, injection modes."""

import json
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from agent_tools.calls import registry
from agent_tools.calls.registry import TOOLS
from agent_tools.tools import guidance
from approvals.models import User
from approvals.services import notes
from assent_client.text import memories_md
from assent_client.text.memories_md import SKILL, TYPES, skill
from memory_app import reads
from memory_app.reads import Block
from memory_app.reads.catalogue import catalogue
from memory_app.text import context_budget
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import save
from tests.support.fixtures import MakeBlock

CONTEXT = "/api/v1/users/alice/context/"

pytestmark = pytest.mark.usefixtures("alice")


@pytest.fixture
def api(issue: Issue, alice: User) -> Machine:
    """scribe's client, with every tool in its list."""
    return Machine(issue(alice, toolset="all"))


def primed(call: Call, **more: Any) -> dict[str, Any]:
    data: dict[str, Any] = answered(call("prime_memories", **more))["data"]
    return data


def included(call: Call, **more: Any) -> list[str]:
    """The ids of the notes that are primed."""
    ids: list[str] = primed(call, **more)["receipt"]["included"]
    return ids


def context(api: Machine, query: str = "") -> dict[str, Any]:
    """The data of a context with its text, which has each of its texts once."""
    answer = answered(api.get(f"{CONTEXT}{query}"))
    data: dict[str, Any] = answer["data"] | {"text": answer["text"]}
    return data


# -- prime_memories -------------------------------------------------------------------------------


def test_everything_is_primed_when_it_fits(call: Call, alice: User) -> None:
    first, second = save(alice, "one", tags=["x"]), save(alice, "two")
    data = primed(call)
    receipt = data["receipt"]
    assert receipt["included"] == [second, first]
    assert (receipt["left_out"], receipt["left_out_count"], receipt["over_budget"]) == ([], 0, False)
    assert (receipt["budget"], receipt["commit"]) == (2_000, reads.head("alice"))
    memories = memories_md.parse(data["text"].replace("note-", "mem-")).memories
    assert {memory.content for memory in memories} <= {"one", "two"}
    assert "> one" in data["text"]
    newer, older = json.loads(primed(call, format="json")["text"])
    assert (older["id"], older["content"], older["tags"]) == (first, "one", ["x"])
    assert newer["id"] == second


def test_what_does_not_fit_is_left_out_whole_but_for_the_first(call: Call, alice: User) -> None:
    ids = [save(alice, f"{number} " + "x" * 400) for number in range(5)]
    data = primed(call, budget=300)
    receipt = data["receipt"]
    assert receipt["included"] == ids[:2:-1]
    assert receipt["left_out"] == [{"note_id": id_, "why": "budget"} for id_ in ids[2::-1]]
    assert receipt["tokens"] <= 300
    assert data["text"].count("x" * 400) == 2
    receipt = primed(call, budget=10)["receipt"]
    assert (receipt["included"], receipt["over_budget"]) == ([ids[-1]], True)


def test_no_heading_is_printed_without_a_note_beneath_it(call: Call, api: Machine, alice: User) -> None:
    assert primed(call)["text"] == ""
    assert answered(call("prime_memories"))["text"] == "There are no memories to show."
    assert primed(call, format="json")["text"] == "[]"
    assert "# Memories\n" not in context(api)["text"]
    save(alice, "x" * 400, type="fact")
    save(alice, "Use podman.", type="decision")
    for asked in ({"budget": 1}, {"budget": 60}, {"budget": 0}, {"types": ["fact"]}):
        data = primed(call, **asked)
        lines = [line for line in data["text"].splitlines() if line]
        assert lines[0] == "# Memories"
        for heading, beneath in zip(lines[1:], [*lines[2:], "## "], strict=True):
            assert not (heading.startswith("## ") and not beneath.startswith("### ")), data["text"]
        assert data["receipt"]["tokens"] == -(-len(data["text"].encode()) // 4)
    text = context(api, "?budget=1")["text"]
    assert text[text.index("# Memories\n") :].count("\n### ") == 1


def test_the_budget_is_used_to_the_last_token_and_none_is_no_limit(call: Call, alice: User) -> None:
    for number in range(6):
        save(alice, f"{number} " + "x" * 1_900, type=("fact", "decision", "fix")[number % 3])
    for form in ("markdown", "json"):
        whole = primed(call, budget=0, format=form)["receipt"]
        assert len(whole["included"]) == 6
        assert len(included(call, budget=whole["tokens"], format=form)) == 6
        assert len(included(call, budget=whole["tokens"] - 1, format=form)) == 5
    assert len(included(call)) < 6


def test_what_is_recalled_often_comes_before_what_is_newer(call: Call, alice: User) -> None:
    often, newer = save(alice, "often"), save(alice, "newer")
    for _ in range(3):
        call("recall", query="often", match="text")
    assert included(call) == [often, newer]


def test_filters_say_why(call: Call, api: Machine, alice: User) -> None:
    fix, fact = save(alice, "fix", type="fix", tags=["docker"]), save(alice, "fact", type="fact")
    gone = save(alice, "gone")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=gone)
    receipt = primed(call, types=["fix"])["receipt"]
    assert receipt["included"] == [fix]
    assert {each["note_id"]: each["why"] for each in receipt["left_out"]} == {fact: "type", gone: "superseded"}
    assert included(call, tags=["docker", "x"]) == [fix]
    old = "### mem-1-aaaa\n> old\n<!-- created: 2025-01-20 -->\n"
    answered(api.http.post("/api/v1/users/alice/memories.md", old, content_type="text/markdown"))
    receipt = primed(call, recent=7)["receipt"]
    assert set(receipt["included"]) == {fix, fact}
    assert {"note_id": "mem-1-aaaa", "why": "recent"} in receipt["left_out"]


def test_notes_are_read_for_a_context_only_as_far_as_they_fit(call: Call, alice: User) -> None:
    for number in range(30):
        save(alice, f"{number} " + "x" * 200)
    catalogue("alice")
    read: list[Any] = []

    def wrap(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "memory_app_note" in sql:
            read.extend(params)
        return execute(sql, params, many, context)

    with connections["memory"].execute_wrapper(wrap):
        assert len(included(call, budget=70)) == 1
    assert len(read) < 3


# -- the context ----------------------------------------------------------------------------------


def test_the_context_has_blocks_instructions_notes_and_skill(api: Machine, alice: User, goals: Block) -> None:
    save(alice, "Alice likes tea.")
    data = context(api)
    text = data["text"]
    places = [text.index(part) for part in ("## Student Context", goals.body.strip(), guidance.INSTRUCTIONS)]
    places += [text.index(part) for part in ("# Memories\n", "> Alice likes tea.", SKILL.strip())]
    assert places == sorted(places)
    assert data["inject"] == "auto"
    assert [block["label"] for block in data["blocks"]] == ["goals"]
    assert len(data["receipt"]["included"]) == 1
    assert guidance.build_memory_context(alice) == text


def test_a_context_without_memories_is_the_instructions_and_the_skill(api: Machine) -> None:
    data = context(api)
    assert "Student Context\n" not in data["text"].replace(guidance.INSTRUCTIONS, "")
    assert data["blocks"] == []
    # The guide says which tool changes a block, and prefers the small ones.
    wanted = "update one with `propose_memory_edit` or\n  `propose_memory_append` to persist important information"
    assert wanted in data["text"]
    assert "Prefer these atomic edits over full rewrites" in data["text"]
    proposing = [name for name in TOOLS if name.startswith("propose_")]
    assert [name for name in proposing if f"`{name}`" not in guidance.BLOCK_TOOLS] == []
    # The skill names all types and the tools.
    for said in ("automatically included", "beyond auto-injected context"):
        assert said not in data["text"], "there are no notes"
    for name in (*TYPES, "`remember`", "`recall`", "`memory_search`", "`forget`", "`prime_memories`"):
        assert name in data["text"]


@pytest.mark.parametrize("budget", [600, 1_500, 2_500, 4_000, 8_000])
def test_a_budget_counts_all_that_is_sent_and_notes_get_a_third_of_what_guides_leave(
    api: Machine, alice: User, make_block: MakeBlock, budget: int
) -> None:
    for number in range(12):
        make_block(alice, f"log-{number:02}", f"{number} " + "x" * 3_000)
    for number in range(60):
        save(alice, f"{number} " + "y" * 300)
    data = context(api, f"?budget={budget}")
    assert context_budget.tokens_of(data["text"]) <= budget
    assert data["text"].count("## Memory Blocks\n") == 1
    beside = context_budget.tokens_of(data["text"]) - data["receipt"]["tokens"] - data["blocks_receipt"]["tokens"]
    assert data["receipt"]["tokens"] >= (budget - beside) / 3 - 120, "one note has about 100 tokens"


@pytest.mark.parametrize(
    ("names", "says", "says_not"),
    [
        (None, ["`recall` filters", "| `propose_section_update` |", "## Memory Blocks"], []),
        (["memory_search", "memory_save"], ["`memory_save` keeps one."], ["_block", "propose_", "recall", "## Memory"]),
        (["list_memory_blocks", "read_memory_block"], ["names the blocks"], ["propose_", "memory_s", "## Memory"]),
        (["read_memory_block", "propose_memory_edit"], ["## Memory Blocks", "| `propose_memory_edit` |"], ["append"]),
    ],
)
def test_the_guides_name_only_tools_that_the_caller_sees(names: Any, says: list[str], says_not: list[str]) -> None:
    listed = registry.LISTED.set(None if names is None else frozenset(names))
    try:
        text = f"{guidance.instructions()}\n\n{guidance.which_tools()}"
    finally:
        registry.LISTED.reset(listed)
    assert [said for said in says if said not in text] == []
    assert [said for said in says_not if said in text] == []


def test_the_context_names_what_is_in_the_list_of_its_token(issue: Issue, alice: User) -> None:
    for toolset, named in (("core", False), ("blocks,notes", True)):
        text = context(Machine(issue(alice, toolset=toolset)))["text"]
        assert ("`propose_section_update`" in text, "`prime_memories`" in text) == (named, named)
        assert "`propose_memory_append`" in text


@pytest.mark.parametrize(
    ("changed", "has_notes", "has_skill"),
    [
        ({"MEMORIES_INJECT": "manual"}, False, True),
        ({"MEMORIES_INJECT": "none"}, False, False),
        ({"MEMORIES_ENABLED": False}, False, False),
        ({"MEMORIES_SKILL_INJECTION": False}, True, False),
        ({"MEMORIES_FILTER_TYPES": ["fix"]}, False, True),
        ({"MEMORIES_FILTER_TAGS": ["food"]}, True, True),
        ({"MEMORIES_FILTER_RECENT": 7}, True, True),
    ],
)
def test_settings_say_what_goes_in(api: Machine, alice: User, changed: Any, has_notes: bool, has_skill: bool) -> None:
    save(alice, "Alice likes tea.", tags=["food"])
    with override_settings(**changed):
        text = context(api)["text"]
    on_request = changed.get("MEMORIES_INJECT") == "manual"
    skilled = skill(included=has_notes, on_request=on_request).strip() in text
    assert ("Memories are not in your context by themselves." in text) == on_request
    assert ("> Alice likes tea." in text, skilled) == (has_notes, has_skill)
    assert ("Review the `# Memories` section above" in text) == (has_notes and has_skill)
    assert guidance.INSTRUCTIONS in text


def test_the_context_keeps_to_its_budget_however_many_blocks_there_are(
    api: Machine, alice: User, make_block: MakeBlock, settings: Any
) -> None:
    labels = [f"log-{number:02}" for number in range(30)]
    for label in labels:
        make_block(alice, label, f"{label} " + "x" * 800)
    make_block(alice, "diary", "x" * 15_000)
    save(alice, "She likes owls.")
    data = context(api, "?budget=4000")
    receipt = data["blocks_receipt"]
    assert context_budget.tokens_of(data["text"]) <= 4_000
    refused(api.get(f"{CONTEXT}?budget=x"), 400, "invalid_arguments")
    assert receipt["included"] == [block["label"] for block in data["blocks"]] == sorted(receipt["included"])
    assert receipt["left_out_count"] == 31 - len(receipt["included"])
    assert {*receipt["included"], *receipt["left_out"]} == {*labels, "diary"}
    assert "log-29" in receipt["included"], "the last changed ones go first"
    assert data["receipt"]["included"]
    assert receipt["left_out"][0] == "diary", "larger than the budget, and never cut"
    assert "no room here for these blocks: `diary`, `" in data["text"]
    assert "read_memory_block" in data["text"].split("## Memory Blocks")[0]

    settings.MEMORIES_BLOCKS_BUDGET = 500
    assert len(context(api)["blocks"]) == 2
    settings.MEMORIES_BLOCKS_BUDGET = 0
    assert len(context(api)["blocks"]) == len(context(api, "?budget=0")["blocks"]) == 31
