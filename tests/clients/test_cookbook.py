"""The cookbook's programs in examples/: each does what it says, as it stands."""

import re
import runpy
from datetime import date
from pathlib import Path

import pytest

from approvals import services
from approvals.models import Policy, Proposal, User
from assent_client import Assent
from memory_app import reads
from memory_app.reads import Block
from tests.docs.documents import ROOT, document
from tests.support.acts import approve

PROGRAMS = {
    name: runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    for name in ("learn_preference", "correct_fact", "write_diary", "hand_over", "follow_decisions")
}
learn, correct = PROGRAMS["learn_preference"]["learn"], PROGRAMS["correct_fact"]["correct"]
begin, end = PROGRAMS["hand_over"]["begin"], PROGRAMS["hand_over"]["end"]


def newest() -> Proposal:
    return Proposal.objects.latest("pk")


@pytest.mark.pure
def test_the_page_names_each_program() -> None:
    page = document("docs/agents/README.md").text.partition("## Cookbook")[2]
    assert re.findall(r"^\| `examples/(\w+)\.py`", page, re.MULTILINE) == list(PROGRAMS)


def test_a_preference_is_learnt_once_and_one_that_was_rejected_answered_with_the_reason(
    memory: Assent, alice: User
) -> None:
    assert learn(memory, "She likes maps.", "A map, please.").endswith("saved.")
    assert learn(memory, "She likes maps.", "A map, please.") == "This is known already."
    assert [note.content for note in memory.notes.list()] == ["She likes maps."]
    Policy.objects.create(owner=alice.username, notes=Policy.Notes.REVIEW)
    preference = "She prefers worked examples to proofs."
    learn(memory, preference, "An example, please.")
    services.reject(actor=alice, proposal_id=newest().pk, revision=1, reason="wrong", comment="Only in geometry.")
    proposals = Proposal.objects.count()
    assert "Only in geometry." in learn(memory, preference, "An example, please.")
    assert Proposal.objects.count() == proposals


def test_a_fact_is_corrected_where_it_stands(memory: Assent, alice: User, goals: Block) -> None:
    told = correct(memory, "goals", "B2 exam", "C1 exam", "I passed B2.")
    assert told.startswith("Edit proposal created for block 'goals'.")
    assert told.endswith(f"/proposals/{newest().pk}/")
    approve(alice, newest())
    assert "C1 exam" in reads.block("alice", "goals").body
    assert "not found in block 'goals'" in correct(memory, "goals", "B 2 exam", "C1 exam", "I passed B2.")


def test_a_diary_begins_as_a_new_block_and_then_grows(memory: Assent, alice: User) -> None:
    write_diary = PROGRAMS["write_diary"]["write_diary"]
    write_diary(memory, "Fractions went well.", date(2026, 3, 2))
    write_diary(memory, "Ratios, too.", date(2026, 3, 3))
    assert Proposal.objects.count() == 1, "the second entry amends the block that waits"
    approve(alice, newest())
    write_diary(memory, "Percentages are hard.", date(2026, 3, 4))
    approve(alice, newest())
    entries = ("Fractions went well.", "Ratios, too.", "Percentages are hard.")
    assert reads.block("alice", "diary").body == "\n".join(
        f"## 2026-03-0{day}\n\n{entry}\n" for day, entry in enumerate(entries, 2)
    )


def test_a_session_begins_with_what_the_last_one_left_and_what_was_decided_since(
    memory: Assent, alice: User, goals: Block, tmp_path: Path
) -> None:
    cursor = tmp_path / "cursor"
    assert "Decided since" not in begin(memory, cursor)
    said = [{"role": "user", "content": "Ratios tomorrow, please."}]
    assert end(memory, "monday", said, "Fractions are done; ratios are next.").endswith("saved.")
    correct(memory, "goals", "B2 exam", "C1 exam", "I passed B2.")
    approve(alice, newest(), comment="Well done.")

    prompt = begin(memory, cursor)
    assert "She wants to pass the C1 exam" in prompt
    assert "Fractions are done; ratios are next." in prompt
    assert "Well done." in prompt.partition("## Decided since the last session")[2]
    assert "Decided since" not in begin(memory, cursor), "each decision is told once"
    assert "Ratios tomorrow" in memory.conversations.messages("monday").answer.text


def test_decisions_are_followed_one_by_one_and_as_news(memory: Assent, alice: User, goals: Block) -> None:
    follow, news = PROGRAMS["follow_decisions"]["follow"], PROGRAMS["follow_decisions"]["news"]
    correct(memory, "goals", "B2 exam", "C1 exam", "I passed B2.")
    number = newest().pk
    assert follow(memory, number, 0) == "Nobody has decided yet."
    _, cursor = news(memory, "now")
    approve(alice, newest(), comment="Well done.")
    assert follow(memory, number, 5) == "approved: Well done."
    (line,), cursor = news(memory, cursor)
    assert "Well done." in line
    assert news(memory, cursor) == ([], cursor)
