"""Decisions become messages: each once for each address, about one's own memory, without a word of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connections, transaction
from django.test.utils import CaptureQueriesContext

from agent_tools import auth
from agent_tools.models import AgentToken, DeliveryState, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import outbox, sending
from approvals import services
from approvals.models import Agent, Event, Proposal, User
from approvals.services import Rest, events
from memory_app.text import worddiff
from tests.agent_tools.decisions.test_read_decisions import deciding, needs_postgresql
from tests.agent_tools.webhooks.conftest import create
from tests.conftest import at_once
from tests.support.acts import approve, as_seen, change, reject

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.agent_tools.conftest import Issue
    from tests.support.fixtures import MakeBlock, Propose

ADDRESS = "https://hooks.example.org/assent"


@pytest.fixture
def endpoint(alice: User, scribe: Agent, token: str) -> WebhookEndpoint:
    return create(alice, scribe, ADDRESS)


def made() -> list[dict[str, Any]]:
    """What is to be sent after another look, in order."""
    outbox.collect()
    return [json.loads(row.body) for row in WebhookDelivery.objects.order_by("pk")]


def types() -> list[str]:
    return [body["type"] for body in made()]


def test_an_approval_is_told_with_ids_and_states_alone(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "algebra", reasoning="Alice said so, secretly.")
    approve(alice, proposal)
    (body,) = made()
    event = Event.objects.get(what=Event.What.APPROVED)
    at = body["timestamp"]
    assert at.endswith("Z")
    assert at[:19] == event.at.isoformat()[:19]
    assert body == {
        "type": "proposal.approved",
        "timestamp": at,
        "data": {
            "proposal_id": proposal.pk,
            "user_id": "alice",
            "agent": "scribe",
            "status": "approved",
            "approval": "as_proposed",
            "reason": None,
            "revision": 1,
            "target_kind": "block",
            "note_id": None,
            "decided_by": "person",
            "decided_at": at,
            "review_url": f"http://127.0.0.1:8000/proposals/{proposal.pk}/",
            "api_url": f"http://127.0.0.1:8000/api/v1/proposals/{proposal.pk}/",
        },
    }
    row = WebhookDelivery.objects.get()
    stored = json.dumps({field.name: str(getattr(row, field.attname)) for field in row._meta.fields})
    for text in ("algebra", "secretly", "goals", "Learning"):
        assert text not in stored


def test_every_decision_of_a_person_is_told_as_what_it_is(
    endpoint: WebhookEndpoint, alice: User, scribe: Agent, goals: Block, propose: Propose
) -> None:
    first = propose(goals, "math", "algebra")
    reject(alice, first, "outdated")
    assert made()[0]["data"]["reason"] == "outdated"
    services.undo(actor=alice, proposal_id=first.pk)
    services.comment(actor=alice, proposal_id=first.pk, text="Who said so?")
    services.comment(actor=scribe, proposal_id=first.pk, text="She did.")  # itself is told nothing of it
    services.withdraw(agent=scribe, proposal_id=propose(goals, "June", "July").pk)
    services.request_changes(actor=alice, proposal_id=first.pk, comment="Say who.", revision=1)
    second = propose(goals, "one book", "two books")
    approve(alice, second)
    services.undo(actor=alice, proposal_id=second.pk)
    Proposal.objects.filter(pk=first.pk).update(expires_at=first.created_at)
    services.expire()
    assert types() == [
        "proposal.rejected",
        "proposal.reopened",
        "proposal.commented",
        "proposal.changes_requested",
        "proposal.approved",
        "proposal.reverted",
        "proposal.expired",
    ]
    statuses = [body["data"]["status"] for body in made()]
    assert statuses[:2] == ["rejected", "open"]
    assert statuses[3:] == ["changes_requested", "approved", "open", "expired"]
    assert [body["data"]["decided_by"] for body in made()][-1] == "assent"
    assert "Who said so" not in "".join(row.body for row in WebhookDelivery.objects.all())


def test_what_an_approval_in_part_leaves_is_told_of_the_proposal_that_goes_back(
    endpoint: WebhookEndpoint, alice: User, scribe: Agent, goals: Block
) -> None:
    proposal = change(scribe, ("math", "maths"), ("one book", "two books"))
    first = worddiff.hunks(goals.body, proposal.current_revision.result_text)[0].id
    services.approve_some(actor=alice, **as_seen(proposal), accepted=[first], rest=Rest.AGENT)
    told = [(body["type"], body["data"]["proposal_id"]) for body in made()]
    assert told == [("proposal.approved", proposal.pk)]


def test_many_processes_that_look_at_once_make_one_message(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    for old in ("math", "one book", "B2"):
        approve(alice, propose(goals, old, f"{old} again"))
    at_once(outbox.collect, 6)
    assert outbox.collect() == 0
    assert WebhookDelivery.objects.count() == 3


def test_a_decision_is_found_though_the_process_that_made_it_died_at_once(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    """Nothing is enqueued beside the decision: its event is what is looked for, in its own transaction."""
    proposal = propose(goals, "math", "algebra")
    with pytest.raises(KeyboardInterrupt), transaction.atomic():
        events.record(proposal, Event.What.REJECTED, actor=alice)
        raise KeyboardInterrupt
    assert types() == []
    with transaction.atomic():
        events.record(proposal, Event.What.REJECTED, actor=alice)
    assert types() == ["proposal.rejected"]


def test_a_webhook_is_told_of_the_chosen_events_from_its_creation_on(
    alice: User, scribe: Agent, token: str, goals: Block, propose: Propose
) -> None:
    reject(alice, propose(goals, "in June", "in July"))
    create(alice, scribe, ADDRESS, events=[EventType.REJECTED])
    assert types() == []
    approve(alice, propose(goals, "math", "algebra"))
    reject(alice, propose(goals, "one book", "two books"))
    assert types() == ["proposal.rejected"]


# -- whose memory, whose agent --------------------------------------------------------------------


def test_people_are_told_of_their_own_memory_and_admins_of_those_the_agent_serves(
    endpoint: WebhookEndpoint,
    alice: User,
    ben: User,
    mallory: User,
    admin: User,
    scribe: Agent,
    issue: Issue,
    make_block: MakeBlock,
    propose: Propose,
) -> None:
    issue(ben)
    create(ben, scribe, "https://ben.example.org/")
    create(admin, scribe, ADDRESS, all_owners=True)
    for person in (alice, ben, mallory):  # scribe has no token for mallory's
        reject(person, propose(make_block(person, "goals", "reads\n"), "reads", "writes"))
    outbox.collect()
    rows = WebhookDelivery.objects.select_related("endpoint__created_by")
    told = [(row.endpoint.created_by.username, json.loads(row.body)["data"]["user_id"]) for row in rows]
    assert sorted(told) == [("admin", "alice"), ("admin", "ben"), ("alice", "alice"), ("ben", "ben")]


def test_for_everyone_is_for_admins_only_and_ends_with_their_rights(
    mallory: User, admin: User, alice: User, scribe: Agent, token: str, goals: Block, propose: Propose
) -> None:
    assert not create(mallory, scribe, ADDRESS, all_owners=True).all_owners
    create(admin, scribe, ADDRESS, all_owners=True)
    User.objects.filter(pk=admin.pk).update(is_staff=False)
    reject(alice, propose(goals, "math", "algebra"))
    assert types() == []


def _to_another_agent(proposal: Proposal) -> None:
    other = Agent.objects.create(name="other")
    auth.issue(agent=other, scopes=["memory:read"], owners=[User.objects.get(username="alice")])
    Proposal.objects.filter(pk=proposal.pk).update(agent=other)


@pytest.mark.parametrize(
    "end",
    [
        _to_another_agent,
        lambda proposal: auth.revoke(AgentToken.objects.get()),
        lambda proposal: Agent.objects.update(is_active=False),
        lambda proposal: User.objects.filter(username="alice").update(is_active=False),
    ],
    ids=["another agent's", "no token", "no agent any more", "no person any more"],
)
def test_what_is_not_the_agents_or_the_persons_business_is_not_told(
    endpoint: WebhookEndpoint, tim: User, goals: Block, propose: Propose, end: Callable[[Proposal], object]
) -> None:
    proposal = propose(goals, "math", "algebra")
    end(proposal)
    reject(tim, Proposal.objects.get(pk=proposal.pk))
    assert types() == []


# -- how far events were looked at ----------------------------------------------------------------


def test_what_is_settled_is_not_looked_at_again(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    approve(alice, propose(goals, "math", "algebra"))
    outbox.collect()
    last = auth.newest_event()
    endpoint.refresh_from_db()
    assert endpoint.seen_event < last
    _let_the_cache_age()
    outbox.collect()
    endpoint.refresh_from_db()
    assert endpoint.seen_event == last
    reject(alice, propose(goals, "one book", "two books"))
    assert types() == ["proposal.approved", "proposal.rejected"]


def _let_the_cache_age() -> None:
    seen, at = cache.get(outbox._SEEN)
    cache.set(outbox._SEEN, [seen, at - outbox.SETTLED.total_seconds()], timeout=None)


def test_a_restored_database_is_not_taken_for_what_the_cache_has_seen(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    cache.set(outbox._SEEN, [10**6, time.time() - timedelta(hours=1).total_seconds()], timeout=None)
    outbox.collect()
    reject(alice, propose(goals, "math", "algebra"))
    assert types() == ["proposal.rejected"]


@needs_postgresql
def test_an_event_whose_transaction_ends_late_is_told_too(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    slow, quick = propose(goals, "math", "algebra"), propose(goals, "one book", "two books")
    with deciding(alice, slow.pk):
        reject(alice, quick)  # its event has the higher id and is there first
        assert len(types()) == 1
    assert sorted(body["data"]["proposal_id"] for body in made()) == [slow.pk, quick.pk]


def test_with_a_backlog_everything_is_made_in_a_bounded_number_of_statements(
    endpoint: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "algebra")
    services.comment(actor=alice, proposal_id=proposal.pk, text="So?")
    template = Event.objects.get(what=Event.What.COMMENTED)
    values = {field.attname: getattr(template, field.attname) for field in Event._meta.fields if field.name != "id"}
    Event.objects.bulk_create([Event(**values) for _ in range(1_199)])
    connection = connections["default"]
    with CaptureQueriesContext(connection) as queries:
        assert outbox.collect() == 1_200
    assert len(queries) < 60
    with CaptureQueriesContext(connection) as queries:
        assert outbox.collect() == 0
    assert len(queries) < 12


def test_a_run_asks_little_and_writes_nothing_where_nothing_is_to_do(
    alice: User, scribe: Agent, token: str, goals: Block, propose: Propose
) -> None:
    """Each process of the embedded edition does this every five seconds."""
    assert "send webhooks" in settings.WITHOUT_BEAT
    with CaptureQueriesContext(connections["default"]) as queries:
        sending.run()
    assert len(queries) == 1
    create(alice, scribe, ADDRESS)
    approve(alice, propose(goals, "math", "algebra"))
    outbox.collect()
    WebhookDelivery.objects.update(state=DeliveryState.DELIVERED)
    with CaptureQueriesContext(connections["default"]) as queries:
        sending.run()
    assert len(queries) <= 9
    assert [each["sql"] for each in queries if not each["sql"].startswith("SELECT")] == []
