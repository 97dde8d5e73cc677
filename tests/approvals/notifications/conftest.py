"""People with addresses, and what is sent to them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models import F, Model
from django.utils import timezone

from approvals.models import Event, Mail, Proposal, Tutorship, User
from approvals.notifications import mail as sending
from memory_app.reads import Block
from tests.support.fixtures import Propose
from tests.support.smtp import MailServer, mail_server


@pytest.fixture
def smtp() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def told(tim: User) -> User:
    """tim, who wants to be told at once."""
    return wants(tim)


@pytest.fixture
def algebra(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "math", "algebra")


#: What looks like a secret.
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def wants(person: User, mail: Mail = Mail.AT_ONCE, **fields: Any) -> User:
    """Give a person an address and a choice."""
    values = {"mail": mail, "email": f"{person.username}@example.org"} | fields
    User.objects.filter(pk=person.pk).update(**values)
    person.refresh_from_db()
    return person


#: The times that tell what is new to whom.
_TIMES: dict[type[Model], list[str]] = {
    Event: ["at"],
    Proposal: ["created_at", "expires_at", "reminded_at", "owner_reminded_at"],
    User: ["mailed_at", "date_joined"],
    Tutorship: ["created_at"],
}


def pass_time(**passed: float) -> None:
    """Move everything that happened so far into the past."""
    by = timedelta(**passed)
    for model, names in _TIMES.items():
        model._default_manager.update(**{name: F(name) - by for name in names})


def send(**later: float) -> int:
    """What the clock does a minute later, or so much later still; how many mails were sent."""
    pass_time(minutes=1)
    if later:
        pass_time(**later)
    cache.clear()
    return sending.send_due()


def made_earlier(proposal: Proposal, **ago: float) -> Proposal:
    """As if it had been proposed so long ago."""
    at = timezone.now() - timedelta(**ago)
    life = proposal.expires_at - proposal.created_at
    Proposal.objects.filter(pk=proposal.pk).update(created_at=at, expires_at=at + life)
    Event.objects.filter(proposal=proposal, what=Event.What.PROPOSED).update(at=at)
    proposal.refresh_from_db()
    return proposal
