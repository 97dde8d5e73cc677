"""A server killed with kill -9 in the middle of a batch: it is gone on with after the next start; nothing is lost."""

import pytest
from django.test import override_settings
from playwright.sync_api import expect

from approvals.models import Batch, Event, Proposal, User
from approvals.recovery.integrity import problems
from tests.conftest import eventually
from tests.end_to_end.conftest import Server, WindowOf
from tests.support.crashing import let_leases_run_out
from tests.support.fixtures import MakeBlock, Propose

pytestmark = pytest.mark.slow

NUMBER = 120


@pytest.fixture
def waiting(alice: User, make_block: MakeBlock, propose: Propose) -> None:
    with override_settings(PENDING_CAP=NUMBER):
        for number in range(NUMBER):
            propose(make_block(alice, f"plan-{number}", f"She reads {number} books.\n"), f"{number} books", "a book")


@pytest.mark.one_leg
def test_it_is_gone_on_with_and_found_again(server: Server, window_of: WindowOf, tim: User, waiting: None) -> None:
    window = window_of(tim)
    window.goto("/?ticked=plain")
    expect(window.locator("[data-count]")).to_have_text(f"{NUMBER} proposals selected")
    window.click("[data-approve-several]")
    eventually(lambda: any(len(batch.results) > 5 for batch in Batch.objects.all()), seconds=30)
    server.kill()
    done = Proposal.objects.filter(status="approved").count()
    assert 0 < done < NUMBER
    server.start()
    let_leases_run_out()
    # Of an embedded site that somebody opens; it looks for batches by itself.
    window.goto("/")
    eventually(lambda: Batch.objects.get().is_finished, seconds=90)
    window.goto("/")
    expect(window.locator("#batch-title")).to_have_text(f"{NUMBER} approved")
    assert Event.objects.filter(what=Event.What.APPROVED).count() == NUMBER
    assert list(problems()) == []
