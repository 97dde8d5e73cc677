"""What the log says of a request: its route, and never what the caller put into it."""

import io
import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.config import DictConfigurator

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import NoReverseMatch, URLPattern, get_resolver, path, reverse

from approvals.models import User
from memory_app.configuration import logs
from tests.end_to_end.test_isolation import addresses

MARK = "zebrafinch"
#: What a part of an address may be: a text, a number, a word of an address in the admin.
VALUES = (MARK, 2_736_451_827, "2736451827")
HEADERS = {
    "origin": f"https://{MARK}.example",
    "referer": f"https://testserver/{MARK}",
    "user-agent": MARK,
    "cookie": f"assent={MARK}; csrftoken={MARK}",
}


@contextmanager
def logged(form: str) -> Iterator[io.StringIO]:
    """Write all log lines in this form."""
    before = structlog.get_config()
    chosen = logs.configuration(level="DEBUG", form=form)
    # Loggers that were used before hold the list of processors that they had, which other tests capture.
    structlog.configure(**before)
    formatter = DictConfigurator(chosen).configure_formatter(chosen["formatters"]["structured"])
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield written
    finally:
        root.removeHandler(handler)


def failing(request: HttpRequest, name: str) -> HttpResponse:
    raise LookupError(f"{name} is not in {request.GET['q']} of {request.headers['User-Agent']} at {request.path}")


def handler500(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=500)


urlpatterns = [path("broken/<str:name>/", failing)]


def filled(name: str, pattern: URLPattern) -> str | None:
    parts = list(pattern.pattern.regex.groupindex)
    for chosen in itertools.product(VALUES, repeat=len(parts)):
        try:
            return reverse(name, kwargs=dict(zip(parts, chosen, strict=True)))
        except NoReverseMatch:
            continue
    return None


def test_no_argument_query_or_header_is_in_the_log(alice: User, token: str) -> None:
    every = {filled(*each): each[1] for each in addresses(get_resolver())} | {f"/{MARK}/": None}
    stranger = Client(enforce_csrf_checks=True, raise_request_exception=False, headers=HEADERS)
    person = Client(raise_request_exception=False)
    person.force_login(alice)
    statuses = set()
    with logged("json") as json, logged("console") as console:
        for address in filter(None, every):
            machine = {"authorization": f"Bearer {token}"} if address.startswith(("/api/", "/mcp")) else {}
            answers = [
                stranger.post(f"{address}?q={MARK}", {"said": MARK}),
                stranger.get(f"{address}?q={MARK}", headers={"host": f"{MARK}.example"}),
                person.generic("PATCH", f"{address}?q={MARK}", MARK.encode(), headers=machine),
            ]
            statuses |= {answer.status_code for answer in answers}
    assert {400, 403, 404, 405} <= statuses
    for said in (json.getvalue(), console.getvalue()):
        assert "feed/<str:feed_key>/" in said
        assert "no route" in said
        assert "Forbidden (Origin checking failed): sign-in/" in said
        assert "Bad Request (a host name that ASSENT_ALLOWED_HOSTS does not have): sign-in/" in said
        assert [line for line in said.splitlines() if MARK in line or str(VALUES[1]) in line] == []


@pytest.mark.parametrize("form", ["json", "console"])
@override_settings(ROOT_URLCONF=__name__, DEBUG=False)
def test_a_failure_is_logged_with_its_place_and_without_what_was_asked(form: str) -> None:
    with logged(form) as written:
        client = Client(raise_request_exception=False)
        client.get(f"/broken/{MARK}/?q={MARK}ed", headers={"user-agent": f"{MARK}s"})
    said = written.getvalue().replace(r"\u2026", "…")
    assert "broken/<str:name>/" in said
    assert "LookupError: … is not in … of … at …" in said
    assert "in failing" in said
    assert MARK not in said
