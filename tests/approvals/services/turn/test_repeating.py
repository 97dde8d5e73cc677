"""Fingerprints of rejections: their cost, their table, and what is left of a rejection where they are not enough."""

import re
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Proposal, RejectedFingerprint, Status, TrustRule, User
from approvals.review import turn
from approvals.services import notes, repeating
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads import Block
from memory_app.text import alike, worddiff
from tests.support.acts import as_seen, change, reject
from tests.support.fixtures import Propose
from tests.support.refusals import refusing

ROWING = "She rows on the lake with her brother on Sunday mornings."


def two_thousand_rejections(scribe: Agent) -> None:
    """Insert what 2,000 rejected notes of alice's leave."""
    now = timezone.now()
    of = {"owner": "alice", "target_kind": "note", "kind": Kind.SAVE, "agent": scribe, "status": Status.REJECTED}
    at = {"decided_at": now, "decision_reason": "wrong", "expires_at": now + timedelta(days=30)}
    made = Proposal.objects.bulk_create(
        Proposal(**of, **at, target=f"note-{number}", operation=f"{number:032x}") for number in range(2_000)
    )
    secret = turn.secrets(scribe.pk, "alice")[0]
    rows = []
    for number, proposal in enumerate(made):
        words = alike.said("", "", f"She rows on the lake with friend {number} on Sunday mornings in summer.").words
        of = {"proposal": proposal, "agent": scribe, "owner": "alice", "decided_at": now, "reasoning_key": 0}
        rows.append(RejectedFingerprint(**of, key=alike.fingerprint(words, secret)))
    RejectedFingerprint.objects.bulk_create(rows, batch_size=500)
    with connection.cursor() as cursor:  # as the server does by itself after so many rows
        cursor.execute(f"ANALYZE {RejectedFingerprint._meta.db_table}")


