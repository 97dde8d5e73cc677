"""Who may do what: a table of people and one of states."""

import re
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from approvals import permissions, services
from approvals.models import Proposal, Status, Tutorship, User
from approvals.permissions import ReviewAction, available_actions
from approvals.services.errors import ProposalNotFound
from memory_app.reads import Block
from tests.conftest import make_user
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words

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


def test_what_a_tutor_was_given_before_opens_nothing_afterwards(
    tim: User, alice: User, client_of: ClientOf, goals: Block, propose: Propose
) -> None:
    """A filter, an assignment, a feed and the batches of a tutor, and addresses in their bookmarks."""
    proposal, other = propose(goals, "math", "geometry"), propose(goals, "June", "May")
    services.assign(actor=tim, proposal_id=proposal.pk, to="tim")
    services.save_filter(actor=tim, name="Mine", query="assigned=me&owner=alice")
    services.approve(actor=tim, proposal_id=other.pk, revision=1, seen_sha256=goals.sha256)
    User.objects.filter(pk=tim.pk).update(feed_key="key-of-a-tutor")
    tim.refresh_from_db()
    client = client_of(tim)
    pages = ["", "blocks/goals/", "blocks/goals/history/", "notes/", "conversations/", "search/?q=math"]
    pages += ["export/memories.md", "export/memory.json"]
    addresses = [f"/memory/alice/{page}" for page in pages] + [f"/proposals/{each.pk}/" for each in (proposal, other)]
    lists = ["/", "/?assigned=me&owner=alice", "/?tab=decided", "/memory/", urlsplit(tim.feed_url).path]
    assert all(client.get(address).status_code == 200 for address in addresses)
    assert all("alice" in client.get(address).content.decode() for address in lists[:2])
    Tutorship.objects.all().delete()
    assert {client.get(address).status_code for address in addresses} == {404}
    for address in lists:
        shown = client.get(address, follow=True)
        assert shown.status_code == 200
        assert not {"Alice Berg", "geometry", "alice/"} & set(re.findall(r"Alice Berg|geometry|alice/", words(shown)))
    for verb in ("approve", "reject", "undo", "comment", "assign", "request-changes", "remove-texts"):
        assert client.post(f"/proposals/{proposal.pk}/{verb}/", {"revision": 1, "to": "tim"}).status_code == 404, verb
    with pytest.raises(ProposalNotFound):
        services.undo(actor=tim, proposal_id=other.pk)
