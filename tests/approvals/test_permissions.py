"""Who may do what: a table of people and one of states."""

from datetime import UTC, datetime

import pytest

from approvals import permissions
from approvals.models import Proposal, Status, User
from approvals.permissions import ReviewAction, available_actions
from tests.conftest import make_user

DECIDE = {
    ReviewAction.APPROVE,
    ReviewAction.APPROVE_SOME,
    ReviewAction.EDIT,
    ReviewAction.RESOLVE,
    ReviewAction.REJECT,
}
ASK = DECIDE | {ReviewAction.REQUEST_CHANGES}
TAKE_BACK = {ReviewAction.APPROVE, ReviewAction.REJECT, ReviewAction.BACK_TO_REVIEW}


@pytest.fixture
def people(alice: User, ben: User, tim: User, mallory: User, admin: User) -> dict[str, User]:
    return {"alice": alice, "ben": ben, "tim": tim, "mallory": mallory, "admin": admin}


@pytest.mark.parametrize(
    ("name", "reads", "writes"),
    [
        ("alice", True, True),
        ("tim", True, False),
        ("admin", True, True),
        ("ben", False, False),
        ("mallory", False, False),
    ],
)
def test_what_each_may_do_with_alices_memory(people: dict[str, User], name: str, reads: bool, writes: bool) -> None:
    person = people[name]
    assert permissions.may_read(person, "alice") is permissions.may_decide(person, "alice") is reads
    assert permissions.may_edit(person, "alice") is writes
    assert permissions.may_delete_messages(person, "alice") is permissions.may_redact(person, "alice") is writes
    person.is_active = False
    assert permissions.may_read(person, "alice") is permissions.may_edit(person, "alice") is False
    assert permissions.readable_owners(person) == []


def test_a_tutor_reads_the_students_assigned_and_staff_everyone(people: dict[str, User]) -> None:
    lists = {name: permissions.readable_owners(person) for name, person in people.items()}
    assert lists == {"alice": ["alice"], "ben": ["ben"], "tim": ["tim", "alice"], "mallory": ["mallory"], "admin": None}
    assert permissions.may_read(people["tim"], "ben") is False
    assert permissions.may_read(make_user("tom"), "alice") is False  # alice has a tutor, and he is not that one


@pytest.mark.parametrize(
    ("state", "owner", "tutor"),
    [
        ({"status": Status.OPEN}, ASK, ASK),
        ({"status": Status.CHANGES_REQUESTED}, TAKE_BACK, TAKE_BACK),
        ({"status": Status.PREPARING}, set(), set()),
        ({"status": Status.MERGING}, set(), set()),
        ({"status": Status.APPROVED}, {ReviewAction.UNDO}, {ReviewAction.UNDO}),
        ({"status": Status.APPROVED, "reverted_by_commit": "0" * 40}, set(), set()),
        ({"status": Status.APPLIED}, {ReviewAction.UNDO}, {ReviewAction.UNDO}),
        ({"status": Status.APPLIED, "reverted_by_commit": "0" * 40}, set(), set()),
        ({"status": Status.REJECTED}, {ReviewAction.UNDO, ReviewAction.REDACT}, {ReviewAction.UNDO}),
        ({"status": Status.EXPIRED}, {ReviewAction.UNDO, ReviewAction.REDACT}, {ReviewAction.UNDO}),
        ({"status": Status.WITHDRAWN}, {ReviewAction.REDACT}, set()),
        ({"status": Status.REJECTED, "redacted_at": datetime(2026, 1, 1, tzinfo=UTC)}, set(), set()),
    ],
)
def test_what_is_left_to_do_with_a_proposal(
    alice: User, tim: User, mallory: User, state: dict[str, object], owner: set[ReviewAction], tutor: set[ReviewAction]
) -> None:
    proposal = Proposal(owner="alice", **state)
    assert [available_actions(person, proposal) for person in (alice, tim, mallory)] == [owner, tutor, set()]
