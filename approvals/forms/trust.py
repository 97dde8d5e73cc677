"""The forms of rules of trust. What a rule may say is `services.trust.rules`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.models import Kind, TrustRule
from approvals.review import trust

#: Kinds a rule may name, in the order they are offered. Deletions always ask.
KINDS = (Kind.EDIT, Kind.REWRITE, Kind.CREATE_BLOCK, Kind.SAVE, Kind.UPDATE, Kind.FORGET, Kind.IMPORT)


class RuleForm(forms.Form):
    """A new rule, in the order of its sentence: who, where, what, then."""

    agent = forms.CharField(required=False, max_length=64)
    block = forms.CharField(required=False, max_length=64)
    kind = forms.CharField(required=False, max_length=16)
    needs = forms.ChoiceField(choices=TrustRule.Needs.choices, error_messages={"required": _("Choose what happens.")})

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("agent", "block", "kind", "needs")}


class NeedsForm(forms.Form):
    """What an existing rule asks for."""

    needs = forms.ChoiceField(choices=TrustRule.Needs.choices)


def kinds_offered() -> list[tuple[str, str]]:
    return [(kind.value, trust.kind_in_words(kind)) for kind in KINDS]


def needs_offered() -> list[tuple[str, str]]:
    return [(needs.value, trust.needs_in_words(needs)) for needs in TrustRule.Needs]