def plan_of(sql: str) -> str:
    """Return how the database would find the rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@pytest.mark.usefixtures("unsound")  # there are no revisions
def test_among_two_thousand_rejections_one_statement_finds_whether_it_is_new(scribe: Agent) -> None:
    def find(text: str) -> turn.Repeated | None:
        return repeating.find_repeated(scribe, "alice", [alike.said("", "", text)], "She said so.", force=False)

    two_thousand_rejections(scribe)
    with CaptureQueriesContext(connection) as asked:
        assert find(ROWING) is None
    (statement,) = asked
    # By its key, which costs 0.07 ms on the embedded edition; by its agent and owner alone, 5 and more.
    assert re.search(
        r"SEARCH .*\bkey=\?|Index (Only )?Scan .*Index Cond: .*\bkey = ", plan_of(statement["sql"]), re.DOTALL
    )
    found = find("she rows on the lake with friend 1234, on Sunday mornings in summer")
    assert found is not None
    assert found.earlier.target == "note-1234"


def test_of_an_agent_that_was_never_rejected_that_alone_is_asked(alice: User, scribe: Agent) -> None:
    parsed = memories_md.parse("".join(f"### mem-{number}-aaaa\n> Fact {number}.\n" for number in range(20)))
    with CaptureQueriesContext(connection) as asked:
        import_memories(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", parsed=parsed)
    (statement,) = [each["sql"] for each in asked if RejectedFingerprint._meta.db_table in each["sql"]]
    assert '"key"' not in statement


def test_no_text_is_in_the_table_and_equal_ones_of_two_owners_have_nothing_in_common(
    goals: Block, tim: User, ben: User, scribe: Agent, propose: Propose
) -> None:
    reject(tim, propose(goals, "math.", f"math. {ROWING}"))
    (row,) = RejectedFingerprint.objects.values()
    assert {type(value) for name, value in row.items() if name not in ("owner", "decided_at")} == {int}
    words = alike.said("goals", "", ROWING).words
    alices, bens = (alike.fingerprint(words, turn.secrets(scribe.pk, owner)[0]) for owner in ("alice", "ben"))
    assert row["key"] == alices != bens


def test_what_an_approval_in_part_left_out_is_refused_until_that_is_undone(
    goals: Block, tim: User, propose: Propose, scribe: Agent
) -> None:
    both = goals.body.replace("math", "maths").replace("in June.", f"in June. {ROWING}")
    part = propose(goals, goals.body, both)
    hunks = worddiff.hunks(goals.body, both)
    taken = [hunk.id for hunk in hunks if "maths" in hunk.after]
    services.approve_some(actor=tim, **as_seen(part), accepted=taken, rest=services.Rest.REJECT, reason="wrong")
    with refusing("rejected_before"):
        propose(goals, "in June.", f"in June. {ROWING}")
    services.undo(actor=tim, proposal_id=part.pk)
    assert propose(goals, "in June.", f"in June. {ROWING}").answers is None
    assert propose(goals, goals.body, both).pk == part.pk  # which waits again


def test_several_rejected_at_once_count_each(goals: Block, tim: User, propose: Propose) -> None:
    both = [propose(goals, "math", word) for word in ("physics", "chemistry")]
    for each in both:
        reject(tim, each)
    for word in ("physics", "chemistry"):
        with refusing("rejected_before") as refused:
            propose(goals, "math", word, reasoning="Alice said so again.")
        assert refused.value.details["repeated"].earlier in both


def test_a_rule_does_not_apply_what_is_forced(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    reject(tim, propose(goals, "math", "maths"))
    TrustRule.objects.create(owner="alice", block="goals", needs=TrustRule.Needs.NOTHING, made_by=alice)
    forced = propose(goals, "math", "maths", reasoning="She asked for it.", force=True, may_apply=True)
    assert (forced.status, forced.auto_applied, forced.review_reason) == (Status.OPEN, False, "repeated")


def test_what_assent_closes_by_itself_is_not_remembered(goals: Block, proposal: Proposal, propose: Propose) -> None:
    services.expire(now=timezone.now() + timedelta(days=10_000))
    assert not RejectedFingerprint.objects.exists()
    assert propose(goals, "math", "maths").status == Status.OPEN


def test_older_rejections_get_theirs_in_the_migration(goals: Block, tim: User, propose: Propose) -> None:
    reject(tim, propose(goals, "math.", f"math. {ROWING}"))
    reject(tim, propose(goals, "one book", "two books"), "too_private")
    of_now = {*RejectedFingerprint.objects.filter(proposal__redacted_at=None).values_list("key", "reasoning_key")}
    migration = import_module("approvals.migrations.0017_one_fingerprint_of_a_rejection")
    migration.remember_rejections(apps, None)
    assert {*RejectedFingerprint.objects.values_list("key", "reasoning_key")} == of_now
    with refusing("rejected_before"):
        propose(goals, "in June.", f"in June. {ROWING}")


def test_the_edits_of_a_removed_text_are_not_in_its_place(goals: Block, tim: User, propose: Propose) -> None:
    private = reject(tim, propose(goals, "math.", f"math. {ROWING}"), "too_private")
    assert private.fingerprints.exists()
    with refusing("rejected_before") as refused:
        propose(goals, "in June.", f"in June. {ROWING}")
    assert refused.value.details["repeated"].earlier.is_redacted


# -- a second try is tied to the rejection that it answers ----------------------------------------


def test_another_wording_of_the_same_place_answers_the_rejection(goals: Block, tim: User, propose: Propose) -> None:
    first = reject(tim, propose(goals, "likes math", "digs math"))
    second = propose(goals, "likes math", "enjoys mathematics")
    assert second.answers == first
    assert list(first.answered_by.all()) == [second]


def test_the_same_words_at_another_place_answer_it_too(goals: Block, tim: User, propose: Propose) -> None:
    first = reject(tim, propose(goals, "likes math.", "likes math. She prefers evening lessons with Tim."))
    second = propose(goals, "in June.", "in June. Evening lessons with Tim are what she prefers.")
    assert second.answers == first


def test_another_matter_in_the_same_block_answers_nothing(goals: Block, tim: User, propose: Propose) -> None:
    reject(tim, propose(goals, "likes math", "digs math"))
    assert propose(goals, "one book", "two books").answers is None


@pytest.mark.parametrize("reason", ["too_private", "duplicate"])
def test_what_is_gone_or_was_there_is_not_taken_up(goals: Block, tim: User, propose: Propose, reason: str) -> None:
    reject(tim, propose(goals, "likes math", "digs math"), reason)
    assert propose(goals, "likes math", "enjoys math").answers is None


def test_after_a_month_or_by_another_agent_it_is_a_new_matter(goals: Block, tim: User, propose: Propose) -> None:
    first = reject(tim, propose(goals, "likes math", "digs math"))
    assert change(Agent.objects.create(name="other"), ("likes math", "enjoys math")).answers is None
    Proposal.objects.filter(pk=first.pk).update(decided_at=timezone.now() - timedelta(days=31))
    assert propose(goals, "likes math", "loves math").answers is None


@pytest.mark.usefixtures("ask_first")
def test_a_reworded_note_answers_the_rejected_one(tim: User, scribe: Agent) -> None:
    by = ChangeContext(actor=scribe, reasoning="She said so.")
    first = notes.save(by=by, owner="alice", content="Hands in sheets by bicycle on Mondays").proposal
    reject(tim, first)
    same = notes.save(by=by, owner="alice", content="On Mondays she brings her sheets by bicycle").proposal
    other = notes.save(by=by, owner="alice", content="Reads one novel a month").proposal
    assert (same.answers, other.answers) == (first, None)
