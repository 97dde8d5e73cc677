"""What owners let agents do without asking. Each sets their own; tutors see that of their students."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.accounts.rules_page import rules_context, students_rules
from approvals.accounts.sign_in import signed_in, typed_before
from approvals.accounts.viewer import viewer_of
from approvals.forms.accounts import PolicyForm
from approvals.forms.trust import RuleForm
from approvals.models import Policy, Tutorship
from approvals.review.trust.policies import notes_apply_at_once


@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def policies(request: HttpRequest) -> HttpResponse:
    """Show the policy for notes about oneself and one's rules, and, read-only, those of one's students."""
    if request.method != "POST":
        return policies_page(request)
    user = viewer_of(request)
    policy = Policy.objects.filter(owner=user.username).first() or Policy(owner=user.username)
    form = PolicyForm(request.POST, instance=policy)
    if not form.is_valid():
        return policies_page(request, form=form, status=422)
    form.save()
    messages.success(request, _("Saved."))
    return redirect("policies")


def policies_page(
    request: HttpRequest, *, form: PolicyForm | None = None, rule_form: RuleForm | None = None, status: int = 200
) -> HttpResponse:
    """Render the page, with a form as it was refused."""
    user = viewer_of(request)
    kept = typed_before(request) if request.method == "GET" else {}
    if form is None:
        policy = Policy.objects.filter(owner=user.username).first() or Policy(owner=user.username)
        form = PolicyForm(instance=policy, initial={"notes": kept["notes"]} if "notes" in kept else None)
    tutorships = Tutorship.objects.filter(tutor=user).select_related("owner").order_by("owner__username")
    students = [each.owner for each in tutorships]
    context = {
        "section": "settings",
        "form": form,
        "chosen": form["notes"].value() or "",
        "site_applies": settings.NOTES_POLICY == Policy.Notes.APPLY,
        "students": [(student, notes_apply_at_once(student.username)) for student in students],
        "students_rules": students_rules(students),
        **rules_context(user, kept, rule_form),
    }
    return render(request, "accounts/policies.html", context, status=status)
