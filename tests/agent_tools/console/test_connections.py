"""A program connects by OAuth, as MCP clients do: found, registered, let in by a person, refreshed, ended."""

import base64
import hashlib
import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from allauth.idp.oidc.models import Client as OAuthClient
from allauth.idp.oidc.models import Token as Grant
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from agent_tools import auth
from agent_tools.calls import execution
from agent_tools.console import connections
from agent_tools.models import AgentToken, ToolCall
from approvals.models import Agent, AuditEvent, User
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words

SITE = "http://127.0.0.1:8000"
BACK = "http://127.0.0.1:3118/callback"
VERIFIER = "a-verifier-that-is-long-enough-to-be-one-of-the-protocol"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(autouse=True)
def no_limit_of_tests_before() -> None:
    cache.clear()


@pytest.fixture
def as_alice(alice: User, client_of: ClientOf) -> Client:
    return client_of(alice)


@pytest.fixture
def as_ben(ben: User, client_of: ClientOf) -> Client:
    return client_of(ben)


@pytest.fixture
def as_admin(admin: User, client_of: ClientOf) -> Client:
    return client_of(admin)


def register(**more: Any) -> Any:
    told = {"client_name": "Claude Code", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    told |= {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], **more}
    return Client().post("/oauth/register/", json.dumps(told), content_type="application/json")


def address(client_id: str, /, **more: str) -> str:
    asked = {"response_type": "code", "client_id": client_id, "redirect_uri": BACK, "state": "xyz"}
    asked |= {"code_challenge": CHALLENGE, "code_challenge_method": "S256", "resource": f"{SITE}/mcp"}
    asked |= {"scope": "memory:read memory:propose"} | more
    return "/oauth/authorize/?" + urlencode({name: value for name, value in asked.items() if value})


def answered(response: Any) -> dict[str, str]:
    """Return what the program is told at its own address."""
    assert response.status_code == 302, words(response)
    assert response["Location"].startswith(BACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(response["Location"]).query).items()}


def allow(person: Client, client_id: str, **more: Any) -> dict[str, str]:
    page = person.get(address(client_id))
    fields = form(page, "/oauth/authorize/") | {"action": "grant", "scopes": ["memory:read", "memory:propose"]}
    return answered(person.post("/oauth/authorize/", fields | more))


def exchange(client_id: str, code: str, **more: str) -> Any:
    given = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "client_id": client_id}
    return Client().post("/oauth/token/", given | {"code_verifier": VERIFIER, "resource": f"{SITE}/mcp"} | more)


def refresh(client_id: str, token: str) -> Any:
    given = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client_id}
    return Client().post("/oauth/token/", given)


def call(access: str, tool: str = "list_memory_blocks", path: str = "/mcp") -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    headers = {"Authorization": f"Bearer {access}", "Accept": "application/json, text/event-stream"}
    return Client().post(path, json.dumps(message), content_type="application/json", headers=headers)


@pytest.fixture
def client_id() -> str:
    return str(register().json()["client_id"])


@pytest.fixture
def tokens(as_alice: Client, client_id: str) -> dict[str, Any]:
    given: dict[str, Any] = exchange(client_id, allow(as_alice, client_id)["code"]).json()
    return given


def test_a_program_finds_out_where_to_ask() -> None:
    refused = call("nothing")
    assert refused.status_code == 401
    where = f"{SITE}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{where}"' in refused["WWW-Authenticate"]
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        told = Client().get(path).json()
        assert (told["resource"], told["authorization_servers"]) == (f"{SITE}/mcp", [SITE])
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == SITE
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint"] == f"{SITE}/oauth/token/"
    assert "memory:read" in server["scopes_supported"]


@pytest.mark.parametrize(
    ("uri", "is_taken"),
    [
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("http://localhost:3118/callback", True),
        ("http://[::1]:3118/callback", True),
        ("http://evil.example/callback", False),
        ("cursor://anysphere.cursor/callback", False),
        ("javascript:alert(1)", False),
        ("https://claude.ai/callback#fragment", False),
        ("http://[", False),
    ],
)
def test_programs_register_with_addresses_that_only_they_answer(uri: str, is_taken: bool) -> None:
    answer = register(redirect_uris=[uri], scope="openid email", grant_types=["client_credentials"])
    assert answer.status_code == (201 if is_taken else 400), answer.content
    if is_taken:
        client = OAuthClient.objects.get(pk=answer.json()["client_id"])
        assert (client.get_grant_types(), "openid" in client.get_scopes()) == (
            ["authorization_code", "refresh_token"],
            False,
        )


