"""An agent's webhooks: the addresses that are told about decisions, their secrets, and the log of what was sent.

The list is a tab of the agent's page, and so is one of them, or one of its messages.
"""

import json
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agent_tools.console.agents_page import about_agent
from agent_tools.forms import mark_used, new_nonce, was_used
from agent_tools.models import DeliveryState, DisabledWhy, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import deliveries, endpoints
from agent_tools.webhooks.addresses import LONGEST, AddressInvalid, check_url
from approvals.accounts.sign_in import typed_before, viewer_of
from approvals.models import Agent, User
from approvals.views.request import form_page, reading_page, verb, whole_number
from memory_app.runtime import rate_limit
from memory_app.runtime.unavailable import of_cache

#: Deliveries on one page of the log.
PAGE = 25
#: Tests one person may send in a minute: each makes this server connect somewhere.
_TESTS, _MINUTE = 10, timedelta(minutes=1)
#: What a new webhook is told.
_USUAL = [each.value for each in EventType.selectable() if each is not EventType.COMMENTED]


class EndpointForm(forms.Form):
    """Address and events of a webhook there is."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=LONGEST,
        help_text=gettext_lazy("Where the agent’s service receives messages, beginning with https://."),
        widget=forms.URLInput(attrs={"spellcheck": "false", "autocomplete": "off", "dir": "ltr"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Send a message when"),
        choices=[(each.value, each.label) for each in EventType.selectable()],
        initial=_USUAL,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one.")},
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        try:
            check_url(url, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
        except AddressInvalid as error:
            raise forms.ValidationError(str(error)) from None
        return url


class NewEndpointForm(EndpointForm):
    """A new webhook."""

    everyone = forms.BooleanField(
        label=gettext_lazy("For everyone whose memory this agent may read, not only you"), required=False
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not person.is_staff:
            del self.fields["everyone"]


@form_page
def webhooks(request: HttpRequest, agent: str) -> HttpResponse:
    """Show a person's webhooks of an agent, and create one. A new secret is in the answer to the POST only."""
    viewer = viewer_of(request)
    context = about_agent(request, get_object_or_404(Agent, name=agent))
    if not context["has_webhooks"]:
        raise Http404
    if request.method != "POST":
        kept = typed_before(request)
        initial = {"url": kept["url"]} if "url" in kept else None
        return _list(request, context, NewEndpointForm(person=viewer, initial=initial))
    form = NewEndpointForm(request.POST, person=viewer)
    if was_used(request, _("That webhook has already been created. Its secret was shown once.")):
        return redirect("agent_webhooks", agent)
    if not endpoints.may_create(viewer, context["agent"]):
        form.add_error(None, _("This agent has no token for your memory any more."))
    if form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("url", "events")}
        for_all = form.cleaned_data.get("everyone", False)
        try:
            made = endpoints.create(actor=viewer, agent=context["agent"], all_owners=for_all, **given)
        except endpoints.TooManyWebhooks:
            form.add_error(None, _("You have %(most)d webhooks. Delete one first.") % {"most": endpoints.MOST})
        else:
            mark_used(request)
            return _list(request, context, NewEndpointForm(person=viewer), made=made)
    return _list(request, context, form, status=422)


@form_page
def webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a webhook with its log, and save its address and events."""
    endpoint = _own(request, pk)
    if request.method == "POST":
        form = EndpointForm(request.POST)
        if form.is_valid():
            endpoints.change(endpoint, **form.cleaned_data)
            messages.success(request, _("Saved."))
            return redirect("webhook", pk)
        return _page(request, endpoint, form, status=422)
    return _page(request, endpoint, EndpointForm(initial={"url": endpoint.url, "events": endpoint.events}))


@partial(form_page, return_to=lambda pk: reverse("webhook", args=[pk]))
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then replace the secret; the answer to the POST shows the new one."""
    endpoint = _own(request, pk)
    context = {"section": "agents", "endpoint": endpoint, "hours": round(endpoints.OVERLAP.total_seconds() / 3600)}
    if request.method == "POST":
        # The one before must go on signing.
        if was_used(request, _("The secret has already been replaced. The new one was shown once.")):
            return redirect("webhook", pk)
        mark_used(request)
        endpoints.rotate(endpoint)
        return render(request, "webhooks/rotate.html", context | {"made": endpoint})
    return render(request, "webhooks/rotate.html", context | {"nonce": new_nonce()})


@verb(lambda pk: reverse("webhook", args=[pk]))
def end_overlap(request: HttpRequest, pk: int) -> HttpResponse:
    """Let the former secret sign no more."""
    mine = WebhookEndpoint.objects.filter(pk=_own(request, pk).pk)
    mine.update(previous_secret="", previous_secret_until=None)
    messages.success(request, _("Only the new secret signs messages now."))
    return redirect("webhook", pk)


