"""Making and revoking tokens: the settings page, the admin, the command."""

import re
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client

from agent_tools.models import AgentToken, Scope
from approvals.models import Agent, User
from memory_app.reads import Block
from tests.agent_tools.auth.conftest import ADMIN, PAGE, SECRET, secret_on
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, MachineOf
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words


def new_token(client: Any, **changes: Any) -> Any:
    return client.post(PAGE, {"name": "diary", "scopes": ["memory:read", "memory:propose"], "days": ""} | changes)


# -- the settings page ----------------------------------------------------------------------------


def test_an_owner_makes_a_token_for_their_own_memory_that_works_and_is_shown_once(
    browser: Client, machine: MachineOf, alice: User, ben: User, goals: Block
) -> None:
    assert Client().get(PAGE).status_code == 302
    response = new_token(browser, owners=[ben.pk], all_owners="on")
    secret = secret_on(response)
    assert f"Bearer {secret}" in response.content.decode().replace("&quot;", '"')
    assert answered(machine(secret).call("list_memory_blocks"))["data"]["items"][0]["label"] == "goals"
    refused(machine(secret).call("list_memory_blocks", user_id="ben"), 403, "owner_not_granted")
    again = browser.get(PAGE).content.decode()
    assert not SECRET.search(again)
    assert secret[:12] in again
    token = AgentToken.objects.get()
    assert (token.created_by, list(token.owners.all()), token.all_owners) == (alice, [alice], False)
    assert token.agent.created_by == alice


def test_no_agent_is_called_as_anothers_or_as_a_person_or_as_we_are(browser: Client, ben: User, scribe: Agent) -> None:
    for name in ("scribe", "ben", "alice", "assent", "admin"):
        response = new_token(browser, name=name)
        assert response.status_code == 422
        assert "This name is taken, or it is a person's. Choose another." in words(response)
    assert Agent.objects.get() == scribe


def test_ones_own_agent_can_have_a_second_token(browser: Client) -> None:
    new_token(browser)
    new_token(browser, scopes=["memory:read"], days="30")
    assert Agent.objects.filter(name="diary").count() == 1
    assert AgentToken.objects.count() == 2
    assert AgentToken.objects.first().expires_at is not None


def test_an_agent_made_by_another_request_meanwhile_is_said_on_the_form(browser: Client, alice: User) -> None:
    def first(sender: Any, instance: Agent, **_: Any) -> None:
        Agent.objects.bulk_create([Agent(name=instance.name, created_by=alice)], ignore_conflicts=True)

    pre_save.connect(first, sender=Agent)
    try:
        response = new_token(browser)
    finally:
        pre_save.disconnect(first, sender=Agent)
    assert response.status_code == 422
    assert "was just created" in response.content.decode()
    assert not AgentToken.objects.exists()
    assert secret_on(new_token(browser))


def test_the_scope_for_what_was_deleted_is_offered_and_not_chosen(browser: Client) -> None:
    page = browser.get(PAGE).content.decode()
    boxes = {
        box["value"]: "checked" in box[0] for box in re.finditer(r'<input[^>]*value="(?P<value>[a-z:]+)"[^>]*>', page)
    }
    assert boxes["memory:read"] is True
    assert boxes["memory:history"] is False
    new_token(browser, scopes=["memory:read", "memory:history"])
    assert "read what was deleted" in browser.get(PAGE).content.decode()
    assert AgentToken.objects.get().scopes == ["memory:read", "memory:history"]


def test_a_bad_form_makes_nothing(browser: Client) -> None:
    wrong: list[dict[str, Any]] = [{"name": "Not A Name"}, {"name": ""}, {"scopes": ["everything"]}, {"days": "7000"}]
    for changes in wrong:
        assert new_token(browser, **changes).status_code == 422
    answer = new_token(browser, scopes=[])
    assert answer.status_code == 422
    assert "Choose at least one." in words(answer)
    assert "This field is required." not in words(answer)
    assert not Agent.objects.exists()


def test_a_token_is_revoked_after_asking_and_shared_ones_only_stop_serving_me(
    browser: Client, machine: MachineOf, issue: Issue, alice: User, ben: User
) -> None:
    own, shared = issue(alice), issue(alice, ben)
    for row in AgentToken.objects.all():
        path = f"{PAGE}{row.pk}/revoke/"
        assert row.prefix in browser.get(path).content.decode()
        browser.post(path)
    refused(machine(own).call("list_memory_blocks"), 401, "invalid_token")
    assert own[:12] in browser.get(PAGE).content.decode()
    refused(machine(shared).call("list_memory_blocks", user_id="alice"), 403, "owner_not_granted")
    answered(machine(shared).call("list_memory_blocks", user_id="ben"))


def test_nobody_revokes_or_sees_the_tokens_of_others(client_of: ClientOf, mallory: User, token: str) -> None:
    client, row = client_of(mallory), AgentToken.objects.get()
    assert client.post(f"{PAGE}{row.pk}/revoke/").status_code == 404
    assert row.prefix not in client.get(PAGE).content.decode()
    row.refresh_from_db()
    assert row.is_usable


