"""Making, revoking and rotating tokens: the settings page, the admin, the command.

A rotated token has a new secret with the same rights, while the old one goes on working for a time.
"""

import re
from datetime import timedelta
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client, override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken, IdempotencyKey, Scope
from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.agent_tools.auth.conftest import ADMIN, PAGE, SECRET, TOKENS, secret_on
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.conftest import at_once
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words


def new_token(client: Any, **changes: Any) -> Any:
    return client.post(PAGE, {"name": "diary", "scopes": ["memory:read", "memory:propose"], "days": ""} | changes)


# -- the settings page ----------------------------------------------------------------------------


def test_an_owner_makes_a_token_for_their_own_memory_that_works_and_is_shown_once(
    browser: Client, alice: User, ben: User, goals: Block
) -> None:
    assert Client().get(PAGE).status_code == 302
    response = new_token(browser, owners=[ben.pk], all_owners="on", toolset="notes")
    secret = secret_on(response)
    assert f"Bearer {secret}" in response.content.decode().replace("&quot;", '"')
    assert answered(Machine(secret).call("list_memory_blocks"))["data"]["items"][0]["label"] == "goals"
    refused(Machine(secret).call("list_memory_blocks", user_id="ben"), 403, "owner_not_granted")
    again = browser.get(PAGE).content.decode()
    assert not SECRET.search(again)
    assert secret[:12] in again
    token = AgentToken.objects.get()
    assert (token.created_by, list(token.owners.all()), token.all_owners) == (alice, [alice], False)
    assert token.agent.created_by == alice
    assert "recall" in [tool["name"] for tool in answered(Machine(secret).get("/api/v1/tools/"))["data"]["tools"]]


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
    wrong.append({"toolset": "everything"})
    for changes in wrong:
        assert new_token(browser, **changes).status_code == 422
    answer = new_token(browser, scopes=[])
    assert answer.status_code == 422
    assert "Choose at least one." in words(answer)
    assert "This field is required." not in words(answer)
    assert not Agent.objects.exists()


def test_a_token_is_revoked_after_asking_and_shared_ones_only_stop_serving_me(
    browser: Client, issue: Issue, alice: User, ben: User
) -> None:
    own, shared = issue(alice), issue(alice, ben)
    for row in AgentToken.objects.all():
        path = f"{TOKENS}{row.pk}/revoke/"
        assert row.prefix in browser.get(path).content.decode()
        browser.post(path)
    refused(Machine(own).call("list_memory_blocks"), 401, "invalid_token")
    assert own[:12] in browser.get(PAGE).content.decode()
    refused(Machine(shared).call("list_memory_blocks", user_id="alice"), 403, "owner_not_granted")
    answered(Machine(shared).call("list_memory_blocks", user_id="ben"))


def test_nobody_revokes_or_sees_the_tokens_of_others(client_of: ClientOf, mallory: User, token: str) -> None:
    client, row = client_of(mallory), AgentToken.objects.get()
    assert client.post(f"{TOKENS}{row.pk}/revoke/").status_code == 404
    assert row.prefix not in client.get(PAGE).content.decode()
    row.refresh_from_db()
    assert row.is_usable


def test_a_token_for_everyone_is_shown_and_left_to_the_admin(browser: Client, issue: Issue) -> None:
    issue(all_owners=True)
    row = AgentToken.objects.get()
    assert row.prefix in browser.get(PAGE).content.decode()
    assert f"{row.pk}/revoke/" not in browser.get(f"{PAGE}scribe/").content.decode()
    assert browser.post(f"{TOKENS}{row.pk}/revoke/").status_code == 404


# -- the admin ------------------------------------------------------------------------------------


def test_a_token_made_in_the_admin_is_shown_once_and_revoked(
    client_of: ClientOf, admin: User, alice: User, scribe: Agent
) -> None:
    client = client_of(admin)
    typed = {"agent": scribe.pk, "scopes": ["memory:read"], "expires_at_0": "", "expires_at_1": ""}
    client.post(f"{ADMIN}add/", typed)
    assert not AgentToken.objects.exists(), "it would be for nobody"
    secret = secret_on(client.post(f"{ADMIN}add/", typed | {"owners": [alice.pk]}))
    answered(Machine(secret).call("list_memory_blocks"))
    token = AgentToken.objects.get()
    assert (token.created_by, token.scopes) == (admin, ["memory:read"])
    for page in ("", f"{token.pk}/change/"):
        shown = client.get(f"{ADMIN}{page}").content.decode()
        assert token.prefix in shown
        assert not SECRET.search(shown)
    client.post(ADMIN, {"action": "revoke", "_selected_action": [token.pk]})
    refused(Machine(secret).call("list_memory_blocks"), 401, "invalid_token")


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


