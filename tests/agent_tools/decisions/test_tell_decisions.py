"""What was decided, beside the answers to other calls: once, about that owner alone, and lost by nothing."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from agent_tools import (
    auth,
    tools,  # noqa: F401 - fills the registry
)
from agent_tools.auth import Caller
from agent_tools.calls import execution, registry
from agent_tools.calls.execution import Audit
from agent_tools.models import IdempotencyKey, ToldUntil
from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.agent_tools.calls.test_statements import statements
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.decisions.conftest import ReadOn
from tests.agent_tools.decisions.test_read_decisions import LOVES, deciding, needs_postgresql
from tests.conftest import at_once
from tests.support.acts import approve
from tests.support.crashing import crash_at
from tests.support.fixtures import MakeBlock, Propose

HEADING = "Decided since you were last told:"


@pytest.fixture
def number(token: str, proposal: Proposal) -> int:
    """A proposal that waits, made after the token."""
    return proposal.pk


def reject(person: User, number: int, comment: str = "No.", reason: str = "wrong") -> None:
    services.reject(actor=person, proposal_id=number, revision=1, reason=reason, comment=comment)


def told(response: Any) -> list[int]:
    """The numbers of the proposals whose decisions an answer tells, in its data and in its text alike."""
    answer = answered(response)
    decisions = answer["data"].get("decisions")
    if decisions is None:
        assert HEADING not in answer["text"]
        return []
    body, _, lines = answer["text"].partition(f"\n\n{HEADING}\n")
    assert body
    assert lines.split("\n")[: len(decisions["items"])] == [f"- {item['text']}" for item in decisions["items"]]
    return [item["proposal_id"] for item in decisions["items"]]


def test_the_next_answer_tells_what_was_decided_once(call: Call, tim: User, number: int) -> None:
    assert told(call("recall")) == []
    reject(tim, number, comment="Say it warmer.", reason="badly_worded")
    answer = answered(call("recall"))
    line = f"- Proposal {number} for block 'goals' was rejected by tim (badly_worded): Say it warmer. {LOVES}"
    assert answer["text"].endswith(f"\n\n{HEADING}\n{line}")
    (item,) = answer["data"]["decisions"]["items"]
    assert (item["what"], item["reason"], item["comment"]) == ("rejected", "badly_worded", "Say it warmer.")
    assert told(call("recall")) == []


def test_a_write_tells_too_and_says_the_same_when_repeated(call: Call, tim: User, number: int) -> None:
    reject(tim, number)
    first = call("memory_save", content="She rows.", idempotency_key="k")
    assert told(first) == [number]
    again = call("memory_save", content="She rows.", idempotency_key="k")
    assert again.content == first.content
    assert again["Idempotency-Replayed"] == "true"
    assert told(call("memory_save", content="She sails.", idempotency_key="l")) == []


#: How each tool that only reads is called. Lists of what search found, and of what was proposed, have room for news.
READS: dict[str, dict[str, Any]] = {
    "list_memory_blocks": {},
    "read_memory_block": {"block_label": "goals"},
    "list_files": {},
    "view_file": {"path": "/memories/blocks/goals.md"},
    "prime_memories": {"format": "json"},
    "memory_read_session": {"session_id": "s-1"},
    "memory_list_sessions": {},
    "memory_search": {"query": "math"},
    "recall": {},
}
WITH_ROOM = {"memory_list_sessions", "memory_search", "recall"}


def test_a_text_to_quote_or_a_file_is_that_text_alone_and_the_next_answer_tells(
    api: Machine, call: Call, tim: User, goals: Block, number: int
) -> None:
    of_proposals = {"list_proposals", "get_proposal"}
    reading = {name for name, each in registry.TOOLS.items() if each.effect == "read_only"} - of_proposals
    assert reading == set(READS), "every tool that reads is asked here"
    said = {"messages": [{"role": "user", "content": "I row."}]}
    answered(api.post("/api/v1/users/alice/conversations/s-1/messages/", said))
    paths = ["context/", "notes/", "search/?q=nothing"]
    asked: list[Any] = [partial(api.get, f"/api/v1/users/alice/{path}") for path in paths]
    asked += [partial(call, name, **given) for name, given in READS.items() if name not in WITH_ROOM]
    before = [answered(ask())["text"] for ask in asked]
    reject(tim, number)
    after = [answered(ask()) for ask in asked]
    assert [answer["text"] for answer in after] == before
    assert not any("decisions" in answer["data"] for answer in after)
    assert HEADING not in api.get("/api/v1/users/alice/memories.md").content.decode()
    assert told(call("recall")) == [number]
    assert "decisions" not in answered(call("list_memory_blocks"))["data"]


def test_neither_a_refusal_nor_the_list_of_proposals_tells_or_swallows_it(call: Call, tim: User, number: int) -> None:
    reject(tim, number)
    assert told(call("list_proposals", user_id="alice")) == []
    error = refused(call("memory_update", note_id="note-x", content="x"), 404, "note_not_found")
    assert HEADING not in error["text"]
    assert told(call("recall")) == [number]


def test_only_the_owner_of_the_call_is_talked_about(
    issue: Issue, alice: User, ben: User, tim: User, number: int, make_block: MakeBlock,
    propose: Propose,
) -> None:  # fmt: skip
    both = Machine(issue(alice, ben))
    diary = propose(make_block(ben, "diary", "Ben rows."), "rows", "sails").pk
    reject(tim, number)
    reject(ben, diary)
    assert told(both.call("recall", user_id="ben")) == [diary]
    assert told(both.call("list_proposals")) == [], "this call is about no owner"
    assert told(both.call("recall", user_id="ben")) == []
    assert told(both.call("recall", user_id="alice")) == [number]


def test_a_call_about_a_proposal_is_about_its_owner(
    issue: Issue, alice: User, ben: User, tim: User, goals: Block, number: int, propose: Propose
) -> None:
    both = Machine(issue(alice, ben))
    other = propose(goals, "one book", "two books").pk
    reject(tim, number)
    assert told(both.call("comment_on_proposal", proposal_id=other, comment="Is that right?")) == [number]


def test_what_a_proposal_says_of_itself_is_not_told_again(
    call: Call, tim: User, goals: Block, number: int, propose: Propose
) -> None:
    reject(tim, number)
    answer = answered(call("get_proposal", proposal_id=number))
    assert HEADING not in answer["text"]
    assert "decisions" not in answer["data"]
    assert told(call("recall")) == []
    services.undo(actor=tim, proposal_id=number)
    services.comment(actor=tim, proposal_id=number, text="Which exam?")
    answer = answered(call("get_proposal", proposal_id=number))
    assert [item["what"] for item in answer["data"]["decisions"]["items"]] == ["reopened", "commented"]


def test_each_token_of_an_agent_is_told(issue: Issue, alice: User, tim: User, call: Call, number: int) -> None:
    other = Machine(issue(alice))
    reject(tim, number)
    later = Machine(issue(alice))
    assert told(call("recall")) == [number]
    assert told(other.call("recall")) == [number]
    assert told(later.call("recall")) == [], "a new token is not told what was decided before it"
    another = Machine(issue(alice, agent=Agent.objects.create(name="reader")))
    assert told(another.call("recall")) == []


def test_a_handful_is_told_at_a_time_and_how_to_get_the_rest(
    api: Machine, call: Call, tim: User, goals: Block, number: int, propose: Propose, read_on: ReadOn
) -> None:
    numbers = [number, *(propose(goals, "likes math", f"likes math {n}").pk for n in range(7))]
    for each in numbers:
        reject(tim, each)
    answer = answered(call("recall"))
    decisions = answer["data"]["decisions"]
    assert [item["proposal_id"] for item in decisions["items"]] == numbers[:5]
    assert (decisions["more"], decisions["left_out"]) == (True, 3)
    assert answer["text"].endswith(f"(3 more: list_proposals with decided_since {decisions['next']} has them.)")
    rest = answered(call("list_proposals", decided_since=decisions["next"]))
    assert [item["proposal_id"] for item in rest["data"]["items"]] == numbers[5:]
    assert "decisions" not in rest["data"]
    assert told(call("recall")) == numbers[5:], "the feed does not move what the answers tell"


def test_calls_at_the_same_time_tell_it_once(token: str, tim: User, number: int) -> None:
    reject(tim, number)
    answers = at_once(lambda: told(Machine(token).call("recall")), 8)
    # Two that meet may both leave it to the next one, on a server.
    answers.append(told(Machine(token).call("recall")))
    assert sorted(answers) == [[]] * 8 + [[number]]


@needs_postgresql
def test_nothing_is_told_while_somebody_decides_and_all_of_it_afterwards(
    call: Call, tim: User, goals: Block, number: int, propose: Propose
) -> None:
    second = propose(goals, "one book", "two books").pk
    with deciding(tim, number):
        reject(tim, second)
        assert told(call("recall")) == []
    assert told(call("recall")) == [number, second]


@pytest.mark.slow
def test_a_call_that_dies_anywhere_tells_it_when_it_is_repeated(token: str, tim: User, number: int) -> None:
    reject(tim, number)
    step = 1
    while crash_at(step, save_with_key, token, f"k{step}"):
        IdempotencyKey.objects.filter(status=None).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
        assert told(save(token, f"k{step}")) == [number], f"after a crash at step {step}"
        ToldUntil.objects.all().delete()
        step += 1
    assert step > 3


def save(token: str, key: str) -> Any:
    return Machine(token).call("memory_save", content="She rows.", idempotency_key=key)


def save_with_key(token: str, key: str) -> None:
    """The same call in a process without a test client."""
    found = auth.find(token)
    assert found is not None
    given = {"content": "She rows.", "idempotency_key": key}
    execution.execute(registry.TOOLS["memory_save"], Caller(found), given, key=None, audit=Audit())


def test_texts_that_were_removed_leave_the_kept_answers(call: Call, alice: User, tim: User, goals: Block) -> None:
    change = {"block_label": "goals", "old_string": "likes math", "new_string": "has a zebrafinch", "reasoning": "So."}
    number = answered(call("propose_memory_edit", **change))["data"]["proposal_id"]
    services.comment(actor=tim, proposal_id=number, text="A zebrafinch?")
    first = call("memory_save", content="She rows.", idempotency_key="k")
    assert "zebrafinch" in first.content.decode()
    reject(alice, number, reason="too_private", comment="Not about birds.")
    again = call("memory_save", content="She rows.", idempotency_key="k")
    assert "zebrafinch" not in again.content.decode()
    assert answered(again)["data"]["note_id"] == first.json()["data"]["note_id"]
    assert Proposal.objects.filter(kind="save").count() == 1


def test_when_nothing_is_new_it_costs_one_query(call: Call, tim: User, number: int) -> None:
    approve(tim, Proposal.objects.get(pk=number))
    assert told(call("recall")) == [number]
    call("recall")
    with statements() as asked:
        assert told(call("recall")) == []
    assert len([each for each in asked if "approvals_event" in each]) == 1
