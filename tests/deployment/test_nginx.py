"""deploy/nginx.conf, run by this machine's nginx in front of the real server."""

import contextlib
import os
import re
import shutil
import socket
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from memory_app.webserver.requests import largest_body
from tests.conftest import missing
from tests.deployment.conftest import OWN_SITE
from tests.deployment.containers import compose
from tests.deployment.test_slow_clients import said
from tests.services import HOST, Services, free_ports
from tests.support.pages import form
from tests.support.receiver import Receiver, receiver
from tests.support.sites import ENOUGH, ROOT, answers, serving

CONFIGURATION = ROOT / "deploy/nginx.conf"
API, FORM = 1024 * 1024, 2_621_440

pytestmark = OWN_SITE


@dataclass(frozen=True)
class Front:
    port: int
    of_a_proxy: int
    token: str = ""

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    def connect(self, source: str) -> socket.socket:
        return socket.create_connection((HOST, self.port), timeout=ENOUGH, source_address=(source, 0))

    def client(self, source: str, port: int = 0, **headers: str) -> httpx.Client:
        transport = httpx.HTTPTransport(local_address=source)
        address = f"http://{HOST}:{port or self.port}"
        return httpx.Client(base_url=address, transport=transport, headers=headers, timeout=ENOUGH)


def nginx(folder: Path, *upstreams: int, started: Services, token: str = "") -> Front:
    """Start nginx with the file as it is but for addresses, ports and folders."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        missing("nginx")
    assert program is not None
    port, of_a_proxy = free_ports(2)
    *others, upstream = upstreams
    text = CONFIGURATION.read_text()
    for there, here in {
        "server web:8000 resolve ": " ".join(f"server {HOST}:{each} max_fails=1 fail_timeout=3s;" for each in others)
        + f"server {HOST}:{upstream} ",
        "listen 8080 default_server;": f"listen {HOST}:{port} default_server;",
        "/tmp/": f"{folder}/",
        "/dev/stderr": f"{folder}/error.log",
        "listen 8081 default_server;": f"listen {HOST}:{of_a_proxy} default_server;",
        '"8081 ': f'"{of_a_proxy} ',
        '"~^8081 ': f'"~^{of_a_proxy} ',
        "worker_processes auto;": "worker_processes 1;",
    }.items():
        assert there in text
        text = text.replace(there, here)
    (folder / "nginx.conf").write_text(text)
    as_root = " user root;" if os.geteuid() == 0 else ""  # its workers could not get at this folder otherwise
    started.start(
        "nginx",
        [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", f"daemon off;{as_root}"],
        ready=lambda: answers(f"http://{HOST}:{port}/nginx-health"),
    )
    return Front(port, of_a_proxy, token)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("front")
    settings = {"ASSENT_THREADS": "2", "ASSENT_SIGN_IN_LIMIT": "2", "ASSENT_TRUSTED_PROXIES": "1"}
    with serving(folder, **settings) as site:
        yield nginx(folder, site.port, started=site.services, token=site.token)


@pytest.fixture(scope="module")
def front_of_nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("nothing")
    started = Services(folder)
    try:
        yield nginx(folder, free_ports(1)[0], started=started)
    finally:
        started.stop()


def test_pages_calls_and_files_come_through(front: Front) -> None:
    with front.client(HOST) as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/sign-in/").status_code == 200
        for _ in range(2):  # the second one from its cache
            assert client.get("/static/assent.css").status_code == 200
        client.headers["Authorization"] = f"Bearer {front.token}"
        called = client.post("/api/v1/tools/list_memory_blocks/", json={"user_id": "alice"})
        pong = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert called.json()["ok"] is True
    assert pong.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_two_hundred_clients_that_stop_half_way_keep_nobody_waiting(front: Front) -> None:
    half = b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\na="
    with contextlib.ExitStack() as stack:
        for number in range(200):
            stack.enter_context(front.connect(f"127.0.1.{number // 50}")).sendall(half)
        assert answers(f"{front.address}/healthz")
        assert answers(f"{front.address}/sign-in/")


def test_nobody_has_all_connections(front: Front) -> None:
    half = b"POST /%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\na="
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(front.connect("127.0.2.1")).sendall(half % b"sign-in/")
        with front.client("127.0.2.1") as same, front.client("127.0.2.2") as other:
            page, call = same.get("/sign-in/"), same.get("/api/v1/token/")
            message = same.post("/mcp", json={})
            assert other.get("/sign-in/").status_code == 200
    assert page.status_code == call.status_code == 429
    assert "Too many connections come from your address." in page.text
    assert call.json()["error"]["code"] == "rate_limited"
    assert (message.status_code, message.json()["error"]["data"]["code"]) == (429, "rate_limited")
    assert page.headers["Retry-After"] == call.headers["Retry-After"] == "5"


LIMITED = """/sign-in/ /sign-in/and-go-on/ /sign-out/ /password/ /password/reset/ /password/reset/MQ/x-y/
    /memory/alice/blocks/goals/edit/ /memory/alice/notes/import/ /api/v1/tools/memory_save/
    /api/v1/users/alice/memories.md /api/nothing/here/memories.md /mcp /mcp/"""


@pytest.mark.parametrize("path", LIMITED.split())
def test_more_than_an_address_takes_is_refused_and_no_less(path: str, front: Front) -> None:
    limit = largest_body(path, api=API, form=FORM)
    for length, is_refused in ((limit, False), (limit + 1, True)):
        with front.connect(HOST) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
            connection.sendall(head.encode())
            if not is_refused:
                connection.settimeout(0.3)  # it waits for the body
                with pytest.raises(TimeoutError):
                    connection.recv(1)
                continue
            heard = said(connection)
            assert heard.startswith(b"HTTP/1.1 413")
            assert b"Server: nginx" in heard
            if path.startswith(("/api/", "/mcp")):
                assert b'"code": "body_too_large"' in heard
                assert b"Content-Type: application/json" in heard
            else:
                assert "That’s too long".encode() in heard


@pytest.mark.parametrize(
    ("path", "begins"),
    [("/sign-in/", "<!doctype html>"), ("/api/v1/token/", '{"ok": false,'), ("/mcp", '{"jsonrpc": "2.0",')],
)
def test_too_long_a_header_is_refused_in_the_shape_of_its_address(path: str, begins: str, front: Front) -> None:
    answer = httpx.get(front.address + path, headers={"X-Long": "x" * 20_000})
    assert (answer.status_code, answer.headers["Server"]) == (431, "nginx")
    assert answer.text.startswith(begins)
    if "json" in answer.headers["Content-Type"]:
        error = answer.json()["error"]
        assert error.get("data", error)["code"] == "headers_too_large"


def tries(front: Front, source: str, port: int = 0) -> Callable[..., int]:
    """Signing in from an address, with headers somebody made up; the status."""

    def attempt(**headers: str) -> int:
        with front.client(source, port) as client:
            fields = form(client.get("/sign-in/"), "/sign-in/") | {"username": f"tim-{source}", "password": "wrong"}
            made_up = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post("/sign-in/", data=fields, headers=made_up).status_code

    return attempt


def test_nobody_makes_up_an_address(front: Front) -> None:
    attempt = tries(front, "127.0.3.1")
    spoofs = [{"X_Forwarded_For": f"10.0.0.{number}"} for number in range(3)]
    assert [attempt(**spoof, X_Real_IP="10.1.1.1", Forwarded="for=10.2.2.2") for spoof in spoofs] == [422, 422, 429]
    assert tries(front, "127.0.3.2")() == 422


def test_who_does_https_in_front_says_whom_it_serves_in_its_last_word(front: Front) -> None:
    attempt = tries(front, "127.0.0.4", front.of_a_proxy)
    for words, other in (
        ("10.0.0.{}, 192.0.2.1", "10.0.0.1, 192.0.2.2"),
        ("10.0.0.{},192.0.2.3:100{}", "192.0.2.4:1000"),
        ("10.0.0.{}, 2001:db8::1", "2001:db8:7::2"),
    ):
        statuses = [attempt(X_Forwarded_For=words.format(number, number)) for number in range(3)]
        assert statuses == [422, 422, 429], words
        assert attempt(X_Forwarded_For=other) == 422
    # What is no address is nobody's.
    assert [attempt(X_Forwarded_For=f"unknown-{number}") for number in range(3)] == [422, 422, 429]


def test_headers_that_mean_something_inside_are_not_taken_from_outside(front: Front) -> None:
    with front.client(HOST) as client:
        for name in ("SCRIPT_NAME", "Script-Name", "PATH_INFO", "X_Forwarded_Proto"):
            answer = client.get("/memory/", headers={name: "/evil"})
            assert (answer.status_code, answer.headers["Location"]) == (302, "/sign-in/?next=/memory/"), name


def test_its_own_pages_are_in_english_and_german_and_the_web_server_has_the_same() -> None:
    pages = re.findall(r'return \d+ "(<!doctype html>.+)";', CONFIGURATION.read_text(encoding="utf-8"))
    assert len(pages) == 4
    assert [page.count("<p>") for page in pages] == [page.count("<p lang=de>") for page in pages] == [1] * 4
    refusals = tomllib.loads((ROOT / "memory_app/webserver/refusals.toml").read_text(encoding="utf-8"))
    assert set(refusals["pages"].values()) <= set(pages)


def test_while_assent_is_away_people_and_machines_hear_it(front_of_nothing: Front) -> None:
    with front_of_nothing.client(HOST) as client:
        for path in ("/", "/memory/alice/", "/sign-in/", "/static/assent.css", "/memory/alice/notes/import/"):
            page = client.get(path)
            assert (page.status_code, page.headers["Retry-After"]) == (503, "10")
            assert page.headers["Content-Type"] == "text/html; charset=utf-8"
            assert "Assent does not answer at the moment" in page.text
            assert "<p lang=de>Assent antwortet im Moment nicht." in page.text
        for path in ("/api/v1/token/", "/api/v1/users/alice/memories.md"):
            call = client.get(path)
            assert (call.status_code, call.headers["Retry-After"]) == (503, "5")
            assert call.headers["Content-Type"] == "application/json"
            assert (call.json()["ok"], call.json()["error"]["code"]) == (False, "engine_unavailable")
        message = client.post("/mcp", json={})
        assert (message.status_code, message.headers["Retry-After"]) == (503, "5")
        assert message.json()["error"]["data"]["code"] == "engine_unavailable"


@pytest.fixture
def front_of_two(tmp_path: Path) -> Iterator[tuple[Front, Receiver, Receiver]]:
    """In front of two servers that write down what they are asked."""
    started = Services(tmp_path)
    with receiver() as one, receiver() as two:
        one.status = two.status = 200
        try:
            yield nginx(tmp_path, one.port, two.port, started=started), one, two
        finally:
            started.stop()


OWNERS = [f"student-{number}" for number in range(12)]


def test_what_is_about_one_owner_goes_to_one_server(front_of_two: tuple[Front, Receiver, Receiver]) -> None:
    front, one, two = front_of_two
    kept: dict[str, Receiver] = {}
    with front.client(HOST) as client:
        for owner in OWNERS:
            named = {"X-Assent-User": owner}
            client.get(f"/api/v1/users/{owner}/blocks/", headers={"Authorization": f"Bearer {owner}"})
            client.get(f"/memory/{owner}/notes/", headers={"Cookie": f"assent_session={owner}"})
            client.post(f"/mcp?user={owner}", json={})
            client.post("/mcp", json={}, headers=named)
            client.post("/api/v1/tools/recall/", json={"user_id": owner}, headers=named)
            # What the address says counts.
            client.get(f"/api/v1/users/{owner}/blocks/", headers={"X-Assent-User": "somebody"})
            asked = [len(each.received) for each in (one, two)]
            assert sorted(asked) == [0, 6], owner
            kept[owner] = one if asked[0] else two
            one.received.clear()
            two.received.clear()
        assert set(map(id, kept.values())) == {id(one), id(two)}, "and not all to one"
        for number in range(40):
            client.get("/", headers={"Cookie": f"assent_session={number}"})
        assert min(len(one.received), len(two.received)) >= 5


def test_while_one_server_is_away_the_other_answers_and_no_post_is_sent_twice(
    front_of_two: tuple[Front, Receiver, Receiver],
) -> None:
    front, one, two = front_of_two
    path = "/api/v1/tools/memory_save/"

    def fall_silent(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    with front.client(HOST) as client:
        one.answer = fall_silent
        for owner in OWNERS:
            headers = {"X-Assent-User": owner}
            one.received.clear()
            two.received.clear()
            answer = client.post(path, json={}, headers=headers)
            assert len(one.received) + len(two.received) == 1, "what was sent is not sent again"
            assert answer.status_code == (503 if one.received else 200)
            assert client.get(f"/memory/{owner}/").status_code == 200
        one.shutdown()
        one.server_close()
        for owner in OWNERS:
            assert client.post(path, json={}, headers={"X-Assent-User": owner}).status_code == 200
            assert client.get(f"/memory/{owner}/").status_code == 200


def test_the_header_that_chooses_a_server_opens_nothing_and_closes_nothing(front: Front) -> None:
    for user in ("alice", "ben", "nobody", "../admin", "x" * 3_000):
        headers = {"Authorization": f"Bearer {front.token}", "X-Assent-User": user}
        with front.client(HOST, **headers) as client:
            asked = [
                client.post("/api/v1/tools/list_memory_blocks/", json={"user_id": of}) for of in ("alice", "admin")
            ]
            pages = [client.get("/memory/alice/"), client.get("/sign-in/")]
            owners = client.get("/api/v1/token/").json()["data"]["owners"]
        assert asked[0].json()["data"]["items"], user
        assert asked[1].json()["error"]["code"] == "owner_not_granted"
        assert [page.status_code for page in pages] == [302, 200]
        assert "admin" not in owners


def test_a_web_server_with_another_address_is_found() -> None:
    """What nginx 1.22 of this machine cannot run: the name is looked up while it runs."""
    text = CONFIGURATION.read_text()
    assert re.search(r"^    resolver 127\.0\.0\.11 valid=5s ", text, re.MULTILINE)
    assert re.search(r"upstream assent \{\n +zone \w+ \d+k;\n +hash [^\n]+;\n +server web:8000 resolve ", text)
    image = compose()["services"]["proxy"]["image"].partition(":")[2]
    assert tuple(map(int, image.partition("-")[0].split("."))) >= (1, 27, 3), "older ones have no `resolve`"


def test_it_waits_longer_than_anything_takes() -> None:
    from agent_tools import tools  # noqa: F401 - fills the registry
    from agent_tools.calls.registry import ENDPOINTS, TOOLS

    text = CONFIGURATION.read_text()
    others = [tool.timeout for tool in [*TOOLS.values(), *ENDPOINTS.values()] if tool.name != "import_file"]
    assert "proxy_read_timeout 90s;" in text
    assert max(others) < 90
    assert text.count("proxy_read_timeout 630s;") == 2
    assert ENDPOINTS["import_file"].timeout < 630
