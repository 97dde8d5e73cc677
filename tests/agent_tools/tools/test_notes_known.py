"""What a note says already is not saved again; what it says nearly, or more than once, is named."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from approvals.models import Kind, Policy, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import approve, imported, save

pytestmark = pytest.mark.usefixtures("alice")
CAT = "Sofia has a cat."


def saved(call: Call, content: str = CAT, **more: Any) -> dict[str, Any]:
    return dict(answered(call("memory_save", content=content, **more)))


@pytest.mark.parametrize(
    ("tool", "named", "first", "again"),
    [
        ("memory_save", "note_id", CAT, " sofia HAS a\u00a0cat"),
        ("remember", "memory_id", "Ana está en el café.", "Ana esta\u0301 en el cafe\u0301"),
        ("write_file", "note_id", "私は犬が好きです。", "私は犬が好きです"),
        ("memory_save", "note_id", "我喜欢 Python，不喜欢 Java", "- 我喜欢Python,不喜欢Java。"),
        ("memory_save", "note_id", "Lives near Graz – “for now”", '* lives near Graz - "for now".'),
    ],
)
def test_what_is_known_is_not_made_again(call: Call, tool: str, named: str, first: str, again: str) -> None:
    known = saved(call, first)["data"]["note_id"]
    head, proposals = reads.head("alice"), Proposal.objects.count()
    path = {"path": "/memories/notes/mem-1-aaaa.md"} if tool == "write_file" else {}
    for _ in range(2):
        answer = answered(call(tool, content=again, idempotency_key="k", **path))
        assert answer["text"].startswith(f"Known already: {known} says “{first}”. Nothing was made.")
        assert (answer["data"][named], answer["data"]["status"]) == (known, "known")
        assert (answer["data"]["proposal_id"], answer["data"]["commit"]) == (None, None)
    assert (reads.head("alice"), Proposal.objects.count()) == (head, proposals)


def test_what_else_was_given_is_said_to_be_left(call: Call) -> None:
    known = saved(call, tags=["pets"])["data"]["note_id"]
    text = saved(call, tags=["family"], category="home")["text"]
    assert 'category "home" (it has none), tags ["family"] (it has ["pets"])' in text
    assert f'memory_delete with note_id="{known}"' in text
    assert "Not stored" not in saved(call, tags=["pets"])["text"]
    assert f'call forget with memory_id="{known}"' in answered(call("remember", content=CAT, type="risk"))["text"]


@pytest.mark.parametrize(
    "other",
    [
        *("Sofia has a cát.", "Sofia has a -cat.", "Sofia has C++.", "Sofia has .5 cats.", "Sofia has a cat?"),
        *("Sofia has c'.", "Sofia has an C*.", "Sofia has C != 5 cats.", "Sofia has 5 * cats.", "不,喜欢猫"),
    ],
)
def test_what_says_something_else_is_saved(call: Call, other: str) -> None:
    for content in (CAT, "Sofia has C.", "Sofia has an C", "Sofia has 5 cats.", "Sofia has C = 5 cats.", "不喜欢猫"):
        saved(call, content)
    assert saved(call, other)["data"]["status"] == "applied"


def test_what_is_outdated_or_gone_is_not_known(call: Call, alice: User) -> None:
    for take_out in (notes.supersede, notes.delete):
        take_out(by=ChangeContext(actor=alice), owner="alice", note_id=saved(call)["data"]["note_id"])
    assert saved(call)["data"]["status"] == "applied"


def test_what_waits_and_what_is_there_know_of_each_other(call: Call, careful: Machine, alice: User) -> None:
    waiting = saved(careful.call, tags=["a"])["data"]
    for asked in (call, careful.call):
        answer = saved(asked, "sofia has a cat", tags=["b"])
        assert (answer["data"]["proposal_id"], answer["data"]["created"]) == (waiting["proposal_id"], False)
        assert f"save it again with proposal_id={waiting['proposal_id']}" in answer["text"]
    approve(alice, Proposal.objects.get())
    assert saved(careful.call)["data"]["status"] == "known"
    assert Proposal.objects.count() == len(reads.notes("alice")) == 1


@pytest.mark.parametrize("policy", [Policy.Notes.APPLY, Policy.Notes.REVIEW])
def test_of_many_at_once_one_is_saved(alice: User, issue: Issue, settings: Any, policy: str) -> None:
    Policy.objects.create(owner="alice", notes=policy)
    settings.CALLS_UNDER_WAY = 8
    token = issue(alice)

    def ask(number: int) -> dict[str, Any]:
        try:
            if number % 4 == 0 and policy == Policy.Notes.APPLY:
                return {"note_id": save(alice, CAT.upper())}
            return dict(saved(Machine(token).call, CAT.lower() if number % 2 else CAT)["data"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len({answer["note_id"] for answer in answers}) == 1
    assert len(reads.notes("alice")) == (policy == Policy.Notes.APPLY)
    assert Proposal.objects.filter(kind=Kind.SAVE).count() <= 1


def test_what_says_nearly_the_same_is_named_with_the_next_call(call: Call) -> None:
    old = saved(call, "Room 4 on Monday at 9.")["data"]["note_id"]
    answer = saved(call, "Room 4 on Monday at 10.")
    new = answer["data"]["note_id"]
    first, second = answer["text"].splitlines()
    assert first == f"Note {new} saved."
    assert second.startswith(f"{old} says nearly this: “Room 4 on Monday at 9.”.")
    assert f'memory_delete with note_id="{old}"' in second
    assert answer["data"]["same_notes"] == [old]
    told = answered(call("remember", content="Room 4 on Monday at ten."))["text"]
    assert f'forget with memory_id="{new}" and replacement_id="' in told
    assert "nearly" not in saved(call, "Tea in the morning, always.")["text"]


@pytest.mark.parametrize(
    ("one", "other", "else_"),
    [
        ("她住在北京的朝阳区", "她住在北京的海淀区。", "她喜欢北京的海淀公园"),
        ("彼女は毎朝コーヒーを飲む", "彼女は毎朝紅茶を飲む", "彼女は犬を飼っている"),
        ("Живёт с двумя друзьями", "Живёт с тремя друзьями", "Живёт одна в Москве"),
    ],
)
def test_what_is_near_in_other_scripts_is_named_too(call: Call, one: str, other: str, else_: str) -> None:
    old = saved(call, one)["data"]["note_id"]
    assert "nearly" not in saved(call, else_)["text"]
    assert saved(call, other)["data"]["same_notes"] == [old]


def test_a_search_names_what_it_folds_and_still_finds_enough(call: Call, alice: User) -> None:
    imported(alice, 4, "The dog sleeps.")
    other = save(alice, "A dog barks at night.", tags=["night"])
    data = answered(call("memory_search", query="dog", top_k=2))
    assert [result.get("same_notes", []) for result in data["data"]["results"]].count([]) == 1
    assert {result["note_id"] for result in data["data"]["results"]} & {other}
    shown = next(result for result in data["data"]["results"] if "same_notes" in result)
    assert sorted([shown["note_id"], *shown["same_notes"]]) == [f"mem-{n}-aaaa" for n in range(4)]
    assert f"(said too by {', '.join(shown['same_notes'])})" in data["text"]
    for asked in ({}, {"query": "dog"}, {"query": "dog", "match": "text"}):
        recalled = answered(call("recall", limit=2, **asked))
        assert [len(each.get("same_notes", [])) for each in recalled["data"]["memories"]] in ([0, 3], [3, 0])
        assert "said too by" in recalled["text"]
    for content in ("She likes C.", "She likes C++."):
        save(alice, content)
    assert len(answered(call("memory_search", query="likes", sources=["user_memory"]))["data"]["results"]) >= 2


def test_priming_does_not_pay_for_doubles(call: Call, alice: User) -> None:
    imported(alice, 3, "The dog sleeps.")
    answer = answered(call("prime_memories"))
    receipt = answer["data"]["receipt"]
    assert answer["data"]["text"].count("The dog sleeps.") == 1
    (kept,) = receipt["included"]
    assert {each["why"] for each in receipt["left_out"]} == {"double"}
    assert len(receipt["left_out"]) == 2
    assert f"{kept} (said too by " in answer["text"]


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("memory_delete", {"note_id": "mem-0-aaaa"}, "memory_delete with the note_id of each takes it out too."),
        ("forget", {"memory_id": "mem-0-aaaa"}, "forget with the memory_id of each takes it out too."),
    ],
)
def test_forgetting_names_what_says_the_same(call: Call, alice: User, tool: str, given: Any, says: str) -> None:
    imported(alice, 3, "The dog sleeps.")
    answer = answered(call(tool, **given))
    assert answer["text"].splitlines()[1] == f"2 more notes say the same: mem-2-aaaa, mem-1-aaaa. {says}"
    assert answer["data"]["same_notes"] == ["mem-2-aaaa", "mem-1-aaaa"]
    name = next(iter(given))
    assert answered(call(tool, **{name: "mem-1-aaaa"}))["text"].splitlines()[1].startswith("1 more note says the same")
    assert len(answered(call(tool, **{name: "mem-2-aaaa"}))["text"].splitlines()) == 1


def test_an_update_to_what_another_says_names_that_one(call: Call) -> None:
    known, changed = (saved(call, each)["data"]["note_id"] for each in (CAT, "Sofia has a parrot."))
    answer = answered(call("memory_update", note_id=changed, content="Sofia has a CAT"))
    assert answer["text"].splitlines()[1].startswith(f"1 more note says the same: {known}.")