def test_registering_is_limited() -> None:
    assert {register().status_code for _ in range(20)} == {201}
    assert register().status_code == 429


def test_what_an_address_is_refused_is_limited_before_a_secret_is_hashed(client_id: str) -> None:
    for _ in range(30):
        assert refresh(client_id, "wrong").status_code == 400
    limited = refresh(client_id, "wrong")
    assert (limited.status_code, limited["Retry-After"]) == (429, "60")
    assert register().status_code == 429


def test_what_is_no_request_is_answered_as_such(client_id: str) -> None:
    assert exchange(client_id, "none", resource="foo").json() == {"error": "invalid_target"}
    assert Client().get(address(client_id, prompt="none"))["Location"].startswith("/sign-in/")


def test_a_person_lets_a_program_in_and_it_is_an_agent_with_a_token(
    as_alice: Client, client_id: str, alice: User, goals: Any
) -> None:
    assert Client().get(address(client_id))["Location"].startswith("/sign-in/?next=/oauth/authorize/")
    page = as_alice.get(address(client_id))
    assert "Let Claude Code connect?" in words(page)
    assert "It gets access to your own memory only, that of alice." in words(page)
    assert f"form-action 'self' {BACK.removesuffix('/callback')}" in page["Content-Security-Policy"]
    told = allow(as_alice, client_id)
    assert told["state"] == "xyz"
    given = exchange(client_id, told["code"]).json()
    assert given["expires_in"] <= 900

    token = AgentToken.objects.get()
    assert (token.agent.name, token.agent.created_by, token.created_by) == ("claude-code", alice, alice)
    assert (token.scopes, [*token.owners.all()]) == (["memory:read", "memory:propose"], [alice])
    answer = call(given["access_token"])
    assert "goals" in answer.content.decode()
    execution.settle()
    assert ToolCall.objects.get().token == token
    assert call(given["access_token"], path="/api/v1/token/").status_code == 401  # it was given for /mcp
    shown = words(as_alice.get("/agents/"))
    assert "claude-code" in shown
    assert not auth.may_rotate(token, alice)
    assert AuditEvent.objects.filter(what=AuditEvent.Act.TOKEN_MADE, actor="alice").exists()


def test_a_scope_not_given_is_not_there(as_alice: Client, client_id: str) -> None:
    code = allow(as_alice, client_id, scopes=["memory:read"])["code"]
    given = exchange(client_id, code).json()
    assert given["scope"] == "memory:read"
    assert AgentToken.objects.get().scopes == ["memory:read"]


def test_saying_no_tells_the_program_and_makes_nothing(as_alice: Client, client_id: str) -> None:
    page = as_alice.get(address(client_id))
    told = answered(as_alice.post("/oauth/authorize/", form(page, "/oauth/authorize/") | {"action": "deny"}))
    assert told == {"error": "access_denied", "state": "xyz"}
    assert not AgentToken.objects.exists()


@pytest.mark.parametrize(
    "more",
    [
        {"code_challenge": ""},
        {"resource": "https://other.example/mcp"},
        {"resource": f"{SITE}.evil.example/mcp"},
        {"redirect_uri": "https://evil.example/"},
        {"client_id": "nobody"},
    ],
)
def test_what_cannot_be_granted_is_a_page_and_leads_nowhere(
    as_alice: Client, client_id: str, more: dict[str, str]
) -> None:
    answer = as_alice.get(address(client_id, **more))
    assert "Not connected" in words(answer)
    assert "Location" not in answer


def test_only_s256_is_taken_and_the_verifier_is_checked(as_alice: Client, client_id: str) -> None:
    for method in ("plain", "", "s256"):  # without one, it is plain
        refused = answered(as_alice.get(address(client_id, code_challenge_method=method)))
        assert (refused["error"], refused.keys() & {"code"}) == ("invalid_request", set())
    code = allow(as_alice, client_id)["code"]
    wrong = exchange(client_id, code, code_verifier=VERIFIER.replace("long", "LONG"))
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_grant")
    other = exchange(client_id, code, resource="https://other.example/mcp")
    assert (other.status_code, other.json()["error"]) == (400, "invalid_target")


