"""The pages of Settings: what people set for themselves and who may read their memory; and what agents may do without
asking: the policy for notes, and rules of trust.
"""

import secrets
from tempfile import TemporaryFile
from typing import cast

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from approvals import audit, language, services
from approvals.accounts import own_data
from approvals.accounts.sessions import end_sessions, sessions_of
from approvals.accounts.sign_in import display_names, typed_before, viewer_of
from approvals.forms.accounts import KINDS, AccountForm, NeedsForm, PolicyForm, RuleForm
from approvals.models import AuditEvent, Policy, TrustRule, Tutorship, User
from approvals.review import trust
from approvals.services.errors import Refusal
from approvals.views.request import form_page, verb
from memory_app import reads
from memory_app.runtime import deadlines, turns

#: Seconds that a download of everything may take.
_DOWNLOAD_SECONDS = 600
#: Rows of the table of who looked at one's memory.
MOST_LOOKS = 20


@form_page
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """Show and save name, mail, time zone and shortcuts; show the feed, and the tutors, whom admins assign."""
    user = viewer_of(request)
    kept = typed_before(request)
    initial = {**kept, "shortcuts": "shortcuts" in kept} if kept else None
    form = AccountForm(request.POST or None, instance=user, initial=initial)
    if request.method == "POST" and form.is_valid():
        if "email" in form.changed_data:  # links to new passwords are mailed there
            raise_if_reauthentication_required(request, app="account")
        form.save()
        with translation.override(language.chosen_by(user) or language.of_browser(request)):
            messages.success(request, _("Saved."))
        return redirect("settings")
    if form.errors:
        user.refresh_from_db()  # the frame shows the name, which a refused form must not change
    looks = AuditEvent.objects.filter(owner=user.username, what=AuditEvent.Act.OPENED)[:MOST_LOOKS]
    names = display_names({look.actor for look in looks})
    return render(
        request,
        "accounts/settings.html",
        {
            "section": "settings",
            "form": form,
            "looked": [(names.get(look.actor, look.actor), audit.in_words(look.detail), look.at) for look in looks],
            "sessions": sessions_of(user),
            "provider": settings.OIDC_PROVIDER and settings.OIDC_NAME,
            "tutors": Tutorship.objects.filter(owner=user).select_related("tutor").order_by("tutor__username"),
        },
        status=422 if form.errors else 200,
    )


@verb(lambda: reverse("settings"))
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End one of the viewer's other sessions, or all others."""
    ended = end_sessions(viewer_of(request), request.POST.get("session", ""), request.session.session_key)
    if ended:
        said = ngettext("Signed out in one other place.", "Signed out in %(number)d other places.", ended)
        messages.success(request, said % {"number": ended})
    else:
        messages.warning(request, _("You were signed out there already."))
    return redirect(reverse("settings") + "#sessions")


@verb(lambda: reverse("settings"))
def download(request: HttpRequest) -> HttpResponse:
    """Send everything about the viewer as one file, made before it is sent: what fails is a page, not half a file."""
    person, file = viewer_of(request), TemporaryFile()  # noqa: SIM115 (the answer closes it)
    deadlines.allow(_DOWNLOAD_SECONDS)
    try:
        with turns.taken(f"data of {person.pk}"):
            own_data.write(person, file)
    except turns.Taken:
        return render(request, "429.html", status=429)
    audit.record(AuditEvent.Act.DOWNLOADED, owner=person.username)
    file.seek(0)
    return cast(HttpResponse, FileResponse(file, as_attachment=True, filename=f"{person.username}.zip"))


@verb(lambda: reverse("settings"))
def feed_address(request: HttpRequest) -> HttpResponse:
    """Make a new address of the feed, which ends the old one, or end it."""
    key, said = "", _("The feed is off. Its address no longer works.")
    if request.POST.get("feed") == "on":
        key, said = secrets.token_urlsafe(32), _("The feed has a new address. Earlier ones no longer work.")
    User.objects.filter(pk=viewer_of(request).pk).update(feed_key=key)
    messages.success(request, said)
    return redirect(reverse("settings") + "#feed")


@verb(lambda: reverse("policies"))
def create_rule(request: HttpRequest) -> HttpResponse:
    user = viewer_of(request)
    form = RuleForm(request.POST)
    if not form.is_valid():
        return policies_page(request, rule_form=form, status=422)
    try:
        rule = services.create_rule(actor=user, owner=user.username, **form.cleaned_data)
    except Refusal as error:
        form.add_error(error.details.get("field"), error.message)
        return policies_page(request, rule_form=form, status=error.status)
    return _to_rules(request, _("Rule created: %(rule)s."), rule)


@verb(lambda pk, deletes=False: reverse("policies"))
def change_rule(request: HttpRequest, pk: int, *, deletes: bool = False) -> HttpResponse:
    """Change what a rule asks for, or delete it."""
    user, form = viewer_of(request), NeedsForm(request.POST)
    if not deletes and not form.is_valid():
        return _to_rules(request, _("Not changed: choose what happens."))
    try:
        if deletes:
            rule = services.delete_rule(actor=user, owner=user.username, rule_id=pk)
            return _to_rules(request, _("Rule deleted: %(rule)s."), rule)
        rule = services.change_rule(actor=user, owner=user.username, rule_id=pk, needs=form.cleaned_data["needs"])
        return _to_rules(request, _("Rule changed: %(rule)s."), rule)
    except (Refusal, OverflowError):
        return _to_rules(request, _("This rule was deleted already."))


def _to_rules(request: HttpRequest, said: str, rule: TrustRule | None = None) -> HttpResponse:
    """Go back to the rules and say what was done with one; without one, what went wrong."""
    if rule:
        messages.success(request, said % {"rule": trust.in_words(trust.as_data(rule))})
    else:
        messages.error(request, said)
    return redirect(reverse("policies") + "#rules")


@form_page
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
    students = Tutorship.objects.filter(tutor=user).values("owner")
    people = trust.chosen_by(User.objects.filter(Q(pk=user.pk) | Q(pk__in=students)).order_by("username"))
    agents = trust.agents_serving(user.username)
    ((_user, notes, own),) = (each for each in people if each[0] == user)
    form = form or PolicyForm(initial={"notes": kept.get("notes", notes)})
    rules, offered = trust.rules_with_records(user.username, own, agents, notes_wait=not trust.applies(notes))
    context = {
        "section": "settings",
        "form": form,
        "chosen": form["notes"].value() or "",
        "site_applies": settings.NOTES_POLICY == Policy.Notes.APPLY,
        "students": [(each, trust.applies(chose), theirs) for each, chose, theirs in people if each != user],
        "rules": rules,
        "suggestions": offered,
        "rule_agents": [agent.name for agent in agents],
        "rule_blocks": [block for block in reads.blocks(user.username) if not block.read_only],
        "rule_kinds": [(kind.value, trust.kind_in_words(kind)) for kind in KINDS],
        "rule_needs": TrustRule.Needs.choices,
        "rule_chosen": rule_form.data if rule_form else kept,
        "rule_errors": rule_form.errors if rule_form else {},
        "small_words": settings.TRUST_SMALL_WORDS,
        "small_percent": settings.TRUST_SMALL_DELETED_PERCENT,
    }
    return render(request, "accounts/policies.html", context, status=status)
