"""Requests nobody can read are refused before anything does: other charsets, too many bytes, and NUL, which PostgreSQL
takes nowhere: in an address, a question, a cookie, a form it is nobody's fault but the sender's."""

from collections.abc import Iterator
from io import BytesIO
from itertools import product
from typing import Any

import httpx
import pytest
from django.test import Client

from approvals.models import User
from assent_client.text.memories_md import LARGEST_FILE
from memory_app.reads import Block
from tests.support.pages import assert_says

OTHER = ["base64", "hex", "rot13", "zlib", "undefined", "punycode", "idna", "utf-16", "utf-7", "latin-1", "bogus"]
PAGES = ["/?q=a", "/memory/alice/notes/?q=%C3%A4", "/sign-in/?next=%2F"]


@pytest.fixture
def ask() -> Iterator[httpx.Client]:
    """The application as servers call it: Django's own test client makes requests of another class."""
    from memory_app.wsgi import application

    with httpx.Client(transport=httpx.WSGITransport(application), base_url="http://127.0.0.1:8000") as client:
        yield client


def test_a_charset_other_than_utf8_is_a_bad_request(ask: httpx.Client, token: str) -> None:
    for charset in OTHER:
        for path in PAGES:
            answer = ask.get(path, headers={"Content-Type": f"text/plain; charset={charset}"})
            assert answer.status_code == 400, charset
            assert "couldn’t read that request" in answer.text
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = ask.post("/sign-in/", content=b"a=1", headers={"Content-Type": f"{kind}; charset={charset}"})
            assert answer.status_code == 400, charset
        # Agents are told in their shape.
        headers = {"Content-Type": f"application/json; charset={charset}", "Authorization": f"Bearer {token}"}
        for path in ("/api/v1/tools/?format=%41", "/api/schema/?x=%41"):
            answer = ask.get(path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), charset
            assert "charset" in answer.json()["error"]["message"]


def test_utf8_by_any_of_its_names_is_read(ask: httpx.Client) -> None:
    for charset in ("utf-8", "UTF8", '"utf-8"', "us-ascii", ""):
        answer = ask.get("/sign-in/?next=%2F%C3%A4", headers={"Content-Type": f"text/plain; charset={charset}"})
        assert answer.status_code == 200, charset
        assert 'value="/ä"' in answer.text


def test_thousands_of_fields_in_an_address_are_a_bad_request_too(ask: httpx.Client) -> None:
    path = "/sign-in/?" + "a=&" * 3_500
    assert ask.get(path, headers={"Content-Type": "text/plain; charset=utf-8"}).status_code == 400


# -- too many bytes -------------------------------------------------------------------------------


class Body(BytesIO):
    """Nothing, and whether it was asked for."""

    was_read = False

    def read(self, *sizes: Any) -> bytes:
        self.was_read = True
        return super().read(*sizes)


def send(client: Client, path: str, length: int) -> tuple[Any, Body]:
    body = Body()
    told = {"CONTENT_TYPE": "multipart/form-data; boundary=x", "CONTENT_LENGTH": str(length)}
    return client.generic("POST", path, **{**told, "wsgi.input": body}), body


def test_a_file_nobody_asked_for_is_refused_before_it_is_read(as_alice: Client) -> None:
    for path, client in product(("/sign-in/", "/", "/memory/alice/notes/", "/nothing/here/"), (Client(), as_alice)):
        answer, body = send(client, path, 80_000_000)
        assert_says(answer, "larger than Assent accepts", status=413)
        assert not body.was_read
    takes_a_file = "/memory/alice/notes/import/"
    for length, is_read in ((2 * LARGEST_FILE, False), (LARGEST_FILE + 1_000, True)):
        answer, body = send(as_alice, takes_a_file, length)
        assert (answer.status_code != 413, body.was_read) == (is_read, is_read)


# -- NUL ------------------------------------------------------------------------------------------

QUESTIONS = [
    "/?q=%00&tab=%00&agent=%00&target=%00&owner=%00&risk=%00",
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


def test_nul_in_an_address_or_a_cookie_is_a_bad_request(as_alice: Client, as_admin: Client) -> None:
    for path in ("/memory/al%00ice/", "/password/reset/%00/x/", "/nothing/%00/", "/static/%00.css"):
        for client in (Client(), as_alice, as_admin):
            assert client.get(path).status_code == 400, path
        assert as_alice.post(path).status_code == 400, path
    assert as_admin.get("/admin/approvals/user/%00/change/").status_code == 400
    assert Client().get("/", HTTP_COOKIE='assent_session="\\000aaaaaaaaaaaa"').status_code == 400


def test_nul_in_a_question_finds_nothing(as_alice: Client, as_admin: Client, goals: Block) -> None:
    for path in QUESTIONS:
        for client in (Client(), as_alice, as_admin):
            assert client.get(path).status_code in (200, 302, 400, 404), path


@pytest.mark.parametrize(
    "fields", [{"username": "\0", "password": "x"}, {"username": "alice", "password": "\0", "next": "\0", "kept": "\0"}]
)
def test_nul_in_a_form_is_wrong_there(fields: dict[str, str], client: Client, alice: User) -> None:
    assert client.post("/sign-in/", fields).status_code == 422
    assert client.post("/password/reset/", {"email": "\0@example.org"}).status_code == 200
