"""Machines whose clocks differ: none takes over what another is at work on, whichever of them is right."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from agent_tools.calls import idempotency
from agent_tools.errors import ApiError
from agent_tools.models import AgentToken, IdempotencyKey, WebhookDelivery
from agent_tools.webhooks import deliveries, endpoints
from approvals import services
from approvals.models import Agent, Batch, Proposal, Status, User
from approvals.services import approving, several, trust
from memory_app.models import SearchIndex
from memory_app.reads import Block
from memory_app.search import index_state
from tests.approvals.recovery import use_cases
from tests.support.acts import approve
from tests.support.crashing import killed
from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow

#: What has a lease, and the column.
LEASED: dict[Any, str] = {
    Proposal: "lease_expires_at",
    Batch: "lease_expires_at",
    SearchIndex: "busy_until",
    IdempotencyKey: "lease_expires_at",
    WebhookDelivery: "lease_expires_at",
}


def begin() -> None:
    """Begin everything that has a lease, as a process does that is then killed at it."""

    def stop(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    (proposal,) = Proposal.objects.all()
    for module, name in ((approving, "finish_merging"), (trust, "finish_preparing"), (several, "_decided")):
        setattr(module, name, stop)
    for work in (
        lambda: approve(User.objects.get(username="tim"), proposal),
        lambda: use_cases.propose(use_cases.BOOKS),
        lambda: several.work_on("b" * 32),
    ):
        with suppress(KeyboardInterrupt):
            work()
    assert index_state.take_lease("alice")
    claim_key()
    assert deliveries.claim()


def claim_key() -> IdempotencyKey:
    return idempotency._claim(AgentToken.objects.get(), "k", "0" * 64, settings.LEASE)


def take_over_nothing() -> None:
    assert services.recover() == services.RecoveryReport()
    assert several.continue_batches() == 0
    assert not index_state.take_lease("alice")
    with pytest.raises(ApiError, match="not done yet"):
        claim_key()
    assert deliveries.claim() is None


def take_over_everything() -> None:
    report = services.recover()
    assert (report.opened, report.approved) == (1, 1)
    assert several.work_on("b" * 32) is False
    assert Batch.objects.get().is_finished
    assert index_state.take_lease("alice")
    claim_key()
    assert deliveries.claim()


def on_a_machine(ahead: int, work: str) -> None:
    """Do the work in a process whose clock is so many seconds ahead, and which then is killed."""
    killed(f"""
        import time
        from datetime import timedelta
        from django.utils import timezone
        from tests.approvals.recovery import test_clocks
        now, ticked = timezone.now, time.time
        timezone.now, time.time = (lambda: now() + timedelta(seconds={ahead})), (lambda: ticked() + {ahead})
        test_clocks.{work}()
        die()
    """)


@pytest.mark.parametrize("ahead", [31, -31, 600, -600])
def test_a_clock_that_is_wrong_robs_nobody_and_nobody_waits_longer_for_it(
    goals: Block, tim: User, scribe: Agent, token: str, propose: Propose, ahead: int
) -> None:
    waiting = propose(goals, "math", "maths")
    Batch.objects.create(id="b" * 32, person=tim, action="approve", items=[[waiting.pk, 1, None]])
    hook = endpoints.create(actor=tim, agent=scribe, url="https://203.0.113.1/", events=["proposal.approved"])
    WebhookDelivery.objects.create(endpoint=hook, message_id="msg_1", type="test", body="{}")

    on_a_machine(ahead, "begin")
    assert set(Proposal.objects.values_list("status", flat=True)) == {Status.MERGING, Status.PREPARING}
    ends = [end for model, column in LEASED.items() for end in model.objects.values_list(column, flat=True)]
    assert len(ends) == 6
    longest = max(settings.LEASE, index_state.LEASE, deliveries.LEASE)
    assert all(timedelta() < end - timezone.now() <= longest for end in ends)
    take_over_nothing()
    on_a_machine(ahead, "take_over_nothing")

    for model, column in LEASED.items():
        model.objects.update(**{column: timezone.now() - timedelta(seconds=1)})
    on_a_machine(ahead, "take_over_everything")
    assert list(Proposal.objects.lease_ran_out()) == []
