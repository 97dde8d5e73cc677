"""What people did is recorded once, in the log and in a table for admins; owners see who looked."""

import csv
import json
import time
from collections import Counter
from contextlib import nullcontext
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import structlog
from django.contrib.auth.models import Group, Permission
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken
from approvals import audit
from approvals.models import Agent, AuditEvent, Tutorship, User
from approvals.tasks import purge_sessions_and_audit
from memory_app.reads import Block
from tests import environment
from tests.agent_tools.auth.conftest import PAGE
from tests.approvals.accounts.conftest import PASSWORD
from tests.conftest import at_once, make_user
from tests.support.fixtures import ClientOf, Propose
from tests.support.holding import held_table
from tests.support.pages import words

Act = AuditEvent.Act
EVENTS = "/admin/approvals/auditevent/"


def recorded(*fields: str) -> list[Any]:
    rows = AuditEvent.objects.order_by("pk").values_list(*(fields or ("what", "actor", "owner", "detail")))
    return list(rows.values_list(fields[0], flat=True) if len(fields) == 1 else rows)


def try_(name: str, password: str = "not it", **more: Any) -> Any:
    return Client().post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR="192.0.2.1", **more)


# -- signing in and out, passwords -----------------------------------------------------------------


def test_signing_in_and_out_and_a_failure_are_one_event_each_in_the_log_and_the_table(
    alice_with_password: User,
) -> None:
    AuditEvent.objects.all().delete()
    client = Client(REMOTE_ADDR="192.0.2.1")
    with structlog.testing.capture_logs() as logged:
        client.post("/sign-in/", {"username": "alice", "password": PASSWORD}, headers={"X-Request-ID": "r-1"})
        client.post("/sign-out/")
        client.post("/sign-out/")  # nobody is signed in any more
        assert try_("alice").status_code == 422
    expected = [
        ("signed_in", "alice", "alice", "password"),
        ("signed_out", "alice", "alice", ""),
        ("sign_in_failed", "", "alice", ""),
    ]
    assert recorded() == expected
    assert set(recorded("address")) == {"192.0.2.1"}
    assert recorded("request_id")[0] == "r-1"
    lines = [each for each in logged if each["event"] == "audit"]
    assert [(each["what"], each["actor"], each["owner"], each["detail"]) for each in lines] == expected
    assert PASSWORD not in str(logged)


@pytest.mark.parametrize(
    "typed",
    ["hunter2 typed too early", "x" * 10_000, "a\nlevel=error event=forged", "\x1b[31mred", "‮nimda", "=1+1", "nobody"],
)
def test_a_name_that_nobody_has_is_kept_nowhere(alice: User, typed: str) -> None:
    """It may be a password typed into the wrong field; and what is not kept forges no line."""
    with structlog.testing.capture_logs() as logged:
        try_(typed)
    assert recorded() == [("sign_in_failed", "", "", "unknown name")]
    assert typed not in str(logged) + str(AuditEvent.objects.values())


def test_a_limit_is_recorded_once_in_its_window_whoever_goes_on(alice: User, settings: Any) -> None:
    settings.SIGN_IN_LIMIT = 2
    for number in range(30):
        try_("alice" if number < 8 else f"person-{number}")
    counted = Counter(recorded("what"))
    assert counted == {"sign_in_failed": 14, "limited": 2}  # for the name, and for the address
    assert recorded("what", "owner", "detail")[2] == ("limited", "alice", "sign-in")
    cache.clear()
    for _ in range(4):
        Client().post("/password/reset/", {"email": "Alice@Example.org"})
    assert recorded()[-1] == ("limited", "", "", "reset")


def test_invented_addresses_are_not_believed_and_never_long(alice: User, settings: Any) -> None:
    forged = {"headers": {"X-Forwarded-For": "203.0.113.9\n, " + "x" * 500}}
    try_("alice", **forged)
    settings.TRUSTED_PROXIES = 1
    try_("alice", **forged)
    believed, cut = recorded("address")
    assert believed == "192.0.2.1"
    assert cut == "x" * 64


def test_twenty_who_sign_in_at_once_are_twenty_events(alice_with_password: User, settings: Any) -> None:
    settings.SIGN_IN_LIMIT = 20
    AuditEvent.objects.all().delete()
    answers = at_once(lambda: try_("alice", PASSWORD).status_code, 20)
    assert answers == [302] * 20
    assert recorded("what") == ["signed_in"] * 20


def test_a_new_password_is_recorded_with_who_set_it(
    alice_with_password: User, admin: User, client_of: ClientOf
) -> None:
    AuditEvent.objects.all().delete()
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    client_of(alice_with_password).post("/password/", {"old_password": PASSWORD, **new})
    set_by_admin = {"usable_password": "true", "password1": "another long one", "password2": "another long one"}
    client_of(admin).post(f"/admin/approvals/user/{alice_with_password.pk}/password/", set_by_admin)
    made = [each for each in recorded() if each[0] == "password_set"]
    assert made == [("password_set", "alice", "alice", ""), ("password_set", "admin", "alice", "")]


