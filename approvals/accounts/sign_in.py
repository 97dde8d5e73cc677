"""Signing in and out, passwords, and what happens to a form whose writer's session has run out.

Who may do what once signed in is `permissions`.
"""

import json
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import structlog
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.base import AuthProcess
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views as django_views
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.hashers import make_password
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.generic import FormView
from django_htmx.middleware import HtmxDetails
from requests import RequestException

from approvals import audit, language
from approvals.accounts.providers import TIME_ZONE
from approvals.forms.accounts import SignInForm
from approvals.models import User
from memory_app.runtime import background, rate_limit
from memory_app.runtime.workers import enqueue


def display_names(usernames: Iterable[str]) -> dict[str, str]:
    """Return the names of people by username, in one query."""
    people = User.objects.filter(username__in={username for username in usernames if username})
    return {person.username: person.display_name for person in people}


def viewer_of(request: HttpRequest) -> User:
    """Return the signed-in person, for views behind `login_required`, which an anonymous visitor never reaches."""
    return cast(User, request.user)


# -- How often a person may try to sign in, and ask for mails that reset a password.

WINDOW = timedelta(minutes=15)

#: Times the limit of one name: the attempts of one address for all names. Room for a class behind one address; too few
#: to try one password on every person.
_NAMES = 10


class AttemptLimiter:
    """The attempts for one name from one address (`SIGN_IN_LIMIT`), and all attempts from this address."""

    def __init__(self, what: str, request: HttpRequest, name: str) -> None:
        # As Django reads a name when it signs in: `ａlice` is alice.
        same = unicodedata.normalize("NFKC", name).strip().lower()
        address = audit.client_address(request)
        self._name = name
        self._of_address = rate_limit.key_of(what, address)
        self._of_name = rate_limit.key_of(what, f"{same}\n{address}")

    def hit(self) -> bool:
        """Count an attempt; return whether it exceeds the limit."""
        limit: int = settings.SIGN_IN_LIMIT
        # The address first: one that is stopped cannot fill the cache with names.
        for key, most in ((self._of_address, limit * _NAMES), (self._of_name, limit)):
            if rate_limit.hit(key, most, WINDOW):
                audit.limited(key, self._name, WINDOW)
                return True
        return False

    def forget(self) -> None:
        """Reset the count of the name, and take this attempt off that of the address."""
        rate_limit.reset(self._of_name)
        rate_limit.take_back(self._of_address)


# -- The demo's accounts, as the sign-in page names them: from a file that `manage.py demo` leaves beside the data.

_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


def write(password: str, what_by_username: Mapping[str, str]) -> str:
    """Write who may sign in with the demo's password; return its hash, which their rows get.

    The hash is the same with each run. By it the page knows who changed their password, without computing four more.
    """
    told = _read()
    encoded: str = told["hash"] if told.get("password") == password else make_password(password)
    accounts = {"password": password, "hash": encoded, "accounts": dict(what_by_username)}
    path = _path().with_suffix(".new")
    path.touch(mode=0o600)
    path.write_text(json.dumps(accounts, indent=2), encoding="utf-8")
    path.replace(_path())
    return encoded


def shown_to(request: HttpRequest) -> list[dict[str, str]]:
    """Return the demo's people who still have its password; none on a site that others may reach."""
    if not settings.DEBUG or urlsplit(f"//{request.get_host()}").hostname not in _THIS_MACHINE:
        return []
    told = _read()
    what_by_username = told.get("accounts", {})
    unchanged = User.objects.filter(username__in=what_by_username, password=told.get("hash"), is_active=True)
    usernames = set(unchanged.values_list("username", flat=True))
    shown = [(username, what) for username, what in what_by_username.items() if username in usernames]
    return [{"username": username, "password": told["password"], "what": what} for username, what in shown]


def _path() -> Path:
    return Path(settings.DATA_DIR) / "demo_accounts.json"


def _read() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_path().read_text(encoding="utf-8")) if _path().exists() else {}
    return told


# -- Mailing the link to choose a new password with: by a worker, by a thread of this process where there is none.

log = structlog.get_logger(__name__)

TASK = "approvals.send_password_link"

THREAD = "password mail"
#: Mails that wait for a slow mail server: of more than these the oldest are dropped, since people ask again.
_waiting: deque[str] = deque(maxlen=100)


def send_soon(email: str) -> None:
    """Enqueue a link for the account with this address, if there is one."""

    def here() -> None:
        _waiting.append(email)
        background.soon(THREAD, _send_what_waits)

    enqueue(TASK, email, otherwise=here)


