"""Webhooks on an agent's page: create, change, rotate, test, look at the log, disable, enable, delete."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import (
    AgentToken,
    DeliveryState,
    DisabledWhy,
    EndpointState,
    EventType,
    WebhookDelivery,
    WebhookEndpoint,
)
from agent_tools.webhooks import deliveries, endpoints, sending
from approvals.models import Agent, User
from tests.agent_tools.webhooks.conftest import EVERYTHING, create, delivery, queue, run
from tests.conftest import make_user
from tests.support.acts import approve
from tests.support.pages import form, has_form, words
from tests.support.receiver import Receiver

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.support.fixtures import ClientOf, Propose

LIST = reverse("agent_webhooks", args=["scribe"])
ADDRESS = "https://hooks.example.org/x?key=1"
NEW = {"url": ADDRESS, "events": EVERYTHING}


@pytest.fixture
def browser(alice: User, client_of: ClientOf) -> Client:
    return client_of(alice)


def page_of(hook: WebhookEndpoint) -> str:
    return reverse("webhook", args=[hook.pk])


def secret_on(page: Any) -> str:
    found = re.search(r'id="secret"[^>]*value="([^"]+)"', page.content.decode())
    return unescape(found[1]) if found else ""


def post(browser: Client, name: str, *arguments: object, **fields: str) -> Any:
    return browser.post(reverse(name, args=arguments), fields)


# -- creating -------------------------------------------------------------------------------------


def test_without_a_token_no_more_are_made(browser: Client, hook: WebhookEndpoint) -> None:
    AgentToken.objects.all().delete()
    page = browser.get(LIST)
    assert hook.host in words(page)
    assert not has_form(page, LIST)
    assert "has no token for your memory any more" in words(browser.post(LIST, NEW))


def test_the_secret_is_shown_once(browser: Client, token: str) -> None:
    fields = form(browser.get(LIST), LIST) | NEW
    made = browser.post(LIST, fields)
    assert made.status_code == 200
    endpoint = WebhookEndpoint.objects.get()
    assert secret_on(made) == endpoint.secret
    assert made["Cache-Control"] == "private, no-store"
    assert (endpoint.url, endpoint.events) == (ADDRESS, EVERYTHING)
    again = browser.post(LIST, fields, follow=True)  # the page with the secret loaded again
    assert "already been created" in words(again)
    assert WebhookEndpoint.objects.count() == 1
    for page in (again, browser.get(LIST), browser.get(page_of(endpoint))):
        assert endpoint.secret not in page.content.decode()


def test_what_cannot_be_used_is_said_and_nothing_typed_is_lost(browser: Client, token: str) -> None:
    for changes, said in (
        ({"url": "http://hooks.example.org/"}, "https://"),
        ({"url": "https://10.0.0.1/x"}, "private network"),
        ({"events": []}, "Choose at least one."),
    ):
        answer = browser.post(LIST, NEW | changes)
        assert answer.status_code == 422
        assert said in words(answer)
        assert form(answer, LIST)["url"] == (NEW | changes)["url"]
    assert not WebhookEndpoint.objects.exists()


def test_only_agents_that_serve_the_person_can_be_chosen(browser: Client, token: str, mallory: User) -> None:
    other = Agent.objects.create(name="spy")
    auth.issue(agent=other, scopes=["memory:read"], owners=[mallory])
    of_spy = reverse("agent_webhooks", args=["spy"])
    assert browser.get(of_spy).status_code == 404
    assert browser.post(of_spy, NEW).status_code == 404


def test_only_admins_make_one_for_everyone(
    browser: Client, admin: User, alice: User, token: str, client_of: ClientOf
) -> None:
    fields = NEW | {"everyone": "on"}
    assert "everyone" not in form(browser.get(LIST), LIST)
    browser.post(LIST, fields)
    assert not WebhookEndpoint.objects.get(created_by=alice).all_owners
    client_of(admin).post(LIST, fields)
    assert WebhookEndpoint.objects.get(created_by=admin).all_owners
    page = browser.get(LIST)
    assert "1 webhook of an admin that covers your memory too" in words(page)
    assert page.content.decode().count("key=1") == 0


def test_there_is_a_limit_for_each_person(browser: Client, alice: User, scribe: Agent, token: str) -> None:
    for number in range(endpoints.MOST):
        create(alice, scribe, f"https://hooks.example.org/{number}")
    answer = browser.post(LIST, NEW)
    assert (answer.status_code, WebhookEndpoint.objects.count()) == (422, endpoints.MOST)
    assert "Delete one first" in words(answer)


# -- one webhook ----------------------------------------------------------------------------------


def test_address_and_events_can_be_changed(browser: Client, hook: WebhookEndpoint, there: Receiver) -> None:
    where = page_of(hook)
    found = form(browser.get(where), where)
    assert found["url"] == there.url
    changed = {"url": f"{there.url}/new", "events": [EventType.REJECTED, EventType.APPROVED]}
    assert browser.post(where, changed).status_code == 302
    hook.refresh_from_db()
    assert (hook.url, hook.events) == (f"{there.url}/new", [EventType.APPROVED, EventType.REJECTED])
    answer = browser.post(where, {"url": "https://", "events": [EventType.APPROVED]})
    assert answer.status_code == 422
    assert "It has no host" in words(answer)


def test_rotating_asks_first_and_shows_the_new_secret_once(browser: Client, hook: WebhookEndpoint) -> None:
    where = reverse("webhook_rotate", args=[hook.pk])
    page = browser.get(where)
    old = hook.secret
    assert old not in page.content.decode()
    fields = form(page, where)
    made = browser.post(where, fields)
    hook.refresh_from_db()
    assert secret_on(made) == hook.secret != old
    assert hook.previous_secret == old
    # Loaded again: it must not push out the secret that the receiver still has.
    browser.post(where, fields)
    hook.refresh_from_db()
    assert hook.previous_secret == old
    assert "The old secret signs each message, too" in words(browser.get(page_of(hook)))
    post(browser, "webhook_end_overlap", hook.pk)
    assert "The old secret signs each message" not in words(browser.get(page_of(hook)))
    hook.refresh_from_db()
    assert deliveries.secrets_of(hook, timezone.now()) == (hook.secret,)


def test_a_test_is_sent_to_a_disabled_webhook_too_and_its_result_shown(
    browser: Client, hook: WebhookEndpoint, there: Receiver
) -> None:
    deliveries.disable(hook.pk, why=DisabledWhy.FAILING)
    answer = post(browser, "webhook_test", hook.pk)
    row = delivery()
    assert answer.url == reverse("webhook_delivery", args=[hook.pk, row.pk])
    sending.settle()
    run()  # where a worker is expected, nobody else does it here
    page = browser.get(answer.url)
    assert "204 accepted" in words(page)
    assert there.received[0].message["type"] == "webhook.test"
    assert there.received[0].is_signed_with(hook.secret)
    assert row.message_id in page.content.decode()


def test_while_it_is_on_its_way_the_page_asks_again(browser: Client, hook: WebhookEndpoint) -> None:
    (row,) = queue(hook)
    where = reverse("webhook_delivery", args=[hook.pk, row.pk])
    assert 'hx-trigger="every 1s"' in browser.get(where).content.decode()
    part = browser.get(where, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    run()
    assert "hx-trigger" not in browser.get(where, headers={"HX-Request": "true"}).content.decode()


def test_a_test_that_fails_is_not_repeated_and_says_why(
    browser: Client, hook: WebhookEndpoint, there: Receiver
) -> None:
    there.status = 302
    endpoints.send_test(hook)
    run()
    row = delivery()
    assert row.state == DeliveryState.FAILED
    page = browser.get(reverse("webhook_delivery", args=[hook.pk, row.pk]))
    assert "302: a redirect, which is not followed" in words(page)
    hook.refresh_from_db()
    assert hook.failing_since is None


def test_tests_are_limited(browser: Client, hook: WebhookEndpoint) -> None:
    answers = [post(browser, "webhook_test", hook.pk) for _ in range(11)]
    assert answers[-1].url == page_of(hook)
    assert "Too many tests" in words(browser.get(page_of(hook)))
    sending.settle()


def test_disabling_and_enabling_say_what_was_missed_which_is_not_sent(
    browser: Client, hook: WebhookEndpoint, there: Receiver, alice: User, goals: Block, propose: Propose
) -> None:
    queue(hook)
    post(browser, "webhook_switch", hook.pk, state="disabled")
    approve(alice, propose(goals, "math", "algebra"))
    run()
    page = browser.get(page_of(hook))
    assert "This webhook is disabled: nothing is sent." in words(page)
    assert "2 messages were missed since." in words(page)
    post(browser, "webhook_switch", hook.pk, state="active")
    page = browser.get(page_of(hook))
    assert "2 messages were missed. Each can be sent again from the log." in words(page)
    assert WebhookEndpoint.objects.get().state == EndpointState.ACTIVE
    run()
    assert there.received == []


def test_a_missed_message_is_sent_again_from_its_page(browser: Client, hook: WebhookEndpoint, there: Receiver) -> None:
    (row,) = queue(hook)
    deliveries.disable(hook.pk, why=DisabledWhy.BY_PERSON)
    where = reverse("webhook_delivery", args=[hook.pk, row.pk])
    again = reverse("webhook_send_again", args=[hook.pk, row.pk])
    assert not has_form(browser.get(where), again)
    browser.post(again)
    assert "can’t be sent now" in words(browser.get(where))
    endpoints.enable(hook)
    assert has_form(browser.get(where), again)
    browser.post(again)
    sending.settle()
    run()
    assert len(there.received) == 1


def test_it_says_when_the_agent_has_no_token_any_more(browser: Client, hook: WebhookEndpoint) -> None:
    assert "no token that works" not in words(browser.get(page_of(hook)))
    AgentToken.objects.update(created_by=make_user("maker", is_active=False))
    assert "no token that works" in words(browser.get(page_of(hook)))
    AgentToken.objects.update(created_by=None)
    auth.revoke(AgentToken.objects.get())
    assert "no token that works" in words(browser.get(page_of(hook)))


def test_the_log_has_pages_and_filters(browser: Client, hook: WebhookEndpoint) -> None:
    rows = queue(hook, 30)
    WebhookDelivery.objects.filter(pk__lte=rows[4].pk).update(state=DeliveryState.FAILED)
    page = browser.get(page_of(hook))
    assert page.content.decode().count("/deliveries/") == 25
    older = re.search(r'href="(\?before=\d+)#log"', page.content.decode())[1]
    assert browser.get(page_of(hook) + older).content.decode().count("/deliveries/") == 5
    assert browser.get(f"{page_of(hook)}?state=failed").content.decode().count("/deliveries/") == 5
    for odd in ("?before=x", "?before=9" + "9" * 40, "?state=nothing", "?before=%00"):
        assert browser.get(page_of(hook) + odd).status_code == 200
    assert "No older messages." in words(browser.get(f"{page_of(hook)}?before=0"))


def test_deleting_asks_first_and_takes_the_log_along(browser: Client, hook: WebhookEndpoint) -> None:
    queue(hook)
    where = reverse("webhook_delete", args=[hook.pk])
    assert "Delete the webhook of scribe?" in words(browser.get(where))
    assert WebhookEndpoint.objects.exists()
    assert browser.post(where)["Location"] == LIST
    assert not WebhookDelivery.objects.exists()


# -- others ---------------------------------------------------------------------------------------

_ADDRESSES = ("webhook", "webhook_rotate", "webhook_delete", "webhook_end_overlap", "webhook_switch", "webhook_test")


def test_another_persons_webhook_and_messages_are_not_found(
    client: Client, hook: WebhookEndpoint, mallory: User, admin: User, scribe: Agent, client_of: ClientOf
) -> None:
    (row,) = queue(hook)
    auth.issue(agent=scribe, scopes=["memory:read"], owners=[mallory])
    own = create(mallory, scribe, "https://mallory.example.org/")
    before = WebhookEndpoint.objects.values().get(pk=hook.pk)
    theirs = [reverse(name, args=[hook.pk]) for name in _ADDRESSES]
    for name in ("webhook_delivery", "webhook_send_again"):
        theirs += [reverse(name, args=[pk, row.pk]) for pk in (hook.pk, own.pk)]
    for where in theirs:
        for other in (client_of(mallory), client_of(admin)):
            typed = {"url": "https://mallory.example.org/", "events": EVERYTHING}
            answers = {other.get(where).status_code, other.post(where, typed).status_code}
            assert answers in ({404}, {404, 405}), where
        assert client.post(where).status_code == 401
    assert client.get(LIST).status_code == 302
    assert WebhookEndpoint.objects.values().get(pk=hook.pk) == before


# -- admin ----------------------------------------------------------------------------------------


def test_the_admin_shows_why_a_message_failed_but_no_secrets_and_can_disable(
    hook: WebhookEndpoint, there: Receiver, admin: User, client_of: ClientOf
) -> None:
    client, admins = client_of(admin), "/admin/agent_tools"
    answer = client.post(f"{admins}/webhookendpoint/", {"action": "disable", "_selected_action": [hook.pk]})
    assert answer.status_code == 302
    assert WebhookEndpoint.objects.get().state == EndpointState.DISABLED
    endpoints.enable(hook)
    there.status = 410
    queue(hook)
    run()
    for where in ("webhookendpoint/", f"webhookendpoint/{hook.pk}/change/", f"webhookdelivery/{delivery().pk}/change/"):
        page = client.get(f"{admins}/{where}")
        assert page.status_code == 200, where
        assert hook.secret not in page.content.decode()
        assert "/hook" not in page.content.decode()
    listed = client.get(f"{admins}/webhookdelivery/").content.decode()
    assert '<td class="field-last">410: not accepted<' in listed
    assert re.search(r"field-next_attempt[^>]*>-<", listed)
    assert "/hook" not in listed