# -- tokens and rights -----------------------------------------------------------------------------


def test_tokens_are_recorded_when_they_are_made_rotated_and_revoked(
    as_alice: Client, alice: User, admin: User, scribe: Agent
) -> None:
    as_alice.post(PAGE, {"name": "diary", "scopes": ["memory:read"], "days": ""})
    token = AgentToken.objects.get()
    as_alice.post(reverse("agent_token_rotate", args=[token.pk]), {"grace": "day"})
    new = AgentToken.objects.exclude(pk=token.pk).get()
    as_alice.post(reverse("agent_token_revoke", args=[new.pk]))
    secret = auth.issue(agent=scribe, scopes=["memory:read"], all_owners=True, created_by=admin).secret
    auth.revoke(AgentToken.objects.get(prefix=secret[:12]))
    auth.revoke(AgentToken.objects.get(prefix=secret[:12]))
    events = [each for each in recorded() if each[0].startswith("token")]
    assert events == [
        ("token_made", "alice", "alice", f"diary {token.prefix}… for alice"),
        ("token_rotated", "alice", "alice", f"diary {new.prefix}… replaces {token.prefix}… for alice"),
        ("token_revoked", "alice", "alice", f"diary {new.prefix}… for alice"),
        ("token_made", "", "", f"scribe {secret[:12]}… for everyone"),
        ("token_revoked", "", "", f"scribe {secret[:12]}… for everyone"),
    ]
    assert secret not in str(AuditEvent.objects.values())


def test_rights_groups_and_tutors_are_recorded(as_admin: Client, alice: User, ben: User) -> None:
    AuditEvent.objects.all().delete()
    teachers = Group.objects.create(name="teachers")
    form = {"time_zone": "UTC", "mail": "daily", "is_active": "on"}
    person = f"/admin/approvals/user/{ben.pk}/change/"
    as_admin.post(person, form | {"is_staff": "on", "groups": teachers.pk})
    as_admin.post(person, form | {"is_staff": "on", "groups": teachers.pk, "last_name": "Ok"})  # no right is changed
    as_admin.post(person, {"time_zone": "UTC", "mail": "daily"})
    view = Permission.objects.get(codename="view_user")
    as_admin.post(f"/admin/auth/group/{teachers.pk}/change/", {"name": "teachers", "permissions": view.pk})
    as_admin.post(f"/admin/auth/group/{teachers.pk}/delete/", {"post": "yes"})
    for _ in range(2):
        as_admin.post("/admin/approvals/tutorship/add/", {"tutor": ben.pk, "owner": alice.pk})
        tutorship = Tutorship.objects.get().pk
        changed = as_admin.post(f"/admin/approvals/tutorship/{tutorship}/change/", {"tutor": alice.pk, "owner": ben.pk})
        assert (changed.status_code, Tutorship.objects.get().tutor) == (302, ben)
        as_admin.post(f"/admin/approvals/tutorship/{tutorship}/delete/", {"post": "yes"})
    as_admin.post("/admin/approvals/tutorship/add/", {"tutor": ben.pk, "owner": alice.pk})
    selected = {"action": "delete_selected", "_selected_action": Tutorship.objects.get().pk, "post": "yes"}
    as_admin.post("/admin/approvals/tutorship/", selected)
    events = [each for each in recorded() if each[0] != "opened"]
    assert [each for each in events if each[0] == "rights_changed"] == [
        ("rights_changed", "admin", "ben", "is_staff: on; groups: teachers"),
        ("rights_changed", "admin", "ben", "is_active: off; is_staff: off; groups: none"),
        ("rights_changed", "admin", "", "group teachers: Approvals | user | Can view user"),
        ("rights_changed", "admin", "", "group teachers: deleted"),
    ]
    given_and_taken = [("tutor_assigned", "admin", "alice", "ben"), ("tutor_removed", "admin", "alice", "ben")]
    assert [each for each in events if each[0].startswith("tutor")] == given_and_taken * 3


# -- who opened whose memory ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("/memory/alice/", "memory"),
        ("/memory/alice/blocks/goals/", "blocks"),
        ("/memory/alice/blocks/goals/history/", "blocks"),
        ("/memory/alice/notes/", "notes"),
        ("/memory/alice/conversations/", "conversations"),
        ("/memory/alice/search/?q=math", "search"),
        ("/memory/alice/export/memories.md", "export"),
        ("/memory/alice/export/memory.json", "export"),
    ],
)
def test_who_opens_anothers_memory_is_recorded_once_in_some_minutes_for_each_kind(
    client_of: ClientOf, alice: User, tim: User, mallory: User, goals: Block, page: str, kind: str
) -> None:
    AuditEvent.objects.all().delete()
    clients = [client_of(person) for person in (tim, alice, mallory)]
    for client in clients * 3:
        client.get(page)
    opened = [("opened", "tim", "alice", kind)]
    assert [each for each in recorded() if each[0] == "opened"] == opened
    cache.clear()  # the minutes are over
    clients[0].get(page)
    assert [each for each in recorded() if each[0] == "opened"] == opened * 2