def test_a_token_for_everyone_is_shown_and_left_to_the_admin(browser: Client, issue: Issue) -> None:
    issue(all_owners=True)
    row = AgentToken.objects.get()
    page = browser.get(PAGE).content.decode()
    assert row.prefix in page
    assert f"{row.pk}/revoke/" not in page
    assert browser.post(f"{PAGE}{row.pk}/revoke/").status_code == 404


# -- the admin ------------------------------------------------------------------------------------


def test_a_token_made_in_the_admin_is_shown_once_and_revoked(
    client_of: ClientOf, machine: MachineOf, admin: User, alice: User, scribe: Agent
) -> None:
    client = client_of(admin)
    typed = {"agent": scribe.pk, "scopes": ["memory:read"], "expires_at_0": "", "expires_at_1": ""}
    client.post(f"{ADMIN}add/", typed)
    assert not AgentToken.objects.exists(), "it would be for nobody"
    secret = secret_on(client.post(f"{ADMIN}add/", typed | {"owners": [alice.pk]}))
    answered(machine(secret).call("list_memory_blocks"))
    token = AgentToken.objects.get()
    assert (token.created_by, token.scopes) == (admin, ["memory:read"])
    for page in ("", f"{token.pk}/change/"):
        shown = client.get(f"{ADMIN}{page}").content.decode()
        assert token.prefix in shown
        assert not SECRET.search(shown)
    client.post(ADMIN, {"action": "revoke", "_selected_action": [token.pk]})
    refused(machine(secret).call("list_memory_blocks"), 401, "invalid_token")


def test_the_admin_searches_tool_calls_and_keys(client_of: ClientOf, admin: User, call: Call, goals: Block) -> None:
    call("read_memory_block", block_label="goals")
    client = client_of(admin)
    assert "read_memory_block" in client.get("/admin/agent_tools/toolcall/?q=goals").content.decode()
    assert client.get("/admin/agent_tools/idempotencykey/?q=x").status_code == 200
    assert client.get("/admin/agent_tools/toolcall/add/").status_code == 403


# -- the command ----------------------------------------------------------------------------------


def issue_token(**options: Any) -> str:
    out = StringIO()
    call_command("issue_token", stdout=out, **options)
    return out.getvalue()


def test_the_command_prints_the_token_and_nothing_else(alice: User, machine: MachineOf) -> None:
    printed = issue_token(agent="diary", owner=["alice"])
    assert SECRET.fullmatch(printed.rstrip("\n"))
    answered(machine(printed.strip()).call("list_memory_blocks"))
    # Reading what people deleted is asked for by name.
    assert AgentToken.objects.get().scopes == [scope for scope in Scope.values if scope != "memory:history"]
    issue_token(agent="weekly", all_owners=True, scope=["memory:read", "memory:history"], days=3)
    token = AgentToken.objects.get(agent__name="weekly")
    assert (token.scopes, token.all_owners) == (["memory:read", "memory:history"], True)
    assert token.expires_at is not None


def test_the_command_says_what_is_wrong(alice: User, scribe: Agent) -> None:
    Agent.objects.update(is_active=False)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"agent": "diary", "owner": ["eve"]}, "no user 'eve'"),
        ({"agent": "diary"}, "--owner"),
        ({"agent": "Not A Name", "owner": ["alice"]}, "cannot name an agent"),
        ({"agent": "diary", "owner": ["alice"], "days": 0}, "--days"),
        ({"agent": "scribe", "owner": ["alice"]}, "deactivated"),
    ]
    for options, about in wrong:
        with pytest.raises(CommandError, match=about):
            issue_token(**options)
    assert not AgentToken.objects.exists()


def test_loading_the_page_with_the_secret_again_makes_no_second_token(browser: Client) -> None:
    fields = form(browser.get(PAGE), PAGE) | {"name": "my-bot", "scopes": ["memory:read"], "days": ""}
    assert fields["nonce"]
    browser.post(PAGE, fields)
    again = browser.post(PAGE, fields, follow=True)
    assert AgentToken.objects.count() == 1
    assert "has already been created" in words(again)


def test_whoever_may_change_the_memory_may_read_it(issue: Issue, alice: User) -> None:
    issue(alice, scopes=["memory:history", "memory:propose"])
    assert AgentToken.objects.get().scopes == ["memory:read", "memory:propose", "memory:history"]


def test_older_tokens_that_propose_or_save_get_reading_in_the_migration(issue: Issue, alice: User) -> None:
    migration = import_module("agent_tools.migrations.0007_proposing_includes_reading")
    before = [["memory:propose"], ["notes:write", "memory:history"], ["memory:history"], ["memory:read"], []]
    for scopes in before:
        issue(alice)
        AgentToken.objects.filter(pk=AgentToken.objects.latest("pk").pk).update(scopes=scopes)
    with connection.schema_editor() as editor:
        migration.add_reading(apps, editor)
    assert list(AgentToken.objects.order_by("pk").values_list("scopes", flat=True)) == [
        ["memory:read", "memory:propose"],
        ["memory:read", "notes:write", "memory:history"],
        *before[2:],
    ]
