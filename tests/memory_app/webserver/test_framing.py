"""When a request is whole, however its bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.webserver.framing import LARGEST_HEAD, Incoming

pytestmark = pytest.mark.pure

LIMIT = 100
HEAD = b"POST /a/ HTTP/1.1\r\nHost: a\r\n"
WHOLE = {
    "no body": b"GET /a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "no headers": b"GET /a/ HTTP/1.0\r\n\r\n",
    "an empty line first": b"\r\nGET /a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "empty body": HEAD + b"Content-Length: 0\r\n\r\n",
    "body": HEAD + b"CONTENT-length :5\r\n\r\nab\r\n\r",
    "largest body": HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 100,
    "chunks": HEAD + b'Transfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\nA ;x="y"\r\n0123456789\r\n0\r\n\r\n',
    "trailers": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\n",
}
REFUSED = {
    "body": HEAD + b"Content-Length: 101\r\n\r\n",
    "huge": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
    "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n60\r\n" + b"x" * 96 + b"\r\n5\r\n",
}
#: gunicorn refuses these; nothing of theirs is waited for.
MALFORMED = {
    "bare LF": b"GET / HTTP/1.1\n",
    "two framings": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
    "no chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n",
    "endless chunk line": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 9000,
    "endless head": b"GET / HTTP/1.1\r\nX: " + b"x" * (LARGEST_HEAD + 10),
}


def fed(request: Incoming, data: bytes, cuts: list[int]) -> int:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {len(data)})
    used = before = 0
    for place in places:
        if not request.is_whole:
            used += request.feed(data[before:place])
        before = place
    return used


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
@given(cuts=st.lists(st.integers(0, 400), max_size=8), beyond=st.sampled_from([b"", b"GET /b/ HTTP/1.1\r\n", b"\r\n"]))
def test_a_request_ends_where_it_ends_however_it_is_cut(name: str, cuts: list[int], beyond: bytes) -> None:
    request = Incoming(lambda target: LIMIT)
    used = fed(request, WHOLE[name] + beyond, cuts)
    assert request.is_whole
    assert used == len(WHOLE[name])
    assert (request.target, request.body_is_too_large, request.head_is_too_long) == ("/a/", False, False)


@pytest.mark.parametrize("name", WHOLE)
def test_a_request_is_not_whole_before_its_last_byte(name: str) -> None:
    request = Incoming(lambda target: LIMIT)
    request.feed(WHOLE[name][:-1])
    assert not request.is_whole


@pytest.mark.parametrize("name", REFUSED)
@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_a_body_over_the_limit_is_known_before_it_comes(name: str, cuts: list[int]) -> None:
    request = Incoming(lambda target: LIMIT)
    fed(request, REFUSED[name], cuts)
    assert request.is_whole
    assert request.body_is_too_large


@pytest.mark.parametrize("name", MALFORMED)
def test_nothing_is_waited_for_that_makes_no_sense(name: str) -> None:
    request = Incoming(lambda target: LIMIT)
    request.feed(MALFORMED[name])
    assert request.is_whole
    assert request.head_is_too_long == (name == "endless head")


def test_chunks_of_a_byte_end_somewhere() -> None:
    request = Incoming(lambda target: 1_000_000)
    request.feed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 30_000)
    assert request.body_is_too_large


@pytest.mark.parametrize(("length", "expects"), [(b"5", True), (b"0", False), (b"500", False)])
def test_a_body_is_asked_for_when_it_may_come(length: bytes, expects: bool) -> None:
    request = Incoming(lambda target: LIMIT)
    request.feed(HEAD + b"Expect: 100-continue\r\nContent-Length: " + length + b"\r\n\r\n")
    assert request.expects_continue is expects
