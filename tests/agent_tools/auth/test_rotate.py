"""Rotating a token: a new secret with the same rights, while the old one goes on working for a time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client, override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken, IdempotencyKey
from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.agent_tools.auth.conftest import ADMIN, PAGE, SECRET, secret_on
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Issue, MachineOf
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words

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
    path = f"{PAGE}{token.pk}/rotate/"
    return secret_on(client.post(path, form(client.get(path), path) | {"grace": grace}))


# -- the page -------------------------------------------------------------------------------------


def test_both_secrets_work_until_the_old_one_ends(
    browser: Client, machine: MachineOf, alice: User, goals: Block, old: str
) -> None:
    new = rotated(browser)
    assert new != old
    for secret in (old, new):
        answered(machine(secret).call("list_memory_blocks"))
    before, after = AgentToken.objects.order_by("pk")
    assert before.expires_at is not None
    assert timedelta(hours=23) < before.expires_at - timezone.now() < timedelta(hours=25)
    AgentToken.objects.filter(pk=before.pk).update(expires_at=timezone.now())
    refused(machine(old).call("list_memory_blocks"), 401, "invalid_token")
    answered(machine(new).call("list_memory_blocks"))
    assert (after.replaces, after.expires_at, after.created_by) == (before, None, alice)


def test_the_rights_are_carried_over_and_no_others(
    browser: Client, machine: MachineOf, issue: Issue, alice: User, ben: User, diary: Agent
) -> None:
    ends = timezone.now() + timedelta(days=30)
    issue(alice, agent=diary, scopes=["memory:read"], expires_at=ends)
    new = rotated(browser)
    token = AgentToken.objects.get(prefix=new[:12])
    assert (token.scopes, list(token.owners.all()), token.all_owners) == (["memory:read"], [alice], False)
    assert (token.agent, token.expires_at) == (diary, ends)
    refused(machine(new).call("propose_memory_edit", **EDIT), 403, "missing_scope")
    refused(machine(new).call("list_memory_blocks", user_id="ben"), 403, "owner_not_granted")


@pytest.mark.parametrize(("grace", "works"), [("none", False), ("hour", True), ("open", True)])
def test_the_person_chooses_how_long_the_old_one_works(
    browser: Client, machine: MachineOf, alice: User, old: str, grace: str, works: bool
) -> None:
    path = f"{PAGE}{AgentToken.objects.get().pk}/rotate/"
    assert browser.post(path, {"grace": "a year"}).status_code == 422
    assert AgentToken.objects.count() == 1
    rotated(browser, grace)
    assert (machine(old).call("list_memory_blocks").status_code == 200) is works
    before = AgentToken.objects.order_by("pk")[0]
    assert (before.expires_at is None) is (grace == "open")


def test_an_end_that_comes_earlier_stays(browser: Client, issue: Issue, alice: User, diary: Agent) -> None:
    ends = timezone.now() + timedelta(minutes=5)
    issue(alice, agent=diary, expires_at=ends)
    rotated(browser, "week")
    assert set(AgentToken.objects.values_list("expires_at", flat=True)) == {ends}


def test_the_page_says_when_the_old_secret_was_used_and_ends_it_in_one_press(
    browser: Client, machine: MachineOf, old: str
) -> None:
    new = rotated(browser)
    page = words(browser.get(PAGE))
    assert "Old secret" in page
    assert "not used since" in page
    answered(machine(old).call("list_memory_blocks"))
    assert "still used: just now" in words(browser.get(PAGE))
    path = f"{PAGE}{AgentToken.objects.order_by('pk')[0].pk}/revoke/"
    browser.post(path, form(browser.get(PAGE), path))
    refused(machine(old).call("list_memory_blocks"), 401, "invalid_token")
    answered(machine(new).call("list_memory_blocks"))


@pytest.mark.parametrize("ends_both", [True, False])
def test_revoking_the_new_one_asks_about_the_old_one(
    browser: Client, machine: MachineOf, alice: User, old: str, ends_both: bool
) -> None:
    new = rotated(browser)
    path = f"{PAGE}{AgentToken.objects.get(prefix=new[:12]).pk}/revoke/"
    fields = form(browser.get(path), path)
    assert fields["old"] == "on"
    browser.post(path, fields if ends_both else {})
    refused(machine(new).call("list_memory_blocks"), 401, "invalid_token")
    assert (machine(old).call("list_memory_blocks").status_code == 401) is ends_both


def test_the_secret_is_shown_once_and_is_nowhere_else(
    browser: Client, alice: User, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{PAGE}{AgentToken.objects.get().pk}/rotate/"
    fields = form(browser.get(path), path) | {"grace": "day"}
    secret = secret_on(browser.post(path, fields))
    again = browser.post(path, fields, follow=True)
    assert "has already been created" in words(again)
    assert AgentToken.objects.count() == 2
    for page in (again, browser.get(PAGE), browser.get(f"{PAGE}diary/")):
        assert not SECRET.search(page.content.decode())
    assert secret not in str(dict(browser.session.items()))
    assert secret not in caplog.text


def test_a_token_is_rotated_once_and_then_its_replacement(
    browser: Client, machine: MachineOf, alice: User, old: str
) -> None:
    first = AgentToken.objects.get()
    second = rotated(browser)
    refusal = browser.post(f"{PAGE}{first.pk}/rotate/", {"grace": "day"}, follow=True)
    assert "can’t be rotated here" in words(refusal)
    third = rotated(browser, token=AgentToken.objects.get(prefix=second[:12]))
    for secret in (old, second, third):
        answered(machine(secret).call("list_memory_blocks"))
    page = words(browser.get(PAGE))
    assert page.count("Old secret") == 2


def test_of_many_who_rotate_at_once_one_does(alice: User, old: str) -> None:
    token = AgentToken.objects.get()

    def rotate(_number: int) -> bool:
        try:
            auth.rotate(token, by=alice, until=None)
        except auth.NotRotatable:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(rotate, range(4))) == 1
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
    page = browser.get(PAGE).content.decode()
    for token in AgentToken.objects.all():
        assert f"{token.pk}/rotate/" not in page
        browser.post(f"{PAGE}{token.pk}/rotate/", {"grace": "day"})
    issue(alice, agent=diary, created_by=alice)
    path = f"{PAGE}{AgentToken.objects.latest('pk').pk}/rotate/"
    for person in (mallory, tim):
        assert client_of(person).get(path).status_code == 404
        assert client_of(person).post(path, {"grace": "day"}).status_code == 404
    assert Client().post(path, {"grace": "day"}).status_code == 401
    assert AgentToken.objects.count() == 4


# -- what is counted and remembered ---------------------------------------------------------------


def test_a_call_repeated_with_the_new_secret_is_done_once(
    browser: Client, machine: MachineOf, alice: User, goals: Block, old: str
) -> None:
    first = machine(old).call("propose_memory_edit", **EDIT, idempotency_key="k")
    new = rotated(browser)
    newer = rotated(browser, token=AgentToken.objects.get(prefix=new[:12]))
    for secret in (new, newer, old):
        again = machine(secret).call("propose_memory_edit", **EDIT, idempotency_key="k")
        assert again.content == first.content
        assert again["Idempotency-Replayed"] == "true"
    other = machine(new).call("propose_memory_edit", **(EDIT | {"reasoning": "x"}), idempotency_key="k")
    refused(other, 409, "idempotency_key_reused")
    assert (Proposal.objects.count(), IdempotencyKey.objects.count()) == (1, 1)


@override_settings(RATE_LIMIT=4)
def test_both_secrets_share_one_rate_limit(browser: Client, machine: MachineOf, alice: User, old: str) -> None:
    new = rotated(browser)
    statuses = [machine(secret).call("list_memory_blocks").status_code for secret in (old, new) * 5]
    # The minute may end on the way once.
    assert statuses.count(200) <= 8
    assert 429 in statuses


# -- the admin ------------------------------------------------------------------------------------


def test_an_admin_rotates_any_token_that_works(
    client_of: ClientOf, machine: MachineOf, issue: Issue, admin: User, alice: User, ben: User
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
    answered(machine(new).call("list_memory_blocks", user_id="ben"))
    refused(machine(old).call("list_memory_blocks", user_id="ben"), 401, "invalid_token")
    assert new not in client.get(ADMIN).content.decode()
    assert f"rotated: {new[:12]}" in client.get(f"{ADMIN}{token.pk}/history/").content.decode()
    auth.revoke(last)
    assert "can’t be rotated" in words(rotate(last, grace="day"))
    assert AgentToken.objects.count() == 3


# -- what goes on ---------------------------------------------------------------------------------


def test_the_new_secret_tells_what_is_new_and_nothing_again(
    machine: MachineOf, alice: User, goals: Block, old: str
) -> None:
    """Once told, a decision is told with neither secret again; one that comes later, with one of the two."""
    edit = {"old_string": "likes math", "reasoning": "She said so.", "block_label": "goals"}
    for what, teller in (("loves math", 0), ("adores math", 1)):
        made = answered(machine(old).call("propose_memory_edit", new_string=what, **edit))["data"]["proposal_id"]
        services.reject(actor=alice, proposal_id=made, revision=1, reason="wrong", comment="No.")
        if teller == 0:
            assert "decisions" in answered(machine(old).call("recall"))["data"]
            new = auth.rotate(AgentToken.objects.get(), by=alice, until=None).secret
            assert "decisions" not in answered(machine(new).call("recall"))["data"]
    (item,) = answered(machine(new).call("recall"))["data"]["decisions"]["items"]
    assert item["proposal_id"] == made
    assert "decisions" not in answered(machine(old).call("recall"))["data"]


def test_what_was_decided_before_the_first_token_stays_untold(
    machine: MachineOf, issue: Issue, alice: User, diary: Agent, goals: Block, old: str
) -> None:
    made = answered(machine(old).call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    services.reject(actor=alice, proposal_id=made, revision=1, reason="wrong", comment="No.")
    issue(alice, agent=diary, created_by=alice)
    later = AgentToken.objects.order_by("-pk")[0]
    new = auth.rotate(later, by=alice, until=None).secret
    assert "decisions" not in answered(machine(new).call("recall"))["data"]
