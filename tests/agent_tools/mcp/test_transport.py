"""What HTTP refuses at `/mcp`: methods, tokens, origins, hosts, sizes, media types; each as a JSON-RPC error."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import OperationalError, connections
from django.test import Client, override_settings

from agent_tools import auth
from agent_tools.models import AgentToken
from agent_tools.views.mcp import mcp
from approvals.models import User
from tests.agent_tools.mcp.peer import MODERN, Peer, error_of
from tests.support.fixtures import ClientOf

REFUSED, PARSE, INTERNAL, PARAMS = -32010, -32700, -32603, -32602
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
