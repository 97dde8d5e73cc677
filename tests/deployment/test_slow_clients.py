"""Clients that are slow, silent or never read: the server outlives them, and serves those who are alive."""

import contextlib
import os
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.deployment.conftest import OWN_SITE
from tests.services import HOST
from tests.support.sites import ENOUGH, Site, serving
from tests.torture.site import descendants

THREADS = 2
READ_TIMEOUT = 2

pytestmark = OWN_SITE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = {"ASSENT_THREADS": str(THREADS), "ASSENT_READ_TIMEOUT": str(READ_TIMEOUT)}
    with serving(tmp_path_factory.mktemp("slow"), **settings) as site:
        yield site
        assert "Traceback" not in site.log


def connect(server: Site, *, receive_buffer: int = 0) -> socket.socket:
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect((HOST, server.port))
    return connection


def processor_seconds(server: Site) -> float:
    """Return what the server's processes have used."""
    spent = 0
    for pid in (server.process.pid, *descendants(server.process.pid)):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def everybody_else_is_served(server: Site) -> bool:
    return server.answers("/healthz") and server.answers("/sign-in/")


@contextlib.contextmanager
def clients(server: Site, sent: bytes, count: int, *, receive_buffer: int = 0) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(connect(server, receive_buffer=receive_buffer)) for _ in range(count)]
        for each in made:
            each.sendall(sent)
        yield made


