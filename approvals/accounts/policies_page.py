"""What owners let agents do without asking. Each sets their own; tutors see that of their students."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.accounts import PolicyForm
from approvals.models import Policy, Tutorship
from approvals.review.policies import notes_apply_at_once


@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def policies(request: HttpRequest) -> HttpResponse:
    """Show the policy for notes about oneself, and, read-only, those of one's students."""
    user = viewer_of(request)
    policy = Policy.objects.filter(owner=user.username).first() or Policy(owner=user.username)
    form = PolicyForm(request.POST or None, instance=policy)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("policies")
    students = Tutorship.objects.filter(tutor=user).select_related("owner").order_by("owner__username")
    context = {
        "section": "settings",
        "form": form,
        "chosen": form["notes"].value() or "",
        "site_applies": settings.NOTES_POLICY == Policy.Notes.APPLY,
        "students": [(each.owner, notes_apply_at_once(each.owner.username)) for each in students],
    }
    return render(request, "accounts/policies.html", context, status=422 if form.errors else 200)
