"""Signing in and out, passwords, and what happens to a form whose writer's session has run out.

Who may do what once signed in is `permissions`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth import views as django_views
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from approvals.accounts import demo_accounts, password_mail
from approvals.accounts.attempts import WINDOW, AttemptLimiter
from approvals.forms.accounts import SignInForm, is_time_zone
from approvals.models import User
from approvals.views.request import Request

View = Callable[..., HttpResponse]

#: Where a signed-out person's form waits in the session for the page it belongs to.
_KEPT = "kept_form"
_KEPT_SALT = "approvals.kept_form"
_KEPT_FOR = timedelta(hours=12)
_OF_BOXES = frozenset({"accepted", "shown"})
_NEVER_KEPT = frozenset({"csrfmiddlewaretoken", "password"})


def signed_in(*, return_to: Callable[..., str] | None = None) -> Callable[[View], View]:
    """Let only signed-in people in. What others posted is kept until they have signed in.

    Args:
        return_to: the page whose form was posted, from the view's arguments; the view's own by default.
            That page gets the fields back from `kept_fields`.
    """

    def decorator(view: View) -> View:
        @wraps(view)
        def checked(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                return view(request, *args, **kwargs)
            page = return_to(**kwargs) if return_to else request.path
            return _ask_to_sign_in(request, page)

        return checked

    return decorator


def kept_fields(request: HttpRequest) -> dict[str, str]:
    """Return, once, the fields this person posted to this page while signed out."""
    kept = request.session.get(_KEPT)
    if not kept or kept["page"] != request.path:
        return {}
    del request.session[_KEPT]
    fields: dict[str, str] = kept["fields"]
    return fields


def typed_before(request: HttpRequest) -> dict[str, str]:
    """Return `kept_fields` for a form that saves something, with a message that nothing was saved yet."""
    fields = kept_fields(request)
    if fields:
        text = _("Welcome back. Nothing was saved while you were signed out. What you typed is still here.")
        messages.warning(request, text, extra_tags="unsaved")
    return fields


def _ask_to_sign_in(request: Request, page: str) -> HttpResponse:
    if request.method == "POST":
        fields = {name: value for name, value in request.POST.items() if name not in _NEVER_KEPT}
        # Of boxes with one name, `items` has only the last one that is ticked.
        fields |= {name: " ".join(request.POST.getlist(name)) for name in _OF_BOXES if name in fields}
        context = {
            "form": SignInForm(request),
            "next": page,
            "kept": signing.dumps({"page": page, "fields": fields}, salt=_KEPT_SALT, compress=True),
        }
        if not request.htmx:
            return render(request, "registration/sign_in.html", context, status=401)
        response = render(request, "registration/sign_in_instead.html", context, status=401)
        response["HX-Retarget"] = "#content"
        response["HX-Reswap"] = "innerHTML"
        return response
    if request.htmx:
        # A part was asked for, not a page: say it there, and do not take the page away unasked.
        try:
            here = request.htmx.current_url_abs_path or reverse("inbox")
        except ValueError:  # no address at all: `http://[`
            here = reverse("inbox")
        return render(request, "registration/signed_out_part.html", {"next": here}, status=401)
    return redirect_to_login(request.get_full_path(), reverse("sign_in"))


@method_decorator(never_cache, name="dispatch")
class SignIn(django_views.LoginView):
    """Allow ten attempts a quarter of an hour for one name from one address (`attempts`)."""

    template_name = "registration/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        self._tries = AttemptLimiter("sign-in", request, name)
        # Without one of the two nothing is tried.
        if name and request.POST.get("password") and self._tries.hit():
            response = self.render_to_response(
                self.get_context_data(form=SignInForm(request), too_many_minutes=WINDOW.seconds // 60),
                status=429,
            )
            response["Retry-After"] = str(WINDOW.seconds)
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        self._tries.forget()
        _take_time_zone(form.get_user(), self.request.POST.get("time_zone", ""))
        response = super().form_valid(form)
        kept = self._kept()
        if kept:
            self.request.session[_KEPT] = kept
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {
            "kept": self.request.POST.get("kept", ""),
            "demo_accounts": demo_accounts.shown_to(self.request),
        }

    def _kept(self) -> dict[str, Any] | None:
        text = self.request.POST.get("kept", "")
        if not text:
            return None
        try:
            kept: dict[str, Any] = signing.loads(text, salt=_KEPT_SALT, max_age=_KEPT_FOR)
        except signing.BadSignature:
            return None
        return kept


class PasswordReset(django_views.PasswordResetView):
    """Mails a link, after the answer. Throttled like signing in: each post may send a mail."""

    template_name = "registration/password_reset.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        email = request.POST.get("email", "")
        if email and AttemptLimiter("reset", request, email).hit():
            form = self.get_form_class()()
            context = self.get_context_data(form=form, too_many_minutes=WINDOW.seconds // 60)
            response = self.render_to_response(context, status=429)
            response["Retry-After"] = str(WINDOW.seconds)
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        # No account is looked up here: the time that this and a mail server take would show who has one.
        password_mail.send_soon(form.cleaned_data["email"])
        return redirect(self.get_success_url())


def local_path(request: HttpRequest, url: str, default: str) -> str:
    """Return `url` if it is a path on this site, else `default`; never an address of another site."""
    if url and url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        parts = urlsplit(url)
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        # `http://here//evil.example` is here; its path alone would be there. And a word without a slash is
        # taken for the name of a page by `redirect`.
        if path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None):
            return path
    return default


def _take_time_zone(user: User, zone: str) -> None:
    """At their first sign-in people get the zone their browser is in; from then on it is their setting."""
    if user.last_login is None and user.time_zone == "UTC" and is_time_zone(zone):
        user.time_zone = zone
        user.save(update_fields=["time_zone"])


__all__ = ["PasswordReset", "SignIn", "kept_fields", "local_path", "signed_in", "typed_before"]