def test_the_command_prints_the_token_and_nothing_else(alice: User) -> None:
    printed = issue_token(agent="diary", owner=["alice"])
    assert SECRET.fullmatch(printed.rstrip("\n"))
    answered(Machine(printed.strip()).call("list_memory_blocks"))
    # Reading what people deleted is asked for by name.
    assert AgentToken.objects.get().scopes == [scope for scope in Scope.values if scope != "memory:history"]
    asked: dict[str, Any] = {"scope": ["memory:read", "memory:history"], "toolset": ["edit_tool", "notes"]}
    issue_token(agent="weekly", all_owners=True, days=3, **asked)
    token = AgentToken.objects.get(agent__name="weekly")
    assert (token.scopes, token.all_owners, token.toolset) == (asked["scope"], True, "edit_tool,notes")
    assert token.expires_at is not None


def test_the_command_says_what_is_wrong(alice: User, scribe: Agent) -> None:
    Agent.objects.update(is_active=False)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"agent": "diary", "owner": ["eve"]}, "no user 'eve'"),
        ({"agent": "diary"}, "--owner"),
        *(
            ({"agent": name, "owner": ["alice"]}, "cannot name an agent")
            for name in ("Not A Name", ".", "..", "...", "", " ", "a/b", "%2e%2e", "..\n", "a" * 65)
        ),
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


# -- rotating -------------------------------------------------------------------------------------

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


@pytest.fixture
def diary(alice: User) -> Agent:
    """alice's own agent."""
    return Agent.objects.create(name="diary", created_by=alice)


@pytest.fixture
def old(issue: Issue, alice: User, diary: Agent) -> str:
    """The secret of a token of alice's own agent, which reads and proposes."""
    return issue(alice, agent=diary, scopes=["memory:read", "memory:propose"], created_by=alice)


def rotated(client: Any, grace: str = "day", token: AgentToken | None = None) -> str:
    """The new secret, as the page shows it."""
    token = token or AgentToken.objects.get(replaced_by=None)
    path = f"{TOKENS}{token.pk}/rotate/"
    return secret_on(client.post(path, form(client.get(path), path) | {"grace": grace}))


# -- the page -------------------------------------------------------------------------------------


def test_both_secrets_work_until_the_old_one_ends(browser: Client, alice: User, goals: Block, old: str) -> None:
    new = rotated(browser)
    assert new != old
    for secret in (old, new):
        answered(Machine(secret).call("list_memory_blocks"))
    before, after = AgentToken.objects.order_by("pk")
    assert before.expires_at is not None
    assert timedelta(hours=23) < before.expires_at - timezone.now() < timedelta(hours=25)
    AgentToken.objects.filter(pk=before.pk).update(expires_at=timezone.now())
    refused(Machine(old).call("list_memory_blocks"), 401, "invalid_token")
    answered(Machine(new).call("list_memory_blocks"))
    assert (after.replaces, after.expires_at, after.created_by) == (before, None, alice)


def test_the_rights_are_carried_over_and_no_others(
    browser: Client, issue: Issue, alice: User, ben: User, diary: Agent
) -> None:
    ends = timezone.now() + timedelta(days=30)
    issue(alice, agent=diary, scopes=["memory:read"], expires_at=ends)
    new = rotated(browser)
    token = AgentToken.objects.get(prefix=new[:12])
    assert (token.scopes, list(token.owners.all()), token.all_owners) == (["memory:read"], [alice], False)
    assert (token.agent, token.expires_at) == (diary, ends)
    refused(Machine(new).call("propose_memory_edit", **EDIT), 403, "missing_scope")
    refused(Machine(new).call("list_memory_blocks", user_id="ben"), 403, "owner_not_granted")


@pytest.mark.parametrize(("grace", "works"), [("none", False), ("hour", True), ("open", True)])
def test_the_person_chooses_how_long_the_old_one_works(
    browser: Client, alice: User, old: str, grace: str, works: bool
) -> None:
    path = f"{TOKENS}{AgentToken.objects.get().pk}/rotate/"
    assert browser.post(path, {"grace": "a year"}).status_code == 422
    assert AgentToken.objects.count() == 1
    rotated(browser, grace)
    assert (Machine(old).call("list_memory_blocks").status_code == 200) is works
    before = AgentToken.objects.order_by("pk")[0]
    assert (before.expires_at is None) is (grace == "open")


