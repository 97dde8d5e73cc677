"""People made without a password are mailed a link to choose their first one."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from approvals.accounts import invitations
from approvals.models import AuditEvent, User
from memory_app.runtime import background
from tests import environment
from tests.conftest import eventually
from tests.support.pages import form, words


@pytest.fixture
def nina() -> User:
    person = User(username="nina", email="nina@example.org")
    person.set_unusable_password()
    person.save()
    return person


@pytest.fixture(autouse=True)
def no_worker_takes_messages(monkeypatch: Any) -> None:
    monkeypatch.setattr(invitations, "enqueue", lambda task, otherwise: otherwise())


def _invited(nina: User, admin: User, mailoutbox: Any) -> str:
    assert invitations.invite([nina], by=admin) == [nina]
    background.settle(invitations.THREAD, 20)
    mail = eventually(lambda: mailoutbox)[-1]
    assert mail.to == ["nina@example.org"]
    assert "Your username is nina" in mail.body
    link = re.search(r"http://127.0.0.1:8000(/invitation/\S+)", mail.body)
    assert link
    return link[1]


@pytest.mark.slow
def test_an_invited_person_chooses_a_password_and_signs_in(
    client: Client, nina: User, admin: User, mailoutbox: Any
) -> None:
    link = _invited(nina, admin, mailoutbox)
    nina.refresh_from_db()
    assert invitations.state_of(nina) == "invited"
    page = client.get(link, follow=True)
    assert "Your username is nina. Choose a password." in words(page)
    place = page.redirect_chain[-1][0]
    chosen = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    assert client.post(place, chosen)["Location"] == "/password/reset/done/"
    nina.refresh_from_db()
    assert (invitations.state_of(nina), nina.proved_email) == ("accepted", "nina@example.org")
    assert Client().post("/sign-in/", {"username": "nina", "password": "correct horse battery"}).status_code == 302
    assert "This link has expired" in words(client.get(link, follow=True))
    acts = AuditEvent.objects.filter(owner="nina").order_by("pk").values_list("what", "actor", "detail")
    assert ("invited", "admin", "") in acts
    assert ("password_set", "", "by a mailed link") in acts


def test_an_invitation_lasts_as_long_as_the_setting_says(nina: User, settings: Any, monkeypatch: Any) -> None:
    settings.INVITATION_DAYS = 14
    token = invitations.TOKENS.make_token(nina)
    now = invitations.TOKENS._now()
    for days, is_valid in ((13, True), (15, False)):
        monkeypatch.setattr(invitations.TOKENS, "_now", lambda days=days: now + timedelta(days=days))
        assert invitations.TOKENS.check_token(nina, token) is is_valid


def test_an_invitation_is_no_link_for_a_forgotten_password_and_ends_with_another_address(
    client: Client, nina: User, admin: User, mailoutbox: Any
) -> None:
    link = _invited(nina, admin, mailoutbox)
    reset = client.get(link.replace("/invitation/", "/password/reset/"), follow=True)
    assert "This link has expired" in words(reset)
    User.objects.filter(pk=nina.pk).update(email="other@example.org")
    assert "This link has expired" in words(client.get(link, follow=True))


@pytest.mark.skipif(not environment.is_embedded(), reason="the same on both")
def test_a_mail_that_was_not_taken_is_sent_by_the_next_run(
    nina: User, admin: User, mailoutbox: Any, settings: Any
) -> None:
    backend = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "tests.approvals.accounts.test_invitations.Refusing"
    invitations.invite([nina], by=admin)
    background.settle(invitations.THREAD, 20)
    nina.refresh_from_db()
    assert invitations.state_of(nina) == "to be sent"
    settings.EMAIL_BACKEND = backend
    assert invitations.send_due() == 1
    assert [mail.to for mail in mailoutbox] == [["nina@example.org"]]
    assert invitations.send_due() == 0


class Refusing:
    def __init__(self, **options: Any) -> None:
        pass

    def __enter__(self) -> "Refusing":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def send_messages(self, mails: Any) -> int:
        raise OSError("the mail server is away")


@pytest.mark.slow
def test_an_admin_makes_a_person_without_a_password_and_invites_them(
    as_admin: Client, alice: User, mailoutbox: Any
) -> None:
    page = as_admin.get("/admin/approvals/user/add/")
    fields = form(page, "") | {"username": "nina", "email": "nina@example.org", "usable_password": "false"}
    assert as_admin.post("/admin/approvals/user/add/", fields).status_code == 302
    nina = User.objects.get(username="nina")
    User.objects.filter(pk=alice.pk).update(last_login=timezone.now(), email="alice@example.org")
    chosen = {"action": "invite", "_selected_action": [nina.pk, alice.pk]}
    answer = as_admin.post("/admin/approvals/user/", chosen, follow=True)
    assert "Invited: 1 of 2." in words(answer)
    background.settle(invitations.THREAD, 20)
    assert [mail.to for mail in eventually(lambda: mailoutbox)] == [["nina@example.org"]]
    assert "invited, " in words(as_admin.get("/admin/approvals/user/"))
