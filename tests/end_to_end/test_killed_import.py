"""A server killed in the middle of an import: the same call again is answered as soon as the import is known done."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import httpx
import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agent_tools.models import IdempotencyKey
from approvals import services
from approvals.models import Proposal, Status, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.databases.row_order import lock_owner
from tests import environment
from tests.conftest import eventually
from tests.end_to_end.conftest import Server
from tests.support.crashing import let_leases_run_out
from tests.support.holding import held

pytestmark = pytest.mark.slow

NOTES = 40
FILE = "".join(f"### mem-{number}-aaaa\n> Note {number}.\n\n" for number in range(1, NOTES + 1))


@contextmanager
def importing_is_stuck() -> Iterator[None]:
    """Embedded, before its commit; on a server after it, and before the ledger."""
    if environment.is_embedded():
        with held("memory"):
            yield
    else:
        with transaction.atomic():
            lock_owner("alice")
            yield


def send(api: httpx.Client) -> httpx.Response:
    headers = {"Content-Type": "text/markdown", "Idempotency-Key": "one"}
    return api.post("/users/alice/memories.md", content=FILE, headers=headers, timeout=60)


@pytest.fixture
def interrupted(server: Server, api: httpx.Client, alice: User) -> Iterator[httpx.Client]:
    with ThreadPoolExecutor(1) as pool:
        with importing_is_stuck():
            sent = pool.submit(send, api)
            eventually(lambda: Proposal.objects.filter(status=Status.PREPARING).exists())
            if not environment.is_embedded():
                eventually(lambda: len(reads.notes("alice")) == NOTES)
            server.kill()
        with pytest.raises(httpx.TransportError):
            sent.result()
    assert Proposal.objects.get().status == Status.PREPARING
    server.start()
    with httpx.Client(base_url=api.base_url, headers=api.headers) as fresh:
        yield fresh


def require_imported_once(response: httpx.Response) -> None:
    assert response.status_code == 200, response.text
    data = response.json()["data"]
    assert (data["status"], data["created"], data["updated"], data["unchanged"]) == ("applied", NOTES, 0, 0)
    proposal = Proposal.objects.get()
    assert (data["proposal_id"], data["commit"]) == (proposal.pk, proposal.merge_commit)
    assert len(reads.notes("alice")) == NOTES
    assert list(problems()) == []


def test_once_it_was_recovered_the_same_call_is_answered(interrupted: httpx.Client) -> None:
    let_leases_run_out()  # of proposals; that of the key still runs
    services.recover()
    assert IdempotencyKey.objects.get().lease_expires_at > timezone.now()
    require_imported_once(send(interrupted))
    assert send(interrupted).headers["Idempotency-Replayed"] == "true"


def test_until_then_it_waits_for_one_lease_and_goes_on_with_what_was_begun(interrupted: httpx.Client) -> None:
    response = send(interrupted)
    assert (response.status_code, response.headers["Retry-After"]) == (409, "2")
    assert response.json()["error"]["code"] == "idempotency_in_progress"
    key = IdempotencyKey.objects.get()
    assert key.lease_expires_at <= timezone.now() + settings.LEASE
    IdempotencyKey.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    require_imported_once(send(interrupted))
