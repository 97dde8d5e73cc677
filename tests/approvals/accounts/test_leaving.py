"""Leaving: what ends, what is handed over, what stays, and an account without personal data."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from agent_tools import auth
from agent_tools.models import AgentToken, EndpointState, Scope
from agent_tools.webhooks import endpoints
from approvals.accounts import courses, leaving
from approvals.models import Agent, AuditEvent, BrowserSession, Course, Proposal, Tutorship, User
from approvals.permissions import may_read
from memory_app import reads
from memory_app.models import TextErasure
from tests.support import acts
from tests.support.pages import words


@pytest.fixture
def busy_tim(tim: User, ben: User, proposal: Proposal, as_tim: Client) -> User:
    """tim has a course, an agent with a token, a webhook, a feed, a session, and a proposal to look after."""
    course = Course.objects.create(name="5a")
    course.tutors.add(tim)
    course.students.add(ben)
    courses.keep_tutorships({ben.pk})
    agent = Agent.objects.create(name="helper", created_by=tim)
    auth.issue(agent=agent, scopes=Scope.usual(), owners=[tim], created_by=tim)
    auth.issue(agent=agent, scopes=Scope.usual(), owners=[ben], created_by=ben)
    endpoints.create(actor=tim, agent=agent, url="https://example.org/hook", events=["proposal.approved"])
    User.objects.filter(pk=tim.pk).update(feed_key="k", email="tim@example.org")
    Proposal.objects.filter(pk=proposal.pk).update(assigned_to=tim)
    assert as_tim.get("/").status_code == 200
    return User.objects.get(pk=tim.pk)


def pairs() -> set[tuple[str, str]]:
    return set(Tutorship.objects.values_list("tutor__username", "owner__username"))


def test_what_a_person_had_is_handed_over_and_their_ways_in_end(
    busy_tim: User, admin: User, mallory: User, proposal: Proposal, as_tim: Client
) -> None:
    said = leaving.what_happens(busy_tim)
    assert "sessions 1, tokens of agents 2, webhooks 1" in said
    assert "students 2, courses as a tutor 1, agents 1, assigned proposals 1" in said
    leaving.leave(busy_tim, by=admin, hand_over_to=mallory)
    assert not busy_tim.is_active
    assert not busy_tim.feed_key
    assert not BrowserSession.objects.filter(user=busy_tim).exists()
    assert as_tim.get("/").status_code == 302
    # Of an agent that is handed over, what others made goes on.
    assert [token.created_by.username for token in AgentToken.objects.usable() if token.created_by] == ["ben"]
    assert Agent.objects.get(name="helper").created_by == mallory
    assert busy_tim.webhooks.get().state == EndpointState.DISABLED
    assert pairs() == {("mallory", "alice"), ("mallory", "ben")}
    assert Tutorship.objects.get(owner__username="alice").by_hand
    proposal.refresh_from_db()
    assert proposal.assigned_to == mallory
    left = AuditEvent.objects.get(what="left")
    assert (left.owner, left.actor, left.detail) == ("tim", "admin", "deactivated, handed over to mallory")


def test_handed_over_to_nobody_everything_ends(busy_tim: User, proposal: Proposal) -> None:
    leaving.leave(busy_tim, by=None)
    assert not AgentToken.objects.usable().exists()
    assert pairs() == set()
    proposal.refresh_from_db()
    assert proposal.assigned_to is None
    leaving.leave(busy_tim, by=None)  # again


def test_what_waits_about_a_student_stays_readable_for_tutors(alice: User, tim: User, proposal: Proposal) -> None:
    leaving.leave(alice, by=None)
    assert may_read(tim, "alice")
    assert Proposal.objects.open().of_owner("alice").count() == 1


def test_a_deleted_account_has_no_personal_data_and_keeps_its_username(
    busy_tim: User, as_tim: Client, settings: Any, tmp_path: Path
) -> None:
    out = StringIO()
    acts.save(busy_tim, "Likes tea.")
    settings.ERASED_LIST = None
    with pytest.raises(CommandError, match="ASSENT_ERASED_LIST is not set"):
        call_command("leave", "tim", "--delete", "--apply", stdout=out)
    settings.ERASED_LIST = tmp_path / "erased"
    Course.objects.create(name="teachers").students.add(busy_tim)
    call_command("leave", "tim", "--delete", stdout=out)
    busy_tim.refresh_from_db()
    assert busy_tim.is_active
    call_command("leave", "tim", "--delete", "--apply", stdout=out)
    busy_tim.refresh_from_db()
    assert (busy_tim.username, busy_tim.first_name, busy_tim.email) == ("tim", "", "")
    assert not busy_tim.has_usable_password()
    assert not busy_tim.attention.exists()
    assert not busy_tim.courses.exists()
    assert not busy_tim.agent_tokens.exists()
    assert reads.notes("tim") == ()
    erasure = TextErasure.objects.get()
    assert (erasure.owner, erasure.kind, bool(erasure.done_at)) == ("tim", "", True)
    with pytest.raises(CommandError, match="nobody called nina"):
        call_command("leave", "tim", "--hand-over-to", "nina", stdout=out)


def test_admins_do_not_leave_by_lesser_ones_nor_the_last_superuser(admin: User, alice: User) -> None:
    root = User.objects.create(username="root", is_staff=True, is_superuser=True)
    User.objects.filter(pk=admin.pk).update(is_superuser=False)
    admin.refresh_from_db()
    for person, by in ((root, admin), (root, root), (root, None)):
        with pytest.raises(leaving.CannotLeave):
            leaving.leave(person, by=by)
    with pytest.raises(leaving.CannotLeave):
        leaving.leave(alice, by=None, hand_over_to=alice)


def test_the_page_asks_first(busy_tim: User, as_admin: Client, admin: User, ben: User) -> None:
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    page = reverse("admin:person_leaves", args=[busy_tim.pk])
    assert page in as_admin.get(reverse("admin:approvals_user_change", args=[busy_tim.pk])).content.decode()
    assert "webhooks 1" in words(as_admin.get(page))
    refused = as_admin.post(page, {"to": "nobody"})
    assert refused.status_code == 422
    assert "nobody of this username" in words(refused)
    done = as_admin.post(page, {"to": "ben"}, follow=True)
    assert "Tim has left" in words(done)
    assert pairs() == {("ben", "alice")}