def test_an_end_that_comes_earlier_stays(browser: Client, issue: Issue, alice: User, diary: Agent) -> None:
    ends = timezone.now() + timedelta(minutes=5)
    issue(alice, agent=diary, expires_at=ends)
    rotated(browser, "week")
    assert set(AgentToken.objects.values_list("expires_at", flat=True)) == {ends}


def test_the_page_says_when_the_old_secret_was_used_and_ends_it_in_one_press(browser: Client, old: str) -> None:
    new = rotated(browser)
    page = words(browser.get(PAGE))
    assert "Old secret" in page
    assert "not used since" in page
    answered(Machine(old).call("list_memory_blocks"))
    assert "still used: just now" in words(browser.get(PAGE))
    path = f"{TOKENS}{AgentToken.objects.order_by('pk')[0].pk}/revoke/"
    browser.post(path, form(browser.get(f"{PAGE}diary/"), path))
    refused(Machine(old).call("list_memory_blocks"), 401, "invalid_token")
    answered(Machine(new).call("list_memory_blocks"))


@pytest.mark.parametrize("ends_both", [True, False])
def test_revoking_the_new_one_asks_about_the_old_one(browser: Client, alice: User, old: str, ends_both: bool) -> None:
    new = rotated(browser)
    path = f"{TOKENS}{AgentToken.objects.get(prefix=new[:12]).pk}/revoke/"
    fields = form(browser.get(path), path)
    assert fields["old"] == "on"
    browser.post(path, fields if ends_both else {})
    refused(Machine(new).call("list_memory_blocks"), 401, "invalid_token")
    assert (Machine(old).call("list_memory_blocks").status_code == 401) is ends_both


