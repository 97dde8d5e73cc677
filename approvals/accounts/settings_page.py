"""The account page: what people set for themselves, and who may read their memory."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.accounts.sign_in import signed_in, typed_before, viewer_of
from approvals.forms.accounts import AccountForm
from approvals.models import Tutorship


@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Name, time zone and shortcuts; tutors and students are shown, and assigned by admins."""
    user = viewer_of(request)
    kept = typed_before(request)
    initial = {**kept, "shortcuts": "shortcuts" in kept} if kept else None
    form = AccountForm(request.POST or None, instance=user, initial=initial)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("settings")
    if form.errors:
        user.refresh_from_db()  # the frame shows the name, which a refused form must not change
    return render(
        request,
        "accounts/settings.html",
        {
            "section": "settings",
            "form": form,
            "tutors": Tutorship.objects.filter(owner=user).select_related("tutor").order_by("tutor__username"),
            "students": Tutorship.objects.filter(tutor=user).select_related("owner").order_by("owner__username"),
        },
        status=422 if form.errors else 200,
    )
