"""Rows of one owner become visible in the order of their numbers, which the index counts on."""

from django.db import transaction
from django.utils import timezone

from approvals.models import User
from memory_app import conversations
from memory_app.dolt.types import FIRST
from memory_app.models import Change, Message
from memory_app.writing import ledger
from tests.conftest import in_a_thread


def entry(owner: str, target: str) -> ledger.LedgerEntry:
    return ledger.LedgerEntry(action="edited", owner=owner, targets=(("block", target),), operation="", actor=owner)


def record(owner: str, target: str) -> None:
    ledger.record(FIRST, f"commit-{target}", entry(owner, target), at=timezone.now(), epoch=0)


def test_a_ledger_row_is_not_seen_before_one_of_a_lower_number(alice: User) -> None:
    with transaction.atomic():
        record("alice", "first")
        thread = in_a_thread(lambda: record("alice", "second"))
        thread.join(0.5)
        assert thread.is_alive(), "it would be seen first, and the index would never look below it again"
    thread.join(20)
    assert list(Change.objects.order_by("id").values_list("target", flat=True)) == ["first", "second"]


def test_a_message_is_not_seen_before_one_of_a_lower_number(alice: User) -> None:
    def keep(id_: str) -> None:
        conversations.keep("alice", "s1", [conversations.Turn("user", "Hello.", id=id_)])

    with transaction.atomic():
        keep("first")
        thread = in_a_thread(lambda: keep("second"))
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(20)
    assert list(Message.objects.order_by("id").values_list("message_id", flat=True)) == ["first", "second"]
