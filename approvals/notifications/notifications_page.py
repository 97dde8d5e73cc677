"""`/settings/notifications/`: how often mail comes, the private address of the feed, and notices of this browser."""

import secrets

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from approvals.accounts.sign_in import typed_before, viewer_of
from approvals.forms.accounts import MailForm
from approvals.models import User
from approvals.notifications.feed import feed_url
from approvals.views.request import form_page, verb


@form_page
@never_cache
def notifications(request: HttpRequest) -> HttpResponse:
    """Show and save how often mail comes, and where to. Saving tries an address again that refused mail."""
    user = viewer_of(request)
    form = MailForm(request.POST or None, instance=user, initial=typed_before(request) or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("notifications")
    if form.errors:
        user.refresh_from_db()
    context = {
        "section": "settings",
        "form": form,
        "chosen": form["mail"].value(),
        "mail_failure": user.mail_failure,
        "mail_to": user.email,
        "mail_hour": f"{settings.MAIL_HOUR}:00",
        "feed_url": feed_url(user) if user.feed_key else "",
    }
    return render(request, "notifications/settings.html", context, status=422 if form.errors else 200)


@verb(lambda: reverse("notifications"))
@never_cache
def feed_address(request: HttpRequest) -> HttpResponse:
    """Make a new address of the feed, which ends the old one, or end it."""
    user = viewer_of(request)
    is_on = request.POST.get("feed") == "on"
    User.objects.filter(pk=user.pk).update(feed_key=secrets.token_urlsafe(32) if is_on else "")
    if is_on:
        messages.success(request, _("The feed has a new address. Earlier ones no longer work."))
    else:
        messages.success(request, _("The feed is off. Its address no longer works."))
    return redirect("notifications")