class PasswordLinkForm(PasswordResetForm):
    """Writes to people in their language: the one who asks may be anybody."""

    def get_users(self, email: str) -> Iterator[User]:
        """Yield those with a password, and who was invited and has chosen none."""
        yield from super().get_users(email)
        invited = User.objects.filter(email__iexact=email, is_active=True, last_login=None, invited_at__isnull=False)
        yield from (user for user in invited if not user.has_usable_password())

    def send_mail(
        self, subject_template_name: str, email_template_name: str, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        with language.speaking_to(context["user"]):
            super().send_mail(subject_template_name, email_template_name, context, *args, **kwargs)


def send(email: str) -> None:
    """Send the link to the account with this address, if there is one. It names the site's own address, never the
    Host of a request."""
    form = PasswordLinkForm({"email": email})
    if not form.is_valid():
        return
    public = urlsplit(settings.PUBLIC_URL)
    form.save(
        domain_override=public.netloc,
        use_https=public.scheme == "https",
        email_template_name="registration/password_reset_email.txt",
        subject_template_name="registration/password_reset_subject.txt",
        extra_email_context={"public_url": settings.PUBLIC_URL},
    )


def _send_what_waits() -> None:
    while _waiting:
        try:
            send(_waiting.popleft())
        except Exception:  # the next one waits behind it
            log.exception("password_mail_failed")


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
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                viewer_of(request).people_of_request = {}
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
    fields: dict[str, str] = request.session.pop(_KEPT)["fields"]
    return fields


def typed_before(request: HttpRequest) -> dict[str, str]:
    """Return `kept_fields` for a form that saves something, with a message that nothing was saved yet."""
    fields = kept_fields(request)
    if fields:
        text = _("Welcome back. Nothing was saved while you were signed out. What you typed is still here.")
        messages.warning(request, text, extra_tags="unsaved")
    return fields


def ways_in() -> dict[str, Any]:
    """Return what the sign-in page offers beside passkeys."""
    return {"provider": settings.OIDC_PROVIDER and settings.OIDC_NAME, "has_passwords": settings.LOCAL_SIGN_IN}


def _ask_to_sign_in(request: HttpRequest, page: str) -> HttpResponse:
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    if request.method == "POST":
        fields = {name: value for name, value in request.POST.items() if name not in _NEVER_KEPT}
        # Of boxes with one name, `items` has only the last one that is ticked.
        fields |= {name: " ".join(request.POST.getlist(name)) for name in _OF_BOXES if name in fields}
        context = {
            "form": SignInForm(request),
            "next": page,
            "kept": signing.dumps({"page": page, "fields": fields}, salt=_KEPT_SALT, compress=True),
            **ways_in(),
        }
        if not htmx:
            return render(request, "registration/sign_in.html", context, status=401)
        response = render(request, "registration/sign_in_instead.html", context, status=401)
        response["HX-Retarget"] = "#content"
        response["HX-Reswap"] = "innerHTML"
        return response
    if htmx:
        # A part was asked for, not a page: say it there, and do not take the page away unasked.
        try:
            here = htmx.current_url_abs_path or reverse("inbox")
        except ValueError:  # no address at all: `http://[`
            here = reverse("inbox")
        return render(request, "registration/signed_out_part.html", {"next": here}, status=401)
    return django_views.redirect_to_login(request.get_full_path(), reverse("sign_in"))


def _too_many(view: FormView[Any], form: Any) -> HttpResponse:
    context = view.get_context_data(form=form, too_many_minutes=WINDOW.seconds // 60)
    return view.render_to_response(context, status=429, headers={"Retry-After": str(WINDOW.seconds)})


@method_decorator(never_cache, name="dispatch")
class SignIn(django_views.LoginView):
    """Allow ten attempts a quarter of an hour for one name from one address (`attempts`)."""

    template_name = "registration/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "provider" in request.POST and settings.OIDC_PROVIDER:
            return self._to_provider()
        name = request.POST.get("username", "")
        self._tries = AttemptLimiter("sign-in", request, name)
        # Without one of the two nothing is tried.
        if name and request.POST.get("password") and self._tries.hit():
            return _too_many(self, SignInForm(request))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        if not settings.LOCAL_SIGN_IN and not user.is_staff:
            form.add_error(None, _("Sign in with %(provider)s.") % {"provider": settings.OIDC_NAME})
            return self.form_invalid(form)
        self._tries.forget()
        self._remember()
        login = Login(user=user, redirect_url=self.get_success_url())
        return perform_password_login(self.request, {"username": user.username}, login)

    def _remember(self) -> None:
        """Keep for after the second factor, or the provider, what came with the form."""
        self.request.session[TIME_ZONE] = self.request.POST.get("time_zone", "")[:64]
        with suppress(signing.BadSignature):
            kept = signing.loads(self.request.POST.get("kept", ""), salt=_KEPT_SALT, max_age=_KEPT_FOR)
            self.request.session[_KEPT] = kept

    def _to_provider(self) -> HttpResponse:
        self._remember()
        provider = get_adapter().get_provider(self.request, settings.OIDC_PROVIDER)
        try:
            return provider.redirect(self.request, AuthProcess.LOGIN, next_url=self.get_success_url())
        except RequestException as error:
            return render_authentication_error(self.request, provider, exception=error)

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        is_asked_for = self.request.method == "POST" or "password" in self.request.GET
        shown = ways_in() | ({"has_passwords": True} if is_asked_for else {})
        shown |= {"kept": self.request.POST.get("kept", ""), "demo_accounts": shown_to(self.request)}
        return super().get_context_data(**kwargs) | shown


class PasswordReset(django_views.PasswordResetView):
    """Mails a link, after the answer. Throttled like signing in: each post may send a mail."""

    template_name = "registration/password_reset.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        email = request.POST.get("email", "")
        if email and AttemptLimiter("reset", request, email).hit():
            return _too_many(self, self.get_form_class()())
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        # No account is looked up here: the time that this and a mail server take would show who has one.
        send_soon(form.cleaned_data["email"])
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
