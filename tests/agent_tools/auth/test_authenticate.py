"""Who gets in: a usable token of an active agent, for the owners it serves, with its scopes, so often a minute."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.calls import execution
from agent_tools.models import AgentToken, ToolCall
from approvals.models import Agent, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.conftest import early_in_a_minute
from tests.support.fixtures import ClientOf

TOOLS = "/api/v1/tools/"


# "Bearer " is what an unset variable leaves, and "Token" what other services ask for.
@pytest.mark.parametrize("header", [None, "Bearer", "Bearer ", "Basic abc", "Token asn_abcdefgh_x"])
def test_a_call_without_a_token_is_told_to_send_one(header: str | None) -> None:
    response = Machine(None).get(TOOLS, **({} if header is None else {"Authorization": header}))
    error = refused(response, 401, "not_authenticated")
    assert error["text"] == "Error: Send the header Authorization: Bearer <token>."
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_whatever_is_no_usable_token_gets_the_same_answer(token: str, issue: Issue, alice: User) -> None:
    revoked, expired = issue(alice), issue(alice, expires_at=timezone.now() - timedelta(seconds=1))
    auth.revoke(AgentToken.objects.get(prefix=revoked[:12]))
    nearly = token[:-1] + ("a" if token[-1] != "a" else "b")
    texts = set()
    for secret in (revoked, expired, nearly, f"asn_unknown0_{'x' * 43}", "asn_nobody12_x", "ü", "asn_\x00bcdefgh_x"):
        response = Machine(None).get(TOOLS, Authorization=f"Bearer {secret}")
        texts.add(refused(response, 401, "invalid_token")["text"])
        assert 'error="invalid_token"' in response["WWW-Authenticate"]
    (text,) = texts
    assert "A person makes one under Settings, Agents." in text


def test_a_token_ends_with_its_agent_and_with_the_account_of_who_made_it(
    issue: Issue, alice: User, admin: User, scribe: Agent
) -> None:
    secret = issue(alice, created_by=admin)
    for ends in (admin, scribe):
        answered(Machine(secret).get(TOOLS))
        type(ends).objects.filter(pk=ends.pk).update(is_active=False)
        refused(Machine(secret).get(TOOLS), 401, "invalid_token")
        type(ends).objects.filter(pk=ends.pk).update(is_active=True)


@pytest.mark.parametrize(
    ("made_by", "serves", "is_staff", "works"),
    [
        ("admin", "everyone", True, True),
        ("admin", "everyone", False, False),
        ("admin", "alice", False, False),
        ("admin", "admin and alice", False, False),
        ("admin", "admin", False, True),
        ("alice", "alice", False, True),
        ("the command line", "everyone", True, True),
        ("the command line", "alice", True, True),
    ],
)
def test_a_token_opens_what_its_maker_may_give_when_it_is_used(
    issue: Issue, alice: User, admin: User, goals: Block, made_by: str, serves: str, is_staff: bool, works: bool
) -> None:
    people = {"alice": alice, "admin": admin}
    owners = [] if serves == "everyone" else [people[name] for name in serves.split(" and ")]
    secret = issue(*owners, all_owners=not owners, created_by=people.get(made_by))
    token = AgentToken.objects.get()
    User.objects.filter(pk=admin.pk).update(is_staff=is_staff, is_superuser=False)
    about = "alice" if owners != [admin] else "admin"
    said = Machine(secret).call("list_memory_blocks", user_id=about)
    assert auth.agents_serving(about) == ({token.agent_id} if works else set())
    if works:
        answered(said)
        rotated = auth.rotate(token, by=people.get(made_by, admin), until=None)
        answered(Machine(rotated.secret).call("list_memory_blocks", user_id=about))
        return
    refused(said, 401, "invalid_token")
    assert auth.find_again(token) is None  # what waits for a decision asks again
    with pytest.raises(auth.NotRotatable):
        auth.rotate(token, by=alice, until=None)


def test_a_signed_in_person_is_no_agent(client_of: ClientOf, alice: User) -> None:
    refused(client_of(alice).get(TOOLS), 401, "not_authenticated")


def test_only_the_hash_of_the_secret_is_kept(token: str) -> None:
    row = AgentToken.objects.get()
    assert row.prefix == token[:12]
    kept = " ".join(str(value) for value in AgentToken.objects.values().get().values())
    assert token not in kept
    assert token[13:] not in kept


def test_last_use_is_noted_once_a_minute(api: Machine, goals: Block) -> None:
    assert AgentToken.objects.get().last_used_at is None
    api.get(TOOLS)
    first = AgentToken.objects.get().last_used_at
    api.get(TOOLS)
    assert AgentToken.objects.get().last_used_at == first
    AgentToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    api.get(TOOLS)
    assert AgentToken.objects.get().last_used_at >= first


@pytest.mark.parametrize("serves_all", [False, True])
def test_a_token_of_several_owners_needs_a_user_id(
    issue: Issue, alice: User, ben: User, goals: Block, serves_all: bool
) -> None:
    several = Machine(issue(all_owners=True) if serves_all else issue(alice, ben))
    error = refused(several.call("list_memory_blocks"), 400, "invalid_arguments")
    assert "user_id" in error["details"]["fields"]
    assert answered(several.call("list_memory_blocks", user_id="alice"))["data"]["items"]
    assert answered(several.call("list_memory_blocks", user_id="ben"))["data"]["items"] == []
    refused(several.call("list_memory_blocks", user_id="nobody"), 403, "owner_not_granted")


@pytest.mark.parametrize(
    "path", ["/api/v1/users/{}/blocks/", "/api/v1/users/{}/blocks/goals/", "/api/v1/users/{}/blocks/goals/history/"]
)
def test_a_foreign_owner_and_one_who_does_not_exist_look_the_same(api: Machine, ben: User, path: str) -> None:
    foreign, missing = api.get(path.format("ben")), api.get(path.format("eve"))
    assert refused(foreign, 403, "owner_not_granted")["text"].replace("ben", "eve") == missing.json()["text"]
    # And before arguments are looked at.
    refused(api.call("read_memory_block", user_id="ben", nonsense=1), 403, "owner_not_granted")


def test_a_deactivated_owner_is_not_served(api: Machine, alice: User, goals: Block) -> None:
    alice.is_active = False
    alice.save()
    refused(api.get("/api/v1/users/alice/blocks/"), 403, "owner_not_granted")
    refused(api.call("list_memory_blocks"), 400, "invalid_arguments")
    assert answered(api.get("/api/v1/proposals/"))["data"]["items"] == []


@pytest.mark.parametrize("user_id", ["Alice", "", "a b", "x" * 65, 7, ["alice"]])
def test_a_user_id_that_is_no_username_is_named(call: Call, user_id: Any) -> None:
    error = refused(call("list_memory_blocks", user_id=user_id), 400, "invalid_arguments")
    assert "user_id" in error["details"]["fields"]


def test_proposing_needs_its_scope(issue: Issue, alice: User, goals: Block) -> None:
    reader = Machine(issue(alice, scopes=["memory:read"]))
    edit = {"old_string": "likes math", "new_string": "loves math", "reasoning": "r"}
    refused(reader.call("propose_memory_edit", block_label="goals", **edit), 403, "missing_scope")
    whole = {"body": "x", "reasoning": "r"}
    response = reader.post("/api/v1/users/alice/blocks/goals/propose/", whole)
    refused(response, 403, "missing_scope")
    assert 'error="insufficient_scope", scope="memory:propose"' in response["WWW-Authenticate"]


@override_settings(RATE_LIMIT=3)
def test_the_call_after_the_last_says_when_to_try_again_and_leaves_no_row(
    api: Machine, issue: Issue, alice: User
) -> None:
    early_in_a_minute()
    for _ in range(3):
        answered(api.call("list_memory_blocks"))
    response = api.call("list_memory_blocks")
    error = refused(response, 429, "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert error["details"]["retry_after"] == int(response["Retry-After"])
    answered(Machine(issue(alice)).call("list_memory_blocks"))  # another token has its own count
    execution.settle()
    assert ToolCall.objects.count() == 4