def test_a_name_of_another_persons_agent_is_refused(as_alice: Client, client_id: str, ben: User) -> None:
    Agent.objects.create(name="claude-code", created_by=ben)
    page = as_alice.get(address(client_id))
    fields = form(page, "/oauth/authorize/") | {"action": "grant", "scopes": ["memory:read"]}
    assert fields["name"] == "claude-code-alice"
    again = as_alice.post("/oauth/authorize/", fields | {"name": "claude-code"})
    assert again.status_code == 422
    assert "This name is taken" in words(again)
    assert "code" in answered(as_alice.post("/oauth/authorize/", form(again, "/oauth/authorize/") | fields))


def test_staff_choose_whose_memory_and_others_cannot(
    as_admin: Client, as_alice: Client, client_id: str, ben: User
) -> None:
    code = allow(as_admin, client_id, user="ben")["code"]
    assert [*AgentToken.objects.get().owners.all()] == [ben]
    allow(as_alice, client_id, user="ben", name="mine")
    assert [owner.username for owner in AgentToken.objects.get(agent__name="mine").owners.all()] == ["alice"]
    assert code


def test_refresh_tokens_rotate_and_a_stolen_form_of_consent_is_none(
    as_alice: Client, as_ben: Client, client_id: str, tokens: dict[str, Any]
) -> None:
    second = refresh(client_id, tokens["refresh_token"])
    assert second.status_code == 200
    assert call(second.json()["access_token"]).status_code == 200
    assert refresh(client_id, tokens["refresh_token"]).status_code == 400
    assert AgentToken.objects.count() == 1
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = as_ben.cookies
    fields = form(as_alice.get(address(client_id)), "/oauth/authorize/") | {
        "action": "grant",
        "scopes": ["memory:read"],
    }
    assert strict.post("/oauth/authorize/", fields).status_code == 403


def test_who_uses_a_refresh_token_again_later_ends_the_connection(client_id: str, tokens: dict[str, Any]) -> None:
    thief = refresh(client_id, tokens["refresh_token"]).json()
    assert refresh(client_id, tokens["refresh_token"]).status_code == 400  # at once, as by two processes of a program
    assert call(thief["access_token"]).status_code == 200
    Grant.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert refresh(client_id, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert call(thief["access_token"]).status_code == 401
    assert refresh(client_id, thief["refresh_token"]).status_code == 400
    assert AuditEvent.objects.filter(what=AuditEvent.Act.TOKEN_REVOKED).count() == 1


def test_an_access_token_ends_soon(tokens: dict[str, Any]) -> None:
    Grant.objects.filter(type=Grant.Type.ACCESS_TOKEN).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert call(tokens["access_token"]).status_code == 401


@pytest.mark.parametrize("how", ["the agents page", "the program", "the person leaves"])
def test_who_ends_the_connection_ends_its_refreshing_too(
    how: str, as_alice: Client, alice: User, client_id: str, tokens: dict[str, Any]
) -> None:
    token = AgentToken.objects.get()
    if how == "the agents page":
        as_alice.post(f"/agents/tokens/{token.pk}/revoke/")
    elif how == "the program":
        given = {"token": tokens["refresh_token"], "token_type_hint": "refresh_token", "client_id": client_id}
        assert Client().post("/oauth/revoke/", given).status_code == 200
        token.refresh_from_db()
        assert token.revoked_at
    else:
        User.objects.filter(pk=alice.pk).update(is_active=False)
    assert call(tokens["access_token"]).status_code == 401
    answer = refresh(client_id, tokens["refresh_token"])
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_what_ended_is_deleted_and_what_works_stays(client_id: str, tokens: dict[str, Any]) -> None:
    unused = register().json()["client_id"]
    OAuthClient.objects.update(created_at=timezone.now() - timedelta(days=31))
    Grant.objects.filter(type=Grant.Type.ACCESS_TOKEN).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert connections.purge() == 2
    assert not OAuthClient.objects.filter(pk=unused).exists()
    assert refresh(client_id, tokens["refresh_token"]).status_code == 200