def test_a_proposal_and_what_the_admin_shows_are_recorded_without_text_or_id(
    client_of: ClientOf, tim: User, admin: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "geometry")
    client_of(tim).get(f"/proposals/{proposal.pk}/")
    desk = client_of(admin)
    for _ in range(2):
        desk.get("/admin/memory_app/memoryblock/")
        desk.get(f"/admin/approvals/proposal/{proposal.pk}/change/")
        desk.get(f"/admin/approvals/event/{proposal.events.get().pk}/change/")
    assert [each for each in recorded() if each[0] == "opened"] == [
        ("opened", "tim", "alice", "proposals"),
        ("opened", "admin", "", "memory blocks (list in the admin)"),
        ("opened", "admin", "alice", "proposal (admin)"),
        ("opened", "admin", "alice", "event (admin)"),
    ]


def test_owners_see_who_looked_and_nobody_elses(client_of: ClientOf, alice: User, tim: User, ben: User) -> None:
    assert "Nobody but you." in words(client_of(alice).get("/settings/"))
    client_of(tim).get("/memory/alice/notes/")
    page = words(client_of(alice).get("/settings/"))
    assert "Tim Okafor Notes" in page
    assert "Tim Okafor Notes" not in words(client_of(ben).get("/settings/"))


def test_no_page_fails_or_waits_where_nothing_can_be_recorded(client_of: ClientOf, tim: User, goals: Block) -> None:
    client = client_of(tim)
    client.get("/memory/alice/notes/")  # whatever is made once
    cache.clear()
    with held_table(AuditEvent), structlog.testing.capture_logs() as logged:
        began = time.monotonic()
        assert client.get("/memory/alice/").status_code == 200
        assert time.monotonic() - began < 5
    events = [each["event"] for each in logged]
    assert "audit" in events
    assert "audit_not_stored" in events


def test_a_transaction_goes_on_where_nothing_can_be_recorded_in_it(alice: User) -> None:
    # Who waits for SQLite's only writer has not begun a transaction.
    with nullcontext() if environment.is_embedded() else held_table(AuditEvent), transaction.atomic():
        audit.record(Act.OPENED, owner="alice")
        audit.record(Act.OPENED, owner="x" * 500, actor="\0")  # neither fits on PostgreSQL
        User.objects.filter(pk=alice.pk).update(first_name="Still")
    alice.refresh_from_db()
    assert alice.first_name == "Still"


# -- the admin's table ------------------------------------------------------------------------------


def test_admins_filter_and_export_and_nobody_changes_or_forges(
    as_admin: Client, client_of: ClientOf, alice: User, tim: User
) -> None:
    AuditEvent.objects.all().delete()
    make_user("-cmd")
    audit.record(Act.SIGN_IN_FAILED, owner="-cmd", detail='=HYPERLINK("http://x"),\n"a"', actor="")
    audit.record(Act.OPENED, owner="alice", detail="notes", actor="tim")
    event = AuditEvent.objects.earliest("pk")
    for forbidden in ("add/", f"{event.pk}/delete/"):
        assert as_admin.post(EVENTS + forbidden, {"post": "yes"}).status_code == 403
    assert as_admin.post(f"{EVENTS}{event.pk}/change/", {"detail": "x"}).status_code == 403
    assert client_of(tim).get(EVENTS).status_code == 302  # to where the admin sends those it does not let in
    assert as_admin.get(EVENTS, {"what__exact": "opened", "q": "tim"}).context["cl"].result_count == 1
    chosen = {"action": "export", "_selected_action": [each.pk for each in AuditEvent.objects.all()]}
    answer = as_admin.post(EVENTS, chosen)
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(StringIO(answer.getvalue().decode())))
    assert rows[-1]["owner"] == "'-cmd"
    assert rows[-1]["detail"].startswith("'=HYPERLINK(")
    assert {row["what"] for row in rows} == {"sign_in_failed", "opened", "signed_in"}
    assert json.dumps(rows)


@pytest.mark.parametrize(("days", "left"), [(30, 1), (365, 2), (0, 2)])
def test_events_are_deleted_after_their_time(alice: User, settings: Any, days: int, left: int) -> None:
    settings.AUDIT_DAYS = days
    for age in (1, 60):
        audit.record(Act.OPENED, owner="alice", actor="tim")
        AuditEvent.objects.filter(pk=AuditEvent.objects.latest("pk").pk).update(at=timezone.now() - timedelta(days=age))
    purge_sessions_and_audit()
    assert AuditEvent.objects.count() == left