@verb(lambda pk: reverse("webhook", args=[pk]))
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    """Enable or disable a webhook."""
    endpoint = _own(request, pk)
    if request.POST.get("state") != "active":
        deliveries.disable(endpoint.pk, why=DisabledWhy.BY_PERSON)
        messages.success(request, _("The webhook is disabled. Nothing is sent until you enable it."))
        return redirect("webhook", pk)
    missed = endpoints.enable(endpoint)
    said = _("The webhook is enabled: new decisions are sent again.")
    if missed:
        said += " " + ngettext(
            "%(number)d message was missed. It can be sent again from the log.",
            "%(number)d messages were missed. Each can be sent again from the log.",
            missed,
        ) % {"number": missed}
    messages.success(request, said)
    return redirect("webhook", pk)


@verb(lambda pk: reverse("webhook", args=[pk]))
def send_test(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a test, and show the page where its result appears."""
    endpoint = _own(request, pk)
    key = f"webhook-tests:{viewer_of(request).pk}"
    if of_cache(lambda: rate_limit.hit(key, _TESTS, _MINUTE), False, event="webhook_test_not_counted"):
        messages.error(request, _("Too many tests. Wait a minute, then try again."))
        return redirect("webhook", pk)
    return redirect("webhook_delivery", pk, endpoints.send_test(endpoint).pk)


@partial(form_page, return_to=lambda pk: reverse("webhook", args=[pk]))
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then delete a webhook with its log."""
    endpoint = _own(request, pk)
    if request.method == "POST":
        endpoint.delete()
        messages.success(request, _("The webhook is deleted. Nothing more is sent to it."))
        return redirect("agent_webhooks", endpoint.agent.name)
    return render(request, "webhooks/delete.html", {"section": "agents", "endpoint": endpoint})


@reading_page
def delivery(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Show one message: what was sent, and every attempt. The part that changes is asked for again by itself."""
    endpoint = _own(request, pk)
    found = get_object_or_404(WebhookDelivery, endpoint=endpoint, pk=delivery)
    is_sent_soon = found.is_pending and not found.attempts
    context = about_agent(request, endpoint.agent) | {
        "tab": "delivery",
        "endpoint": endpoint,
        "delivery": found,
        "attempts": [_shown(each) for each in reversed(found.attempts)],
        "body": json.dumps(json.loads(found.body), indent=2),
        "is_sent_soon": is_sent_soon,
        "may_send_again": not found.is_test and endpoint.is_active,
    }
    part = bool(request.headers.get("HX-Request")) and request.headers.get("HX-Boosted") != "true"
    return render(request, "webhooks/delivery_state.html" if part else "agents/agent.html", context)


@verb(lambda pk, delivery: reverse("webhook_delivery", args=[pk, delivery]))
def send_again(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Send one message once more."""
    found = get_object_or_404(WebhookDelivery, endpoint=_own(request, pk), pk=delivery)
    try:
        endpoints.send_again(found)
    except endpoints.NotSendable:
        messages.error(request, _("It can’t be sent now: it is being sent, or the webhook is disabled."))
    return redirect("webhook_delivery", pk, delivery)


def _own(request: HttpRequest, pk: int) -> WebhookEndpoint:
    return get_object_or_404(endpoints.of_person(viewer_of(request)), pk=pk)


def _list(
    request: HttpRequest,
    context: dict[str, Any],
    form: NewEndpointForm,
    *,
    made: WebhookEndpoint | None = None,
    status: int = 200,
) -> HttpResponse:
    viewer, agent = viewer_of(request), context["agent"]
    context |= {
        "tab": "webhooks",
        "form": form,
        "made": made,
        "nonce": new_nonce(),
        "may_create": endpoints.may_create(viewer, agent),
        "endpoints": endpoints.of_person(viewer).filter(agent=agent),
        "others": endpoints.of_others_about(viewer, agent),
    }
    return render(request, "agents/agent.html", context, status=status)


def _page(request: HttpRequest, endpoint: WebhookEndpoint, form: EndpointForm, *, status: int = 200) -> HttpResponse:
    state = request.GET.get("state", "")
    shown = state if state in DeliveryState.values else ""
    before = request.GET.get("before", "")
    log = endpoint.deliveries.order_by("-pk")
    if shown:
        log = log.filter(state=shown)
    if (last := whole_number(before, digits=18)) is not None:
        log = log.filter(pk__lt=last)
    found = list(log[: PAGE + 1])
    counts = dict(endpoint.deliveries.order_by().values_list("state").annotate(Count("pk")))
    context = about_agent(request, endpoint.agent) | {
        "tab": "webhook",
        "endpoint": endpoint,
        "form": form,
        "serves": endpoints.serves(endpoint),
        "overlaps": len(deliveries.secrets_of(endpoint, timezone.now())) > 1,
        "missed": endpoints.missed_since_disabled(endpoint),
        "rows": [(each, _shown(each.attempts[-1]) if each.attempts else None) for each in found[:PAGE]],
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "is_first_page": not before,
        "shown": shown,
        "filters": [(state.value, state.label, counts[state]) for state in DeliveryState if state in counts],
        "total": sum(counts.values()),
    }
    return render(request, "agents/agent.html", context, status=status)


def _shown(attempt: dict[str, Any]) -> dict[str, Any]:
    """Return one attempt as the pages show it."""
    error = deliveries.ERRORS.get(attempt["error"], attempt["error"])
    return attempt | {"at": parse_datetime(attempt["at"]), "error": str(error)}
