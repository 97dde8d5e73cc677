"""What a person types about a webhook: its agent, address and events."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from agent_tools.models import EventType, WebhookEndpoint
from agent_tools.webhooks import endpoints
from agent_tools.webhooks.addresses import LONGEST, AddressInvalid, checked_url
from approvals.models import Agent, User

_USUAL = [each.value for each in EventType.selectable() if each is not EventType.COMMENTED]


class EndpointForm(forms.Form):
    """Address and events of a webhook there is."""

    url = forms.CharField(
        label=_("Address"),
        max_length=LONGEST,
        help_text=_("Where the agent’s service receives messages, beginning with https://."),
        widget=forms.URLInput(attrs={"spellcheck": "false", "autocomplete": "off", "dir": "ltr"}),
    )
    events = forms.MultipleChoiceField(
        label=_("Send a message when"),
        choices=[(each.value, each.label) for each in EventType.selectable()],
        initial=_USUAL,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )

    @classmethod
    def of(cls, endpoint: WebhookEndpoint) -> EndpointForm:
        return cls(initial={"url": endpoint.url, "events": endpoint.events})

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        try:
            checked_url(url, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
        except AddressInvalid as error:
            raise forms.ValidationError(error.reason) from None
        return url


class NewEndpointForm(EndpointForm):
    """A new webhook; `agent` is one of those that serve the person."""

    agent = forms.ChoiceField(label=_("Agent"))
    everyone = forms.BooleanField(
        label=_("For everyone whose memory this agent may read, not only you"), required=False
    )
    field_order = ["agent", "url", "events", "everyone"]

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._agents = {agent.name: agent for agent in endpoints.selectable_agents(person)}
        self.fields["agent"].choices = [(name, name) for name in self._agents]  # type: ignore[attr-defined]
        if not person.is_staff:
            del self.fields["everyone"]

    @property
    def chosen_agent(self) -> Agent:
        return self._agents[self.cleaned_data["agent"]]
