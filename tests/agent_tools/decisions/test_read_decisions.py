"""The feed: what people decided, in its order, and nothing that a token may not read.

Who goes on from a cursor misses none and gets none twice, whoever decides meanwhile.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken
from approvals import services
from approvals.models import Agent, Event, Policy, Proposal, User
from approvals.services import Rest, events
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.databases import row_order
from memory_app.reads import Block
from memory_app.text import worddiff
from tests import environment
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.decisions.conftest import FEED, ReadOn
from tests.conftest import eventually, in_a_thread
from tests.support.acts import approve, as_seen, change, edit, reject
from tests.support.fixtures import MakeBlock, Propose

#: What a line says of the change of `proposal`, after what became of it.
LOVES = (
    'You asked: "# Goals Alice likes math. She wants …" → "# Goals Alice loves math. She wants …". '
    "Your reason: Alice said so."
)


def whats(items: list[Any]) -> list[tuple[int, str]]:
    return [(item["proposal_id"], item["what"]) for item in items]


def test_an_approval_is_told_with_who_when_and_a_line(
    api: Machine, tim: User, proposal: Proposal, read_on: ReadOn
) -> None:
    approve(tim, proposal, comment="Well seen.")
    (item,), _ = read_on(api)
    about = (item["proposal_id"], item["user_id"], item["block_label"], item["title"])
    assert about == (proposal.pk, "alice", "goals", "Learning goals")
    assert (item["what"], item["by"], item["comment"], item["status"]) == ("approved", "tim", "Well seen.", "approved")
    assert (item["approval"], item["final_text"], item["difference"]) == ("as_proposed", None, [])
    assert item["at"].endswith("Z")
    assert item["text"] == f"Proposal {proposal.pk} for block 'goals' was approved by tim: Well seen. {LOVES}"


def test_everything_that_can_become_of_a_proposal_is_told_in_its_order(
    api: Machine, alice: User, tim: User, goals: Block, propose: Propose, proposal: Proposal, read_on: ReadOn
) -> None:
    number = proposal.pk
    services.comment(actor=tim, proposal_id=number, text="Which exam?")
    answered(api.call("comment_on_proposal", proposal_id=number, comment="German."))  # an agent is not told of itself
    other = answered(api.call("memory_save", content="She rows."))["data"]["proposal_id"]
    services.request_changes(actor=tim, proposal_id=number, revision=1, comment="Say which.", reason="badly_worded")
    services.back_to_review(actor=tim, proposal_id=number, revision=1)
    reject(tim, proposal, comment="Not so.")
    services.undo(actor=alice, proposal_id=number, comment="It is.")
    approve(alice, Proposal.objects.get(pk=number))
    services.undo(actor=alice, proposal_id=number, comment="No, it was not.")
    services.undo(actor=alice, proposal_id=other)
    late = propose(goals, "one book", "two books")
    Proposal.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    services.expire()

    items, _ = read_on(api, limit=3)
    assert whats(items) == [
        (number, "commented"),
        (number, "changes_requested"),
        (number, "reopened"),
        (number, "rejected"),
        (number, "reopened"),
        (number, "approved"),
        (number, "reverted"),
        (other, "reverted"),
        (late.pk, "expired"),
    ]
    note_id = Proposal.objects.get(pk=other).target
    assert items[-2]["note_id"] == note_id
    what = f"Proposal {number} for block 'goals'"
    assert {item["text"].partition(" You asked: ")[2] for item in items[:7]} == {LOVES.partition(": ")[2]}
    assert [item["text"].partition(" You asked: ")[0] for item in items] == [
        f"{what}: tim commented: Which exam? Answer by amending it, with evidence that says so.",
        f"{what}: changes are requested by tim (badly_worded): Say which.",
        f"{what} was opened again by tim and waits for a person.",
        f"{what} was rejected by tim (wrong): Not so.",
        f"{what} was opened again by alice and waits for a person: It is.",
        f"{what} was approved by alice.",
        f"{what} was undone by alice; the memory no longer has it, and it waits for a person again: No, it was not.",
        f"Proposal {other} for note '{note_id}' was undone by alice, and the memory no longer has it.",
        f"Proposal {late.pk} for block 'goals' has expired: no person decided in time.",
    ]
    assert [item["by"] for item in items] == [*["tim"] * 4, *["alice"] * 4, None]


def test_what_is_in_the_memory_already_is_closed_as_a_duplicate(
    api: Machine, alice: User, goals: Block, proposal: Proposal, read_on: ReadOn
) -> None:
    edit(alice, "goals", "likes math", "loves math")
    services.recheck("alice", [("block", "goals")])
    services.settle(now=timezone.now() + timedelta(days=30))
    (item,), _ = read_on(api)
    assert (item["what"], item["reason"], item["by"]) == ("rejected", "duplicate", None)
    assert "was rejected by Assent (duplicate): This is already in the memory" in item["text"]


def test_the_reviewers_wording_comes_with_the_difference(
    api: Machine, tim: User, goals: Block, proposal: Proposal, read_on: ReadOn
) -> None:
    text = goals.body.replace("likes math", "enjoys algebra")
    services.approve_edited(actor=tim, **as_seen(proposal), text=text)
    (item,), _ = read_on(api)
    assert (item["approval"], item["final_text"], item["is_cut"]) == ("edited", text, False)
    assert item["difference"] == [{"proposed": "Alice loves math.\n", "approved": "Alice enjoys algebra.\n"}]
    assert item["text"] == (
        f"Proposal {proposal.pk} for block 'goals' was approved with changes by tim. "
        f'The memory has "Alice enjoys algebra." instead of "Alice loves math.". {LOVES}'
    )


def test_what_was_not_accepted_and_what_came_back_are_told(
    api: Machine, tim: User, scribe: Agent, goals: Block, read_on: ReadOn
) -> None:
    edits = [("math", "maths"), ("one book", "two books")]
    proposal = change(scribe, *edits)
    first = worddiff.hunks(goals.body, proposal.current_revision.result_text)[0].id
    services.approve_some(
        actor=tim, **as_seen(proposal), accepted=[first], rest=Rest.REJECT, reason="wrong", comment="Only one."
    )
    (item,), cursor = read_on(api)
    assert (item["approval"], item["reason"], item["difference"]) == ("part", "wrong", [])
    assert [each["after"] for each in item["not_accepted"]] == ["She reads two books a month.\n"]
    assert '(wrong): Only one. Not accepted: "She reads two books a month.". You asked: "' in item["text"]

    services.undo(actor=tim, proposal_id=proposal.pk)
    again = change(scribe, *edits)
    services.approve_some(actor=tim, **as_seen(again), accepted=[first], rest=Rest.AGENT, comment="Ask her.")
    items, _ = read_on(api, cursor)
    assert whats(items) == [(proposal.pk, "reverted"), (again.pk, "approved")]
    assert (item["propose_again"], items[1]["propose_again"]) == (False, True)
    asked = f"Change that as asked, and propose it again, with proposal_id={items[1]['proposal_id']}."
    assert f'"She reads two books a month.". {asked} You asked: "' in items[1]["text"]


def test_a_long_wording_is_left_to_the_call_that_reads_one(
    api: Machine, alice: User, tim: User, make_block: MakeBlock, propose: Propose, read_on: ReadOn
) -> None:
    block = make_block(alice, "log", "Likes math.\n" + "One line of many.\n" * 300)
    proposal = propose(block, "Likes", "Loves")
    text = block.body.replace("Likes math.", "Enjoys algebra. " + "x" * 3_000)
    services.approve_edited(actor=tim, **as_seen(proposal), text=text)
    (item,), _ = read_on(api)
    assert (item["final_text"], item["difference"], item["is_cut"]) == (None, [], True)
    assert f"list_proposals with proposal_id={proposal.pk} has all of it. You asked: " in item["text"]
    assert len(item["text"]) < 500


def test_it_begins_at_the_start_or_now_and_goes_on_from_a_cursor(
    api: Machine, tim: User, goals: Block, propose: Propose, proposal: Proposal, read_on: ReadOn
) -> None:
    reject(tim, proposal)
    now = answered(api.get(f"{FEED}?since=now"))["data"]
    assert (now["items"], now["more"]) == ([], False)
    assert read_on(api, now["next"]) == ([], now["next"])
    second = propose(goals, "one book", "two books")
    reject(tim, second)
    (item,), cursor = read_on(api, now["next"])
    assert item["proposal_id"] == second.pk
    assert item["cursor"] == cursor
    every, _ = read_on(api, limit=1)
    assert whats(every) == [(proposal.pk, "rejected"), (second.pk, "rejected")]
    assert read_on(api, every[0]["cursor"])[0] == every[1:]
    assert read_on(api, cursor) == ([], cursor)
    nothing = answered(api.get(f"{FEED}?since={cursor}"))
    assert nothing["text"].startswith("Nothing was decided since.\n")
    assert f"call again later with since={cursor}.)" in nothing["text"]
    at = every[1]["at"]
    assert [answered(api.get(f"{FEED}?since={day}"))["data"]["items"] for day in ("2100-01-01", at[:10])] == [[], every]
    assert f"\n- {at} Proposal {second.pk} " in answered(api.get(f"{FEED}?since={at[:10]}"))["text"]


@pytest.mark.parametrize("since", ["x", "bm90IG9uZQ==", "WyJwcm9wb3NhbHMiLDFd", "WyJkZWNpc2lvbnMiLC0xXQ=="])
def test_what_is_no_cursor_is_named(api: Machine, since: str) -> None:
    response = api.get(f"{FEED}?since={since}")
    error = refused(response, 400, "invalid_arguments")
    assert "leave it empty" in error["details"]["fields"]["since"]


def test_the_tool_lists_the_same(api: Machine, call: Call, tim: User, proposal: Proposal) -> None:
    reject(tim, proposal, comment="No.")
    by_tool = answered(call("list_proposals", decided_since=""))
    assert by_tool["data"] == answered(api.get(FEED))["data"]
    *_, line, _, further = by_tool["text"].splitlines()
    assert line.partition(" ")[2].partition(" ")[2] == (
        f"Proposal {proposal.pk} for block 'goals' was rejected by tim (wrong): No. {LOVES}"
    )
    assert f"with decided_since={by_tool['data']['next']}.)" in further
    assert answered(call("list_proposals", decided_since=by_tool["data"]["next"]))["data"]["items"] == []
    error = refused(call("list_proposals", decided_since="", status="open", cursor="x"), 400, "invalid_arguments")
    assert set(error["details"]["fields"]) == {"status", "cursor"}
    refused(call("list_proposals", wait=5), 400, "invalid_arguments")
    refused(call("list_proposals", decided_since="x"), 400, "invalid_arguments")


def test_a_page_keeps_to_its_length(api: Machine, tim: User, goals: Block, propose: Propose) -> None:
    for number in range(4):
        reject(tim, propose(goals, "likes math", f"likes math {number}"), comment="x" * 1_500)
    first = answered(api.get(f"{FEED}?max_characters=5000"))
    assert (len(first["data"]["items"]), first["data"]["more"]) == (2, True)
    assert f"(There is more: call again with since={first['data']['next']}.)" in first["text"]
    rest = answered(api.get(f"{FEED}?max_characters=10000&since={first['data']['next']}"))["data"]
    assert (len(rest["items"]), rest["more"]) == (2, False)


@override_settings(CELERY_TASK_ALWAYS_EAGER=True)
def test_what_is_overdue_has_expired_for_who_asks(api: Machine, proposal: Proposal, read_on: ReadOn) -> None:
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert whats(read_on(api)[0]) == [(proposal.pk, "expired")]


# -- what a token may not read --------------------------------------------------------------------


def test_another_agent_and_another_owner_hear_nothing(
    issue: Issue, alice: User, ben: User, tim: User, proposal: Proposal, read_on: ReadOn
) -> None:
    reject(tim, proposal)
    assert read_on(Machine(issue(alice)))[0]
    other_agent = Machine(issue(alice, agent=Agent.objects.create(name="reader")))
    other_owner = Machine(issue(ben))
    both = Machine(issue(alice, ben))
    assert read_on(other_agent)[0] == read_on(other_owner)[0] == []
    assert len(read_on(both)[0]) == 1
    assert answered(both.get(f"{FEED}?user_id=ben"))["data"]["items"] == []
    refused(other_owner.get(f"{FEED}?user_id=alice"), 403, "owner_not_granted")
    now = answered(other_owner.get(f"{FEED}?since=now"))["data"]["next"]
    assert now == read_on(other_owner)[1], "where others' decisions end is not told"


def test_what_a_token_no_longer_serves_it_no_longer_reads(
    issue: Issue, alice: User, ben: User, tim: User, proposal: Proposal, read_on: ReadOn
) -> None:
    both = Machine(issue(alice, ben))
    reject(tim, proposal)
    assert len(read_on(both)[0]) == 1
    auth.stop_serving(AgentToken.objects.get(owners=ben), alice)
    assert read_on(both)[0] == []
    everyone = Machine(issue(all_owners=True))
    assert len(read_on(everyone)[0]) == 1
    alice.is_active = False
    alice.save()
    assert read_on(everyone)[0] == []


def test_a_deleted_block_has_no_words_in_it(
    api: Machine, issue: Issue, alice: User, tim: User, make_block: MakeBlock, propose: Propose,
    read_on: ReadOn,
) -> None:  # fmt: skip
    diary = make_block(alice, "diary", "Zebras frighten me.", title="Zebras")
    proposal = propose(diary, "frighten", "amuse")
    services.approve_edited(actor=tim, **as_seen(proposal), text="Zebras bore me.")
    assert "Zebras bore me." in str(read_on(api)[0])
    now = reads.block("alice", "diary")
    services.delete_block(actor=alice, owner="alice", label="diary", loaded_sha256=now.sha256, comment="")
    historian = Machine(issue(alice, scopes=["memory:read", "memory:history"]))
    (item,), _ = read_on(api)
    assert "ebras" not in str(item)
    assert (item["title"], item["final_text"], item["difference"]) == (None, None, [])
    assert item["text"] == f"Proposal {proposal.pk} for block 'diary' was approved with changes by tim."
    assert "Zebras bore me." in str(read_on(historian)[0])
    make_block(alice, "diary", "Another diary.", title="Another")
    assert "ebras" not in str(read_on(api)[0]), "a block of the same label is another"


def test_a_deleted_note_has_no_words_in_it(api: Machine, call: Call, alice: User, tim: User, read_on: ReadOn) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    saved = answered(call("memory_save", content="She rows."))["data"]
    proposal = Proposal.objects.get(pk=saved["proposal_id"])
    services.approve_edited(actor=tim, **as_seen(proposal), text="She rows on Mondays.")
    assert read_on(api)[0][0]["final_text"] == "She rows on Mondays."
    services.notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=proposal.target)
    assert "rows" not in str(read_on(api)[0])


def test_texts_that_were_removed_are_in_no_item(
    api: Machine, call: Call, alice: User, tim: User, goals: Block, read_on: ReadOn
) -> None:
    change = {"block_label": "goals", "old_string": "likes math", "new_string": "has a zebrafinch"}
    number = answered(call("propose_memory_edit", **change, reasoning="Her zebrafinch."))["data"]["proposal_id"]
    services.comment(actor=tim, proposal_id=number, text="A zebrafinch?")
    assert "zebrafinch" in str(read_on(api)[0])
    reject(alice, Proposal.objects.get(pk=number), reason="too_private", comment="Not about birds.")
    items, _ = read_on(api)
    assert whats(items) == [(number, "rejected")]
    assert "zebrafinch" not in str(items)
    assert items[0]["comment"] == "Not about birds."


# -- their order under concurrency ----------------------------------------------------------------

needs_postgresql = pytest.mark.skipif(environment.is_embedded(), reason="SQLite has one writer at a time")
DECIDERS = 4
EACH = 12


@contextmanager
def deciding(person: User, number: int, text: str = "Slowly.") -> Iterator[None]:
    """A transaction has recorded a decision, and commits at the end of the block."""
    is_under_way, may_end = threading.Event(), threading.Event()

    def decide() -> None:
        with transaction.atomic():
            proposal = Proposal.objects.get(pk=number)
            events.record(proposal, Event.What.REJECTED, actor=person, text=text, reason="wrong")
            is_under_way.set()
            may_end.wait(20)

    thread = in_a_thread(decide)
    try:
        assert is_under_way.wait(20)
        yield
    finally:
        may_end.set()
        thread.join()


def test_none_is_lost_and_none_comes_twice_while_many_decide(
    api: Machine, tim: User, goals: Block, propose: Propose, read_on: ReadOn
) -> None:
    numbers = [propose(goals, "likes math", f"likes math {n}").pk for n in range(DECIDERS)]

    def comment(number: int) -> None:
        for n in range(EACH):
            services.comment(actor=tim, proposal_id=number, text=f"{n}")

    threads = [in_a_thread(lambda number=number: comment(number)) for number in numbers]  # type: ignore[misc]
    found: list[Any] = []
    cursor = ""
    while any(thread.is_alive() for thread in threads):
        data = answered(api.get(f"{FEED}?limit=3&since={cursor}"))["data"]
        found, cursor = found + data["items"], data["next"]
    rest, _ = read_on(api, cursor)
    found += rest
    for number in numbers:
        assert [item["comment"] for item in found if item["proposal_id"] == number] == [str(n) for n in range(EACH)]
    assert len(found) == DECIDERS * EACH
    assert found == read_on(api)[0], "read again from the start, it is the same"


@needs_postgresql
def test_one_that_was_begun_first_and_ends_last_is_not_passed_over(
    api: Machine, tim: User, goals: Block, propose: Propose, read_on: ReadOn
) -> None:
    first, second = propose(goals, "likes", "loves").pk, propose(goals, "one book", "two books").pk
    with deciding(tim, first):
        services.reject(actor=tim, proposal_id=second, revision=1, reason="wrong")
        response = api.get(FEED)
        data = answered(response)["data"]
        assert (data["items"], data["more"], response["Retry-After"]) == ([], True, "1")
    items, _ = read_on(api, data["next"])
    assert [item["proposal_id"] for item in items] == [first, second]


@needs_postgresql
def test_now_waits_for_what_is_being_decided_but_not_for_ever(api: Machine, tim: User, proposal: Proposal) -> None:
    with deciding(tim, proposal.pk):
        now = answered(api.get(f"{FEED}?since=now"))["data"]
    assert (now["items"], now["more"]) == ([], False)


@needs_postgresql
def test_those_who_decide_do_not_wait_for_each_other(
    tim: User, goals: Block, propose: Propose, api: Machine, read_on: ReadOn
) -> None:
    first, second = propose(goals, "likes", "loves").pk, propose(goals, "one book", "two books").pk
    with deciding(tim, first), deciding(tim, second, "Also slowly."):
        pass
    assert len(read_on(api)[0]) == 2


def test_what_is_read_is_settled_only_when_no_one_writes(goals: Block, proposal: Proposal, tim: User) -> None:
    name = events.told_to(proposal.agent_id)
    with row_order.settled(name) as is_settled:
        assert is_settled
    if connection.vendor != "postgresql":
        return
    with deciding(tim, proposal.pk):
        with row_order.settled(name) as is_settled:
            assert not is_settled
        with row_order.settled("something else") as is_settled:
            assert is_settled
    assert eventually(lambda: _is_settled(name))


def _is_settled(name: str) -> bool:
    with row_order.settled(name) as is_settled:
        return is_settled
