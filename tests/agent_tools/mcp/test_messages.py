"""What the protocol and HTTP ask of a message, in each version, and what is said of one that is wrong."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import OperationalError, connections
from django.test import Client, override_settings

from agent_tools import auth
from agent_tools.mcp.protocol import decoded
from agent_tools.models import AgentToken
from agent_tools.views.mcp import mcp
from approvals.models import User
from tests.agent_tools.mcp.peer import META, MODERN, OLD, Peer, error_of, header, text_of
from tests.conftest import early_in_a_minute
from tests.support.fixtures import ClientOf

PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REFUSED, MISMATCH, VERSION = -32010, -32020, -32022


# -- how a connection begins ----------------------------------------------------------------------


@pytest.mark.parametrize("version", OLD)
def test_a_handshake_agrees_on_the_version_that_was_asked_for(token: str, version: str) -> None:
    peer = Peer(token, version)
    client = {"name": "tests", "version": "1"}
    begun = peer.result("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
    assert begun["protocolVersion"] == version
    assert begun["capabilities"] == {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
    assert begun["serverInfo"]["name"] == "assent"
    assert "a person decides" in begun["instructions"]
    assert peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
    assert peer.result("ping") == {}
    assert "resultType" not in peer.result("tools/list")


@pytest.mark.parametrize("asked", [MODERN, "1999-01-01", ""])
def test_a_handshake_in_another_version_is_offered_the_newest_with_one(old: Peer, asked: str) -> None:
    assert old.result("initialize", {"protocolVersion": asked, "capabilities": {}})["protocolVersion"] == OLD[-1]


def test_a_handshake_without_a_version_is_refused(old: Peer) -> None:
    assert "protocolVersion" in error_of(old.ask("initialize"), PARAMS, 200)["message"]


def test_without_a_handshake_the_server_is_discovered(modern: Peer) -> None:
    found = modern.result("server/discover")
    assert found["supportedVersions"] == [MODERN, *OLD], "what the refusal of another version says"
    assert (found["ttlMs"] > 0, found["cacheScope"]) == (True, "private")
    assert "instructions" in found


def test_methods_that_are_gone_or_came_later_are_not_there(modern: Peer, old: Peer) -> None:
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "tools/run", ""):
        error_of(modern.ask(method), NO_METHOD, 404)
    for method in ("server/discover", "logging/setLevel", "subscriptions/listen", "sampling/x"):
        assert error_of(old.ask(method), NO_METHOD, 200)["data"] == {"method": method}


# -- messages -------------------------------------------------------------------------------------


#: What is sent, and the code it is refused with.
NO_MESSAGES = [
    (b"", PARSE),
    (b"   ", PARSE),
    (b"{", PARSE),
    (b"\xff\xfe{}", PARSE),
    (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', PARSE),
    (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', PARSE),
    (b"[" * 100_000, PARSE),
    (b'{"jsonrpc": "2.0", "id": ' + b"9" * 10_000 + b', "method": "ping"}', PARSE),
    (b"[]", INVALID),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID),
    (b'"ping"', INVALID),
    (b"null", INVALID),
    (b"{}", INVALID),
    (b'{"id": 1, "method": "ping"}', INVALID),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": 1}', INVALID),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', INVALID),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', INVALID),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": ' + b"9" * 400 + b', "method": "ping"}', INVALID),
    (b'{"jsonrpc": "2.0", "id": -' + b"9" * 4_000 + b', "method": "ping"}', INVALID),
]


def test_what_is_no_message_is_refused(token: str) -> None:
    for version in (OLD[0], MODERN):
        for raw, code in NO_MESSAGES:
            assert error_of(Peer(token).send(raw, **{"MCP-Protocol-Version": version}), code, 400)["message"], raw[:80]


def test_parameters_that_cannot_be_are_refused(old: Peer) -> None:
    for raw, about in (
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', "params"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "pi\\u0000ng"}', "U+0000"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}', "U+D800"),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', "U+D800"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 50 + b"1" + b"}" * 51, "deeply"),
    ):
        assert about in error_of(old.send(raw), PARAMS, 200)["message"]


@pytest.mark.parametrize("headers", [{}, {"MCP-Protocol-Version": "2025-03-26"}])
def test_a_batch_is_answered_in_the_version_that_has_them(token: str, headers: dict[str, str]) -> None:
    """A client of that version sends no header: it came with the next."""
    peer = Peer(token)
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    save = {"name": "memory_save", "arguments": {"content": "She rows."}}
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        notice,
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": save},
        {"jsonrpc": "2.0", "id": 3, "method": "nothing"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        [],
    ]
    response = peer.send(batch, **headers)
    first, second, third, last = response.json()
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    assert first == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (second["id"], second["result"]["isError"]) == ("two", False)
    assert (third["id"], third["error"]["code"], last["id"], last["error"]["code"]) == (3, NO_METHOD, None, INVALID)
    assert "1 to 20 in one list" in last["error"]["message"]
    begin = {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": OLD[1]}}
    alone, pong = peer.send([begin, batch[0]], **headers).json()
    assert (alone["id"], alone["error"]["code"], pong["result"]) == (4, INVALID, {}), "a handshake comes alone"
    for unanswered in ([notice, notice], [{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}]):
        assert peer.send(unanswered, **headers).status_code == 202
    error_of(peer.send(batch[:1] * 21, **headers), INVALID, 400)
    early_in_a_minute()
    with override_settings(RATE_LIMIT=4):
        error_of(peer.send(batch[:3] * 2, **headers), REFUSED, 429)
    assert text_of(peer.call("recall")).count("She rows.") == 1, "of a batch that is too much, nothing is done"


def test_an_answer_has_the_id_of_its_request(old: Peer) -> None:
    for id in (7, -1, 0, 1.5, "seven", "", "ä", 2**70):
        answer = old.send({"jsonrpc": "2.0", "id": id, "method": "ping"}).json()
        assert answer == {"jsonrpc": "2.0", "id": id, "result": {}}
        assert old.send({"jsonrpc": "2.0", "id": id, "method": "no"}).json()["id"] == id


def test_a_notification_is_taken_and_nothing_is_done(peer: Peer) -> None:
    for method in ("notifications/initialized", "notifications/cancelled", "tools/call", "anything"):
        message, headers = peer.message(method, {"name": "memory_save", "arguments": {"content": "x"}})
        del message["id"]
        response = peer.send(message, **headers)
        assert (response.status_code, response.content) == (202, b"")
        assert "Content-Type" not in response
    assert text_of(peer.call("recall")) == "No memories match."


# -- what a version without a handshake says twice ------------------------------------------------


def sent(peer: Peer, *, meta: Any = None, **headers: str) -> Any:
    message, right = peer.message("tools/call", {"name": "list_memory_blocks", "arguments": {}})
    if meta is not None:
        message["params"]["_meta"] = meta
    named = {"version": "MCP-Protocol-Version", "method": "Mcp-Method", "name": "Mcp-Name"}
    right |= {named[key]: value for key, value in headers.items()}
    return peer.send(message, **{key: value for key, value in right.items() if value})


def test_headers_say_what_the_body_says(modern: Peer) -> None:
    assert sent(modern).status_code == 200
    assert sent(modern, name=f"=?base64?{'bGlzdF9tZW1vcnlfYmxvY2tz'}?=").status_code == 200


def test_a_request_that_does_not_say_its_version_and_abilities_is_refused(modern: Peer) -> None:
    unclear: list[Any] = [[], "text", {}, {f"{META}protocolVersion": MODERN}]
    for meta in unclear:
        assert f"{META}clientCapabilities" in error_of(sent(modern, meta=meta), PARAMS, 400)["message"]
    no_object = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": "all"}
    error_of(sent(modern, meta=no_object), PARAMS, 400)


def test_a_header_that_says_something_else_is_refused(modern: Peer) -> None:
    for header_, value in (
        ("version", ""),
        ("version", OLD[-1]),
        ("version", "2027-01-01"),
        ("method", ""),
        ("method", "tools/list"),
        ("method", "TOOLS/CALL"),
        ("name", ""),
        ("name", "memory_save"),
        ("name", "=?base64?!!!?="),
        ("name", "=?base64?/w==?="),
        ("name", "=?base64?bGlzdF9tZW1vcnlfYmxvY2t6?="),
    ):
        error = error_of(sent(modern, **{header_: value}), MISMATCH, 400)
        assert "does not say what" in error["message"]
        assert error["id"] is not None


def test_a_name_beyond_ascii_comes_in_base64(modern: Peer) -> None:
    message, headers = modern.message("prompts/get", {"name": "größe"})
    assert headers["Mcp-Name"].startswith("=?base64?")
    error_of(modern.send(message, **headers), PARAMS, 400)  # and not a mismatch: there is no such prompt


@pytest.mark.parametrize("version", ["2027-01-01", "zzz"])
def test_a_version_to_come_is_told_which_there_are(modern: Peer, version: str) -> None:
    meta = {f"{META}protocolVersion": version, f"{META}clientCapabilities": {}}
    error = error_of(sent(modern, meta=meta, version=version), VERSION, 400)
    assert error["data"] == {"supported": [MODERN, *OLD], "requested": version}
    bare = modern.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **{"MCP-Protocol-Version": version})
    error_of(bare, VERSION, 400)
    told = modern.send({"jsonrpc": "2.0", "method": "notifications/x"}, **{"MCP-Protocol-Version": version})
    error_of(told, VERSION, 400)


@pytest.mark.pure
@pytest.mark.parametrize("value", ["goals", "größe", " edge ", "=?base64?eA==?=", "ä\nb", "日本"])
def test_a_header_says_any_text(value: str) -> None:
    packed = header(value) if not value.startswith("=?") else "=?base64?PT9iYXNlNjQ/ZUE9PT89?="
    assert decoded(packed) == value


# -- what HTTP refuses, as an error of JSON-RPC ---------------------------------------------------

PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options", "trace"])
@pytest.mark.parametrize("version", ["", "2025-11-25", MODERN])
def test_only_posts_are_answered(token: str, method: str, version: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "MCP-Protocol-Version": version}
    response = Client().generic(method.upper(), "/mcp", headers=headers)
    assert (response.status_code, response["Allow"]) == (405, "POST")
    if method != "head":
        assert error_of(response, REFUSED, 405)["data"]["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        (None, "not_authenticated"),
        ("Bearer nonsense", "invalid_token"),
        ("Bearer ", "not_authenticated"),
        ("Basic YTpi", "not_authenticated"),
    ],
)
def test_a_caller_without_a_token_is_told_how_to_send_one_a_signed_in_person_too(
    alice: User, client_of: ClientOf, authorization: str | None, code: str
) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    response = client_of(alice).post("/mcp", PING, content_type="application/json", headers=headers)
    assert error_of(response, REFUSED, 401)["data"]["code"] == code
    assert response["WWW-Authenticate"].startswith("Bearer ")


def test_a_revoked_token_is_refused_from_the_next_message_on(old: Peer) -> None:
    assert old.result("ping") == {}
    auth.revoke(AgentToken.objects.get())
    error_of(old.ask("ping"), REFUSED, 401)


@override_settings(RATE_LIMIT=2)
def test_too_many_messages_are_refused_with_when_to_come_back(old: Peer) -> None:
    early_in_a_minute()
    assert [old.ask("ping").status_code for _ in range(3)] == [200, 200, 429]
    response = old.ask("ping")
    assert error_of(response, REFUSED, 429)["data"]["code"] == "rate_limited"
    assert 1 <= int(response["Retry-After"]) <= 60


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver.evil.example", "http://"])
def test_a_page_of_another_site_is_refused(old: Peer, origin: str) -> None:
    response = old.ask("ping", Origin=origin)
    assert error_of(response, REFUSED, 403)["data"]["code"] == "origin_not_allowed"
    assert "Access-Control-Allow-Origin" not in response


@override_settings(CSRF_TRUSTED_ORIGINS=["https://console.example"], PUBLIC_URL="https://memory.example/below")
def test_our_own_pages_and_trusted_sites_may_ask(old: Peer) -> None:
    for origin in ("http://testserver", "https://memory.example", "https://console.example"):
        assert old.ask("ping", Origin=origin).status_code == 200


@override_settings(ALLOWED_HOSTS=["memory.example"])
def test_another_host_is_refused(old: Peer) -> None:
    response = old.ask("ping", Host="evil.example")
    assert error_of(response, PARAMS, 400)["data"]["code"] == "bad_request"


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_another_media_type_is_refused(old: Peer, media_type: str) -> None:
    response = old.http.generic("POST", "/mcp", PING, content_type=media_type)
    assert error_of(response, REFUSED, 415)["data"]["code"] == "unsupported_media_type"


def test_another_charset_is_refused_in_the_shape_of_the_protocol(old: Peer) -> None:
    error_of(old.http.generic("POST", "/mcp", PING, content_type="application/json; charset=utf-16"), PARAMS, 400)


def test_a_body_over_the_limit_is_refused(old: Peer) -> None:
    with override_settings(REQUEST_LIMIT=2_000):
        large = old.ask("ping", {"padding": "x" * 2_000})
        assert error_of(large, REFUSED, 413)["data"]["details"] == {"limit": 2_000}
        assert old.ask("ping").status_code == 200


@pytest.mark.parametrize("path", ["/mcp/tools", "/mcp/../api/v1/token/", "/mcp/%2e%2e/api/v1/token/", "/mcp//"])
def test_below_it_there_is_nothing(token: str, path: str) -> None:
    error_of(Peer(token, address=path).ask("ping"), REFUSED, 404)


@override_settings(SECURE_SSL_REDIRECT=True)
def test_it_is_never_redirected_and_a_slash_at_the_end_is_taken(old: Peer, token: str) -> None:
    assert old.ask("ping").status_code == 200
    assert Peer(token, address="/mcp/").result("server/discover")


class Gone(BytesIO):
    def read(self, *args: Any) -> bytes:
        raise OSError("the client is gone")


def test_a_client_that_goes_away_half_way_breaks_nothing(token: str) -> None:
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "SERVER_NAME": "testserver", "SERVER_PORT": "80"}
    environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": "50", "HTTP_AUTHORIZATION": f"Bearer {token}"}
    request = WSGIRequest(environ | {"wsgi.input": Gone(), "wsgi.url_scheme": "http"})
    response = mcp(request)
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["data"]["code"] == "bad_request"


def test_while_a_database_is_away_the_answer_says_when_to_come_back(old: Peer) -> None:
    def refuse(*args: Any) -> Any:
        raise OperationalError("secret words of the database")

    with connections["default"].execute_wrapper(refuse):
        response = old.ask("ping")
    error = error_of(response, INTERNAL, 503)
    assert error["data"]["code"] == "engine_unavailable"
    assert "secret" not in response.content.decode()
    assert response["Retry-After"]
