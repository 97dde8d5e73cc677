"""The generated histories other tests rely on: they hold every kind of change, and the memory agrees afterwards."""

import pytest

from approvals.models import Proposal, Revision, Status
from approvals.recovery.integrity import problems
from memory_app.models import Change
from tests.support.histories import COLUMNS, ledger_snapshot, make_history

pytestmark = pytest.mark.slow


def test_a_history_holds_every_kind_of_change_and_the_memory_agrees_with_its_ledger() -> None:
    make_history(seed=7, operations=250)
    actions = set(Change.objects.values_list("action", flat=True))
    assert actions == set(Change.Action.values) - {Change.Action.RECOVERED}
    assert Proposal.objects.filter(status=Status.REJECTED).exists()
    assert Revision.objects.filter(origin=Revision.Origin.REAPPLIED).exists()
    assert len(ledger_snapshot()) == Change.objects.count()
    assert set(COLUMNS) == {field.attname for field in Change._meta.fields} - {"id"}
    assert list(problems()) == []
