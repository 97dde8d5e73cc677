"""A forgotten password: the link that is mailed, and what asking for one tells a stranger."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from django.db import connections
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.accounts import sign_in
from approvals.models import User
from memory_app.celery import app
from memory_app.runtime import background
from tests import environment
from tests.conftest import eventually
from tests.support.pages import words
from tests.support.smtp import mail_server


@pytest.fixture(autouse=True)
def no_worker_takes_messages() -> Iterator[None]:
    """A worker that tests before these have started would send the mail itself, where nobody sees it."""
    if environment.is_embedded():
        yield
        return
    queue = app.conf.task_default_queue
    app.control.cancel_consumer(queue, reply=True, timeout=1)
    yield
    app.control.add_consumer(queue, reply=True, timeout=1)


@pytest.fixture
def deliver() -> Callable[[], None]:
    """`deliver()`: do what a worker does with a message in the broker; where there is none, wait for the thread."""

    def run_what_waits() -> None:
        if environment.is_embedded():
            background.settle(sign_in.THREAD, 20)
            return
        app.loader.import_default_modules()
        with app.connection_for_read() as connection:
            queue = connection.SimpleQueue(app.conf.task_default_queue)
            message = queue.get(timeout=5)
            message.ack()
            app.tasks[message.headers["task"]](*message.payload[0])

    return run_what_waits


def ask(client: Client, email: str, **more: Any) -> Any:
    return client.post("/password/reset/", {"email": email}, **more)


@pytest.mark.slow
def test_a_forgotten_password_is_reset_by_mail_once(
    client: Client, alice_with_password: User, mailoutbox: Any, deliver: Any
) -> None:
    assert ask(client, "alice@example.org").status_code == 302
    deliver()
    (mail,) = eventually(lambda: mailoutbox)
    link = re.search(r"http://127.0.0.1:8000(/password/reset/\S+)", mail.body)
    assert link
    page = client.get(link[1], follow=True)
    place = page.redirect_chain[-1][0]
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    assert client.post(place, new).status_code == 302
    signed_in = Client().post("/sign-in/", {"username": "alice", "password": "correct horse battery"})
    assert signed_in.status_code == 302
    assert "This link has expired or has already been used." in words(Client().get(link[1], follow=True))


@pytest.mark.parametrize(("invited_at", "mails"), [(timezone.now(), 1), (None, 0)])
def test_who_was_invited_and_has_chosen_no_password_gets_a_link_too(
    alice: User, mailoutbox: Any, invited_at: datetime | None, mails: int
) -> None:
    alice.set_unusable_password()
    alice.email, alice.invited_at = "alice@example.org", invited_at
    alice.save()
    sign_in.send("Alice@example.org")
    assert [mail.to for mail in mailoutbox] == [["alice@example.org"]] * mails


@pytest.mark.slow
@override_settings(ALLOWED_HOSTS=["*"], PUBLIC_URL="https://assent.example.org")
def test_the_link_leads_to_the_site_whatever_host_was_asked(
    client: Client, alice_with_password: User, mailoutbox: Any, deliver: Any
) -> None:
    assert ask(client, "alice@example.org", headers={"Host": "evil.example"}).status_code == 302
    deliver()
    (mail,) = eventually(lambda: mailoutbox)
    assert "https://assent.example.org/password/reset/" in mail.body
    assert "evil" not in str(mail.message())


@pytest.mark.slow
@pytest.mark.skipif(not environment.is_embedded(), reason="the thread that sends where there is no worker")
def test_the_answer_does_not_wait_for_the_mail_server(client: Client, alice_with_password: User) -> None:
    with mail_server() as slow:
        slow.may_speak.clear()
        assert ask(client, "alice@example.org").status_code == 302
        assert slow.asked.wait(20)
        assert not slow.mails
        # Nor do the answers behind it, to whomever.
        assert ask(client, "nobody@example.org").status_code == 302
        assert ask(client, "alice@example.org").status_code == 302
        slow.may_speak.set()
        assert eventually(lambda: len(slow.mails) == 2, seconds=20)
    assert all("/password/reset/" in mail.get_content() for _, mail in slow.mails)


@pytest.mark.slow
def test_asking_is_the_same_work_with_an_account_and_without(
    client: Client, alice_with_password: User, deliver: Any
) -> None:
    ask(client, "first@example.org")  # what is asked once in a process
    seen = []
    for email in ("alice@example.org", "nobody@example.org"):
        with CaptureQueriesContext(connections["default"]) as queries:
            answer = ask(client, email)
        seen.append((answer.status_code, answer["Location"], answer.content, [query["sql"] for query in queries]))
    assert seen[0] == seen[1]
    assert not seen[0][-1]  # nobody is looked up
    deliver()  # or the next test would see the mail


def test_an_address_nobody_has_is_sent_nothing(client: Client, mailoutbox: Any, deliver: Any) -> None:
    assert ask(client, "nobody@example.org")["Location"] == "/password/reset/sent/"
    deliver()
    assert not mailoutbox
