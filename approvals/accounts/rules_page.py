"""Rules of trust on the page of policies: owners make, change and delete their own; tutors read those of students."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.trust import NeedsForm, RuleForm, kinds_offered, needs_offered
from approvals.models import TrustRule, User
from approvals.review import trust
from approvals.review.trust.earned import rules_shown, suggestions
from approvals.services.trust.refusals import RuleGone, RuleInvalid, RuleTaken
from memory_app import reads

_HERE = "#rules"


def rules_context(user: User, typed: Mapping[str, str] | None = None, form: RuleForm | None = None) -> dict[str, Any]:
    """Return what the section of rules needs.

    Args:
        typed: what was chosen in the form before, such as while signed out.
        form: the form as it was refused.
    """
    owner = user.username
    chosen = dict(form.data.items()) if form else dict(typed or {})
    return {
        "rules": rules_shown(owner),
        "suggestions": suggestions(owner),
        "rule_agents": [agent.name for agent in trust.agents_serving(owner)],
        "rule_blocks": [(block.label, block.display_title) for block in reads.blocks(owner) if not block.read_only],
        "rule_kinds": kinds_offered(),
        "rule_needs": needs_offered(),
        "rule_chosen": chosen,
        "rule_errors": form.errors if form else {},
        "small_words": settings.TRUST_SMALL_WORDS,
        "small_percent": settings.TRUST_SMALL_DELETED_PERCENT,
    }


def students_rules(students: list[User]) -> list[tuple[User, list[TrustRule]]]:
    """Return the rules of those students who have some."""
    found = [(student, trust.rules_of(student.username)) for student in students]
    return [(student, rules) for student, rules in found if rules]


@signed_in(return_to=lambda: reverse("policies"))
@require_POST
def create(request: HttpRequest) -> HttpResponse:
    from approvals.accounts.policies_page import policies_page

    user = viewer_of(request)
    form = RuleForm(request.POST)
    if not form.is_valid():
        return policies_page(request, rule_form=form, status=422)
    try:
        rule = services.create_rule(actor=user, owner=user.username, **form.values())
    except RuleInvalid as error:
        form.add_error(error.field, error.message)
        return policies_page(request, rule_form=form, status=422)
    except RuleTaken as error:
        form.add_error(None, error.message)
        return policies_page(request, rule_form=form, status=409)
    said = trust.in_words(trust.as_data(rule))
    messages.success(request, _("Rule created: %(rule)s.") % {"rule": said})
    return redirect(reverse("policies") + _HERE)


@signed_in(return_to=lambda pk: reverse("policies"))
@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    user, form = viewer_of(request), NeedsForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Not changed: choose what happens."))
        return redirect(reverse("policies") + _HERE)
    needs = form.cleaned_data["needs"]

    def carry_out() -> str:
        rule = services.change_rule(actor=user, owner=user.username, rule_id=pk, needs=needs)
        return _("Rule changed: %(rule)s.") % {"rule": trust.in_words(trust.as_data(rule))}

    return _done(request, carry_out)


@signed_in(return_to=lambda pk: reverse("policies"))
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    user = viewer_of(request)

    def carry_out() -> str:
        rule = services.delete_rule(actor=user, owner=user.username, rule_id=pk)
        return _("Rule deleted: %(rule)s.") % {"rule": trust.in_words(trust.as_data(rule))}

    return _done(request, carry_out)


def _done(request: HttpRequest, carry_out: Callable[[], str]) -> HttpResponse:
    try:
        messages.success(request, carry_out())
    except (RuleGone, OverflowError):
        messages.error(request, _("This rule was deleted already."))
    return redirect(reverse("policies") + _HERE)
