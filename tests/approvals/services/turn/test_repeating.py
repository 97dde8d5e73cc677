"""Fingerprints of rejections: their cost, their table, and what is left of a rejection where they are not enough."""

import time
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Proposal, RejectedFingerprint, Status, User
from approvals.review import turn
from approvals.services import repeating
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads import Block
from memory_app.text import alike
from tests.support.acts import as_seen
from tests.support.fixtures import Propose
from tests.support.refusals import refusing

ROWING = "She rows on the lake with her brother on Sunday mornings."


def reject(tim: User, proposal: Proposal, **more: Any) -> Proposal:
    return services.reject(actor=tim, proposal_id=proposal.pk, revision=1, **{"reason": "wrong", **more})


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


def test_among_two_thousand_rejections_one_statement_finds_that_it_is_new(scribe: Agent) -> None:
    two_thousand_rejections(scribe)
    said = [alike.said("", "", ROWING)]
    times = []
    with CaptureQueriesContext(connection) as asked:
        for _ in range(20):
            began = time.perf_counter()
            assert repeating.find_repeated(scribe, "alice", said, "She said so.", force=False) is None
            times.append(time.perf_counter() - began)
    assert len(asked) == 20
    # 0.07 ms on the embedded edition. Without its index, or asked for a reasoning too, 5 and more.
    assert min(times) < 0.002


def test_the_one_among_two_thousand_is_found(scribe: Agent) -> None:
    two_thousand_rejections(scribe)
    again = "she rows on the lake with friend 1234, on Sunday mornings in summer"
    found = repeating.find_repeated(scribe, "alice", [alike.said("", "", again)], "", force=False)
    assert found is not None
    assert found.earlier.target == "note-1234"


def test_of_an_agent_that_was_never_rejected_that_alone_is_asked(alice: User, scribe: Agent) -> None:
    parsed = memories_md.parse("".join(f"### mem-{number}-aaaa\n> Fact {number}.\n" for number in range(20)))
    with CaptureQueriesContext(connection) as asked:
        import_memories(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", parsed=parsed)
    (statement,) = [each["sql"] for each in asked if RejectedFingerprint._meta.db_table in each["sql"]]
    assert '"key"' not in statement


def test_no_text_is_in_the_table(goals: Block, tim: User, propose: Propose) -> None:
    reject(tim, propose(goals, "math.", f"math. {ROWING}"))
    row = RejectedFingerprint.objects.values()[0]
    assert {type(value) for name, value in row.items() if name not in ("owner", "decided_at")} == {int}


def test_equal_texts_of_two_owners_have_nothing_in_common(
    goals: Block, tim: User, ben: User, scribe: Agent, propose: Propose
) -> None:
    reject(tim, propose(goals, "math.", f"math. {ROWING}"))
    ours = set(RejectedFingerprint.objects.values_list("key", flat=True))
    words = alike.said("goals", "", ROWING).words
    assert ours == {alike.fingerprint(words, turn.secrets(scribe.pk, "alice")[0])}
    assert alike.fingerprint(words, turn.secrets(scribe.pk, "ben")[0]) not in ours


def test_what_an_approval_in_part_left_out_is_refused_until_that_is_undone(
    goals: Block, tim: User, propose: Propose, scribe: Agent
) -> None:
    from memory_app.text import worddiff

    both = goals.body.replace("math", "maths").replace("in June.", f"in June. {ROWING}")
    part = propose(goals, goals.body, both)
    hunks = worddiff.hunks(goals.body, both)
    taken = [hunk.id for hunk in hunks if "maths" in hunk.after]
    services.approve_some(actor=tim, **as_seen(part), accepted=taken, rest=services.Rest.REJECT, reason="wrong")
    with refusing("rejected_before"):
        propose(goals, "in June.", f"in June. {ROWING}")
    services.undo(actor=tim, proposal_id=part.pk)
    assert propose(goals, goals.body, both).review_reason == "repeated"


def test_several_rejected_at_once_count_each(goals: Block, tim: User, propose: Propose) -> None:
    first, second = propose(goals, "math", "physics"), propose(goals, "math", "chemistry")
    for each in (first, second):
        reject(tim, each)
    for word in ("physics", "chemistry"):
        with refusing("rejected_before") as refused:
            propose(goals, "math", word, reasoning="Alice said so again.")
        assert refused.value.details["repeated"].earlier in (first, second)


def test_a_rule_does_not_apply_what_is_forced(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    from approvals.models import TrustRule

    reject(tim, propose(goals, "math", "maths"))
    TrustRule.objects.create(owner="alice", block="goals", needs=TrustRule.Needs.NOTHING, made_by=alice)
    forced = propose(goals, "math", "maths", reasoning="She asked for it.", force=True, may_apply=True)
    assert (forced.status, forced.auto_applied, forced.review_reason) == (Status.OPEN, False, "repeated")


def test_what_assent_closes_by_itself_is_not_remembered(goals: Block, scribe: Agent, propose: Propose) -> None:
    waiting = propose(goals, "math", "maths")
    Proposal.objects.filter(pk=waiting.pk).update(expires_at=timezone.now() - timedelta(days=1))
    services.expire()
    assert not RejectedFingerprint.objects.exists()
    assert propose(goals, "math", "maths").status == Status.OPEN


def test_older_rejections_get_theirs_in_the_migration(goals: Block, tim: User, propose: Propose) -> None:
    from importlib import import_module

    from django.apps import apps

    reject(tim, propose(goals, "math.", f"math. {ROWING}"))
    reject(tim, propose(goals, "one book", "two books"), reason="too_private")
    of_now = {*RejectedFingerprint.objects.filter(proposal__redacted_at=None).values_list("key", "reasoning_key")}
    migration = import_module("approvals.migrations.0017_one_fingerprint_of_a_rejection")
    migration.remember_rejections(apps, None)
    assert {*RejectedFingerprint.objects.values_list("key", "reasoning_key")} == of_now
    with refusing("rejected_before"):
        propose(goals, "in June.", f"in June. {ROWING}")


def test_the_edits_of_a_removed_text_are_not_in_its_place(goals: Block, tim: User, propose: Propose) -> None:
    private = reject(tim, propose(goals, "math.", f"math. {ROWING}"), reason="too_private")
    assert private.fingerprints.exists()
    with refusing("rejected_before") as refused:
        propose(goals, "in June.", f"in June. {ROWING}")
    assert refused.value.details["repeated"].earlier.is_redacted
