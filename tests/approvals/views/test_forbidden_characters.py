"""NUL, which PostgreSQL takes nowhere: in an address, a question, a cookie, a form it is nobody's fault but the
sender's."""

import pytest
from django.test import Client

from approvals.models import User
from memory_app.reads import Block

PATHS = [
    "/memory/%00/",
    "/memory/al%00ice/",
    "/memory/alice/blocks/%00/",
    "/memory/alice/blocks/goals%00/history/",
    "/memory/alice/notes/%00/",
    "/memory/alice/notes/%00/history/",
    "/memory/alice/conversations/%00/",
    "/password/reset/%00/x/",
    "/password/reset/MQ/%00/",
    "/nothing/%00/",
    "/static/%00.css",
    "/admin/approvals/user/%00/change/",
]
QUESTIONS = [
    "/?q=%00",
    "/?tab=%00&agent=%00&target=%00&owner=%00&risk=%00",
    "/memory/?q=%00&after=%00",
    "/memory/alice/blocks/goals/?as_of=%00",
    "/memory/alice/blocks/goals/history/?a=%00&b=%00",
    "/memory/alice/blocks/goals/?%00=1",
    "/memory/alice/notes/?q=%00&tag=%00&type=%00",
    "/memory/alice/new/?label=%00&from=x",
    "/memory/alice/search/?q=%00",
    "/memory/alice/notes/new/?from=%00&as_of=%00",
    "/admin/approvals/user/?q=%00",
    "/admin/approvals/user/?username=%00",
]


def test_nul_in_an_address_is_a_bad_request(as_alice: Client, as_admin: Client) -> None:
    for path in PATHS:
        for client in (Client(), as_alice, as_admin):
            assert client.get(path).status_code == 400, path
        assert as_alice.post(path).status_code == 400, path


def test_nul_in_a_question_finds_nothing(as_alice: Client, as_admin: Client, goals: Block) -> None:
    for path in QUESTIONS:
        for client in (Client(), as_alice, as_admin):
            assert client.get(path).status_code in (200, 302, 400, 404), path


def test_nul_in_a_cookie_is_a_bad_request(client: Client) -> None:
    assert client.get("/", HTTP_COOKIE='assent_session="\\000aaaaaaaaaaaa"').status_code == 400


@pytest.mark.parametrize(
    "fields", [{"username": "\0", "password": "x"}, {"username": "alice", "password": "\0", "next": "\0", "kept": "\0"}]
)
def test_nul_in_a_form_is_wrong_there(fields: dict[str, str], client: Client, alice: User) -> None:
    assert client.post("/sign-in/", fields).status_code == 422
    assert client.post("/password/reset/", {"email": "\0@example.org"}).status_code == 200