def test_the_secret_is_shown_once_and_is_nowhere_else(
    browser: Client, alice: User, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{TOKENS}{AgentToken.objects.get().pk}/rotate/"
    fields = form(browser.get(path), path) | {"grace": "day"}
    secret = secret_on(browser.post(path, fields))
    again = browser.post(path, fields, follow=True)
    assert "has already been created" in words(again)
    assert AgentToken.objects.count() == 2
    for page in (again, browser.get(PAGE), browser.get(f"{PAGE}diary/")):
        assert not SECRET.search(page.content.decode())
    assert secret not in str(dict(browser.session.items()))
    assert secret not in caplog.text


def test_a_token_is_rotated_once_and_then_its_replacement(browser: Client, alice: User, old: str) -> None:
    AgentToken.objects.update(toolset="blocks")
    first = AgentToken.objects.get()
    second = rotated(browser)
    refusal = browser.post(f"{TOKENS}{first.pk}/rotate/", {"grace": "day"}, follow=True)
    assert "can’t be rotated here" in words(refusal)
    third = rotated(browser, token=AgentToken.objects.get(prefix=second[:12]))
    for secret in (old, second, third):
        answered(Machine(secret).call("list_memory_blocks"))
    assert {token.toolset for token in AgentToken.objects.all()} == {"blocks"}
    page = words(browser.get(PAGE))
    assert page.count("Old secret") == 2


def test_of_many_who_rotate_at_once_one_does(alice: User, old: str) -> None:
    token = AgentToken.objects.get()

    def rotate() -> bool:
        try:
            auth.rotate(token, by=alice, until=None)
        except auth.NotRotatable:
            return False
        return True

    assert sum(at_once(rotate, 4)) == 1
    assert AgentToken.objects.count() == 2


# -- whose tokens ---------------------------------------------------------------------------------


def test_only_a_token_one_could_create_oneself_is_rotated(
    browser: Client,
    client_of: ClientOf,
    issue: Issue,
    alice: User,
    ben: User,
    tim: User,
    mallory: User,
    scribe: Agent,
    diary: Agent,
) -> None:
    """A new secret of a shared token would open ben's memory; one of scribe's would propose in its name."""
    issue(alice, agent=scribe)
    issue(alice, ben, agent=diary)
    issue(agent=diary, all_owners=True)
    page = "".join(browser.get(f"{PAGE}{agent}").content.decode() for agent in ("", "diary/", "scribe/"))
    for token in AgentToken.objects.all():
        assert f"{token.pk}/rotate/" not in page
        browser.post(f"{TOKENS}{token.pk}/rotate/", {"grace": "day"})
    issue(alice, agent=diary, created_by=alice)
    path = f"{TOKENS}{AgentToken.objects.latest('pk').pk}/rotate/"
    for person in (mallory, tim):
        assert client_of(person).get(path).status_code == 404
        assert client_of(person).post(path, {"grace": "day"}).status_code == 404
    assert Client().post(path, {"grace": "day"}).status_code == 401
    assert AgentToken.objects.count() == 4


# -- what is counted and remembered ---------------------------------------------------------------


def test_a_call_repeated_with_the_new_secret_is_done_once(browser: Client, alice: User, goals: Block, old: str) -> None:
    first = Machine(old).call("propose_memory_edit", **EDIT, idempotency_key="k")
    new = rotated(browser)
    newer = rotated(browser, token=AgentToken.objects.get(prefix=new[:12]))
    for secret in (new, newer, old):
        again = Machine(secret).call("propose_memory_edit", **EDIT, idempotency_key="k")
        assert again.content == first.content
        assert again["Idempotency-Replayed"] == "true"
    other = Machine(new).call("propose_memory_edit", **(EDIT | {"reasoning": "x"}), idempotency_key="k")
    refused(other, 409, "idempotency_key_reused")
    assert (Proposal.objects.count(), IdempotencyKey.objects.count()) == (1, 1)


@override_settings(RATE_LIMIT=4)
def test_both_secrets_share_one_rate_limit(browser: Client, alice: User, old: str) -> None:
    new = rotated(browser)
    statuses = [Machine(secret).call("list_memory_blocks").status_code for secret in (old, new) * 5]
    # The minute may end on the way once.
    assert statuses.count(200) <= 8
    assert 429 in statuses


# -- the admin ------------------------------------------------------------------------------------


def test_an_admin_rotates_any_token_that_works(
    client_of: ClientOf, issue: Issue, admin: User, alice: User, ben: User
) -> None:
    old = issue(alice, ben)
    issue(alice)
    last, token = AgentToken.objects.all()
    client = client_of(admin)

    def rotate(*chosen: AgentToken, **more: str) -> Any:
        selected = {"action": "rotate", "_selected_action": [each.pk for each in chosen]}
        return client.post(ADMIN, selected | more, follow=True)

    assert "Select one token" in words(rotate(token, last, grace="day"))
    assert "The old secret stays valid" in words(rotate(token))
    new = secret_on(rotate(token, grace="none"))
    answered(Machine(new).call("list_memory_blocks", user_id="ben"))
    refused(Machine(old).call("list_memory_blocks", user_id="ben"), 401, "invalid_token")
    assert new not in client.get(ADMIN).content.decode()
    assert f"rotated: {new[:12]}" in client.get(f"{ADMIN}{token.pk}/history/").content.decode()
    auth.revoke(last)
    assert "can’t be rotated" in words(rotate(last, grace="day"))
    assert AgentToken.objects.count() == 3


# -- what goes on ---------------------------------------------------------------------------------


def test_the_new_secret_tells_what_is_new_and_nothing_again(alice: User, goals: Block, old: str) -> None:
    """Once told, a decision is told with neither secret again; one that comes later, with one of the two."""
    edit = {"old_string": "likes math", "reasoning": "She said so.", "block_label": "goals"}
    for what, teller in (("loves math", 0), ("adores math", 1)):
        made = answered(Machine(old).call("propose_memory_edit", new_string=what, **edit))["data"]["proposal_id"]
        services.reject(actor=alice, proposal_id=made, revision=1, reason="wrong")
        if teller == 0:
            assert "decisions" in answered(Machine(old).call("recall"))["data"]
            new = auth.rotate(AgentToken.objects.get(), by=alice, until=None).secret
            assert "decisions" not in answered(Machine(new).call("recall"))["data"]
    (item,) = answered(Machine(new).call("recall"))["data"]["decisions"]["items"]
    assert item["proposal_id"] == made
    assert "decisions" not in answered(Machine(old).call("recall"))["data"]


def test_what_was_decided_before_the_first_token_stays_untold(
    issue: Issue, alice: User, diary: Agent, goals: Block, old: str
) -> None:
    made = answered(Machine(old).call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    services.reject(actor=alice, proposal_id=made, revision=1, reason="wrong")
    issue(alice, agent=diary, created_by=alice)
    later = AgentToken.objects.order_by("-pk")[0]
    new = auth.rotate(later, by=alice, until=None).secret
    assert "decisions" not in answered(Machine(new).call("recall"))["data"]
