"""Requests nobody can read are refused before anything does: other charsets, and too many bytes."""

from collections.abc import Iterator
from io import BytesIO
from itertools import product
from typing import Any

import httpx
import pytest
from django.test import Client

from assent_client.text.memories_md import LARGEST_FILE
from tests.support.pages import words

OTHER = ["base64", "hex", "rot13", "zlib", "undefined", "punycode", "idna", "utf-16", "utf-7", "latin-1", "bogus"]
PAGES = ["/?q=a", "/memory/alice/notes/?q=%C3%A4", "/sign-in/?next=%2F"]


@pytest.fixture
def ask() -> Iterator[httpx.Client]:
    """The application as servers call it: Django's own test client makes requests of another class."""
    from memory_app.wsgi import application

    with httpx.Client(transport=httpx.WSGITransport(application), base_url="http://127.0.0.1:8000") as client:
        yield client


def test_a_charset_other_than_utf8_is_a_bad_request(ask: httpx.Client) -> None:
    for charset in OTHER:
        for path in PAGES:
            answer = ask.get(path, headers={"Content-Type": f"text/plain; charset={charset}"})
            assert answer.status_code == 400, charset
            assert "couldn’t read that request" in answer.text
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = ask.post("/sign-in/", content=b"a=1", headers={"Content-Type": f"{kind}; charset={charset}"})
            assert answer.status_code == 400, charset


def test_to_agents_it_is_said_in_their_shape(ask: httpx.Client, token: str) -> None:
    for charset, path in product(OTHER, ("/api/v1/tools/?format=%41", "/api/schema/?x=%41")):
        headers = {"Content-Type": f"application/json; charset={charset}", "Authorization": f"Bearer {token}"}
        answer = ask.get(path, headers=headers)
        assert answer.status_code == 400, charset
        error = answer.json()["error"]
        assert error["code"] == "bad_request"
        assert "charset" in error["message"]


def test_utf8_by_any_of_its_names_is_read(ask: httpx.Client) -> None:
    for charset in ("utf-8", "UTF8", '"utf-8"', "us-ascii", ""):
        answer = ask.get("/sign-in/?next=%2F%C3%A4", headers={"Content-Type": f"text/plain; charset={charset}"})
        assert answer.status_code == 200, charset
        assert 'value="/ä"' in answer.text


def test_a_thousand_fields_in_an_address_are_a_bad_request_too(ask: httpx.Client) -> None:
    path = "/sign-in/?" + "a=&" * 1_500
    assert ask.get(path, headers={"Content-Type": "text/plain; charset=utf-8"}).status_code == 400


class Body(BytesIO):
    """Nothing, and whether it was asked for."""

    was_read = False

    def read(self, *sizes: Any) -> bytes:
        self.was_read = True
        return super().read(*sizes)


def send(client: Client, path: str, length: int) -> tuple[Any, Body]:
    body = Body()
    told = {"CONTENT_TYPE": "multipart/form-data; boundary=x", "CONTENT_LENGTH": str(length)}
    answer = client.generic("POST", path, **{**told, "wsgi.input": body})
    return answer, body


def test_a_file_nobody_asked_for_is_refused_before_it_is_read(as_alice: Client) -> None:
    for path, client in product(("/sign-in/", "/", "/memory/alice/notes/", "/nothing/here/"), (Client(), as_alice)):
        answer, body = send(client, path, 80_000_000)
        assert answer.status_code == 413, path
        assert "larger than Assent accepts" in words(answer)
        assert not body.was_read


def test_the_page_that_takes_a_file_takes_one_of_its_size(as_alice: Client) -> None:
    path = "/memory/alice/notes/import/"
    answer, body = send(as_alice, path, 2 * LARGEST_FILE)
    assert answer.status_code == 413
    assert not body.was_read
    _answer, body = send(as_alice, path, LARGEST_FILE + 1_000)
    assert body.was_read
