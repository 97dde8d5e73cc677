"""What the protocol asks of a message, in each version, and what it says of one that is wrong."""

from typing import Any

import pytest

from agent_tools.mcp.protocol import decoded
from tests.agent_tools.mcp.peer import META, MODERN, OLD, Peer, error_of, header

PARSE, INVALID, NO_METHOD, PARAMS, MISMATCH, VERSION = -32700, -32600, -32601, -32602, -32020, -32022


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
    assert found["supportedVersions"] == [MODERN]
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
    assert peer.call("recall")["_meta"]["assent/data"]["count"] == 0


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