def said(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    connection.settimeout(ENOUGH)
    heard = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(65536):
            heard += data
    return heard


def answer_on(connection: socket.socket) -> bytes:
    """One answer with a Content-Length."""
    connection.settimeout(ENOUGH)
    heard = b""
    while b"\r\n\r\n" not in heard:
        heard += connection.recv(1)
    length = int(heard.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while length:
        data = connection.recv(length)
        heard, length = heard + data, length - len(data)
    return heard


HOST_LINE = b"Host: 127.0.0.1\r\n"
POST = b"POST /sign-in/ HTTP/1.1\r\n" + HOST_LINE + b"Content-Type: application/x-www-form-urlencoded\r\n"
LARGE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\n" + HOST_LINE + b"X-Half"
HALF_A_FORM = POST + b"Content-Length: 1000\r\n\r\na="
HALF_A_CHUNK = POST + b"Transfer-Encoding: chunked\r\n\r\n100\r\na="
HALF_A_CALL = b"POST /api/v1/tools/list_memory_blocks/ HTTP/1.1\r\n" + HOST_LINE
HALF_A_CALL += b'Content-Length: 1000000\r\n\r\n{"a": "' + b"x" * 100_000


def call(server: Site, *headers: bytes) -> bytes:
    head = b"POST /api/v1/tools/list_memory_blocks/ HTTP/1.1\r\n" + HOST_LINE
    head += b"Authorization: Bearer " + server.token.encode() + b"\r\nContent-Type: application/json\r\n"
    return head + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


HALVES = {"head": HALF_A_HEAD, "form": HALF_A_FORM, "chunk": HALF_A_CHUNK, "call": HALF_A_CALL, "nothing": b""}


@pytest.mark.parametrize("count", [8, 200])
@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
def test_clients_that_stop_half_way_keep_nobody_waiting_and_are_dropped(sent: bytes, count: int, server: Site) -> None:
    with clients(server, sent, count) as stalled:
        assert everybody_else_is_served(server)
        assert [said(each) for each in stalled] == [b""] * count


def test_waiting_for_slow_clients_costs_no_processor_time(server: Site) -> None:
    with clients(server, HALF_A_FORM, 200):
        assert everybody_else_is_served(server)
        before, began = processor_seconds(server), time.monotonic()
        time.sleep(READ_TIMEOUT / 2)
        assert processor_seconds(server) - before < (time.monotonic() - began) / 2


def test_clients_that_do_not_hang_up_do_not_stop_the_accepting(server: Site) -> None:
    with clients(server, b"GET /healthz HTTP/1.1\r\n" + HOST_LINE + b"Connection: close\r\n\r\n", THREADS * 2):
        assert everybody_else_is_served(server)


def test_clients_that_do_not_read_their_answer_keep_nobody_waiting_and_are_dropped(server: Site) -> None:
    # The kernel itself takes two or three of these.
    asks = f"GET {LARGE} HTTP/1.1\r\n".encode() + HOST_LINE + b"\r\n"
    with clients(server, asks * 8, 16, receive_buffer=2048) as stalled:
        assert everybody_else_is_served(server)
        time.sleep(2 * READ_TIMEOUT + 2)
        heard = said(stalled[0])
    assert heard.startswith(b"HTTP/1.1 200")
    whole = httpx.get(f"{server.address}{LARGE}", timeout=ENOUGH, headers={"Accept-Encoding": "identity"}).content
    assert len(heard) < 8 * len(whole), "the rest is not kept for ever"


def test_an_answer_is_whole_for_a_client_that_reads_slowly_and_goes_on(server: Site) -> None:
    whole = httpx.get(f"{server.address}{LARGE}", timeout=ENOUGH, headers={"Accept-Encoding": "identity"}).content
    asks = f"GET {LARGE} HTTP/1.1\r\n".encode() + HOST_LINE + b"\r\n"
    with clients(server, asks * 8, 1, receive_buffer=2048) as (reader,):
        time.sleep(READ_TIMEOUT / 2)
        assert [answer_on(reader).endswith(whole) for _ in range(8)] == [True] * 8


def test_of_too_many_that_send_a_byte_now_and_then_those_that_came_first_are_dropped(server: Site) -> None:
    with clients(server, HALF_A_FORM, 430) as dribblers:
        assert everybody_else_is_served(server)
        assert said(dribblers[0]) == b""
        dribblers[-1].sendall(b"a")
        dribblers[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            dribblers[-1].recv(1)


def test_a_slow_upload_that_goes_on_is_served_and_so_is_the_next_request_on_its_connection(server: Site) -> None:
    piece = b"a" * 1000
    pieces = 3
    with clients(server, POST + b"Content-Length: %d\r\n\r\n" % (len(piece) * pieces), 1) as (uploader,):
        for _ in range(pieces):
            uploader.sendall(piece)
            time.sleep(0.8)
        assert answer_on(uploader).startswith(b"HTTP/1.1 403")  # whole, but without the form's secret
        uploader.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST_LINE + b"\r\n")
        assert answer_on(uploader).startswith(b"HTTP/1.1 200")
    with httpx.Client(base_url=server.address, timeout=ENOUGH) as kept_alive:
        for _ in range(3):
            assert kept_alive.get("/healthz").status_code == 200


# -- what a body may be ---------------------------------------------------------------------------------


TOO_LONG = {
    "length": b"Content-Length: 20000\r\n\r\n",
    "chunk": b"Transfer-Encoding: chunked\r\n\r\n5000\r\n",
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"a" * 4096 + b"\r\n") * 5,
}


@pytest.mark.parametrize("path", ["/sign-in/", "/password/", "/password/reset/", "/sign%2Din/"])
@pytest.mark.parametrize("rest", TOO_LONG.values(), ids=TOO_LONG)
def test_a_form_of_strangers_is_refused_before_it_is_read(path: str, rest: bytes, server: Site) -> None:
    with clients(server, f"POST {path} HTTP/1.1\r\n".encode() + HOST_LINE + rest, 1) as (stranger,):
        heard = said(stranger)
    assert heard.startswith(b"HTTP/1.1 413")
    assert "That’s too long".encode() in heard


@pytest.mark.parametrize("asks", [b"Expect: 100-continue", b"Accept: */*"], ids=["asking first", "not asking"])
@pytest.mark.parametrize("length", [5_000_000, 50_000_000])
def test_more_than_any_address_takes_is_refused_before_it_is_read(asks: bytes, length: int, server: Site) -> None:
    with clients(server, call(server, b"Content-Length: %d" % length, asks), 1) as (caller,):
        heard = said(caller)
    assert heard.startswith(b"HTTP/1.1 413")
    assert b'"code": "body_too_large"' in heard


def test_who_sends_too_much_hears_it_although_all_is_sent_first(server: Site) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    address = f"{server.address}/api/v1/tools/list_memory_blocks/"
    with httpx.Client(headers=headers, timeout=ENOUGH) as client:
        for content in (b" " * 5_000_000, (b" " * 100_000 for _ in range(50))):  # the second one in chunks
            answer = client.post(address, content=content)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_a_body_in_chunks_and_one_that_waits_to_be_asked_for_are_read(server: Site) -> None:
    body = b'{"user_id": "alice"}'
    with clients(server, call(server, b"Transfer-Encoding: chunked"), 1) as (caller,):
        for byte in body:
            caller.sendall(b"1\r\n%c\r\n" % byte)
        caller.sendall(b"0\r\n\r\n")
        assert b'"ok": true' in answer_on(caller)
    with clients(server, call(server, b"Content-Length: %d" % len(body), b"Expect: 100-continue"), 1) as (caller,):
        caller.settimeout(ENOUGH)
        assert caller.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(body)
        assert answer_on(caller).startswith(b"HTTP/1.1 200 OK")


ENDLESS = {"line": b"1;" + b"x" * 200_000, "bytes": b"1\r\na\r\n" * 30_000, "trailer": b"0\r\nA: " + b"b" * 200_000}


@pytest.mark.parametrize("chunks", ENDLESS.values(), ids=ENDLESS)
def test_what_is_around_chunks_ends_somewhere(chunks: bytes, server: Site) -> None:
    with clients(server, call(server, b"Transfer-Encoding: chunked"), 1) as (caller,):
        with contextlib.suppress(ConnectionError):
            caller.sendall(chunks)
        assert said(caller).startswith(b"HTTP/1.1 400")


def test_requests_sent_in_one_go_are_answered_in_turn(server: Site) -> None:
    body = b'{"user_id": "alice"}'
    one = call(server, b"Content-Length: %d" % len(body)) + body
    other = b"GET /healthz HTTP/1.1\r\n" + HOST_LINE + b"\r\n"
    with clients(server, one + other + one, 1) as (caller,):
        texts = [answer_on(caller) for _ in range(3)]
    assert [b"Alive" in text for text in texts] == [False, True, False]
    assert all(text.startswith(b"HTTP/1.1 200") for text in texts)


@pytest.mark.parametrize("path", [b"/healthz", b"/sign-in/", b"/llms.txt", LARGE.encode()])
def test_the_answer_to_head_has_no_body(path: bytes, server: Site) -> None:
    with clients(server, b"HEAD " + path + b" HTTP/1.1\r\nConnection: close\r\n" + HOST_LINE + b"\r\n", 1) as (caller,):
        heard = said(caller)
    assert re.match(rb"HTTP/1.1 200", heard)
    assert re.search(rb"content-length: [1-9]", heard.lower())
    assert heard.endswith(b"\r\n\r\n")


#: Besides those of `test_malformed_requests`.
NO_REQUESTS = {
    "bare LF": b"GET / HTTP/1.1\nHost: 127.0.0.1\n\nGET / HTTP/1.1\r\n\r\n",
    "two framings": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "huge length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nabcde",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_no_request_is_answered_and_the_connection_closed(sent: bytes, server: Site) -> None:
    with clients(server, sent, 1) as (stranger,):
        heard = said(stranger)
    assert re.match(rb"HTTP/1.[01] 400", heard)
    assert heard.count(b"HTTP/1.") == 1


def test_eight_imports_at_once_leave_the_threads_to_others(server: Site) -> None:
    file = "".join(f"### mem-{number}-aaaa\n> Likes the number {number}.\n\n" for number in range(4_000))
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "text/markdown"}

    def send(number: int) -> tuple[int, str]:
        address, content = f"{server.address}/api/v1/users/alice/memories.md", file.replace("-aaaa", f"-aaa{number}")
        answer = httpx.post(address, content=content, headers=headers, timeout=120)
        return answer.status_code, answer.headers.get("Retry-After", "")

    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(send, number) for number in range(8)]
        looks = 0
        while not all(each.done() for each in sent):
            assert everybody_else_is_served(server)
            looks += 1
        answers_ = [each.result() for each in sent]
    assert looks > 0
    assert (200, "") in answers_
    # Each has its turn; one that comes to a thread while another takes longer than seconds is told when to come again.
    assert set(answers_) <= {(200, ""), (429, "5")}
