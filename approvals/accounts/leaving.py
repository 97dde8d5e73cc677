"""People who leave: their account is deactivated, what they had is handed over, and their personal data deleted.

What waits about them stays, and their tutors and staff can read it. The username stays taken: history names it.
"""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.db.models import CASCADE, QuerySet
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from approvals import audit
from approvals.accounts import courses
from approvals.models import Event, OwnerCounts, Proposal
from approvals.models.people import Agent, AuditEvent, BrowserSession, Tutorship, User
from approvals.permissions import may_decide
from approvals.services import erasing, events
from memory_app.models import Change, Message


class CannotLeave(Exception):
    """Somebody has to stay, or cannot take over; the message says why."""


#: Other apps add what ends with tokens, webhooks and connections: titles and rows of a person, and how these end.
endings: list[tuple[StrOrPromise, Callable[[User], QuerySet[Any]], Callable[[QuerySet[Any]], object]]] = [
    (gettext_lazy("sessions"), lambda person: BrowserSession.objects.filter(user=person), QuerySet.delete),
]

#: Rows about a person that stay when the account is deleted: what admins did, and counts kept by triggers.
_KEPT = (LogEntry, OwnerCounts)


def what_happens(person: User) -> str:
    """Return as lines of a text what ends, what is handed over or ends, and what stays, with numbers."""
    context = {
        "person": person,
        "endings": [(title, rows(person).count()) for title, rows, _end in endings],
        "assigned": _assigned(person).count(),
        "waiting": Proposal.objects.pending().of_owner(person.username).count(),
        "changes": Change.objects.filter(owner=person.username).count(),
        "messages": Message.objects.filter(owner=person.username).count(),
    }
    return render_to_string("accounts/leaving.txt", context)


def leave(person: User, *, by: User | None, hand_over_to: User | None = None, deletes: bool = False) -> None:
    """Deactivate a person and end what they had. Repeated, it ends what is left.

    Args:
        by: an admin; None on the command line.
        hand_over_to: who gets their students, agents and the proposals assigned to them; without, these end.
        deletes: erase the personal data too, and the memory (`services.erasing`).

    Raises:
        CannotLeave: nothing was changed.
    """
    if person == by or (by and (person.is_staff or person.is_superuser) and not by.is_superuser):
        raise CannotLeave(_("Only another superuser makes an admin leave."))
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    if person.is_superuser and not others.exists():
        raise CannotLeave(_("This is the last superuser."))
    if hand_over_to and (hand_over_to == person or not hand_over_to.is_active):
        raise CannotLeave(_("Hand over to another person, who is active."))
    with transaction.atomic():
        _hand_over(person, hand_over_to, by)
        for _title, rows, end in endings:
            end(rows(person))
        User.objects.filter(pk=person.pk).update(is_active=False, invitation_due=False, feed_key="")
        said = f"{'deleted' if deletes else 'deactivated'}, handed over to {hand_over_to or 'nobody'}"
        audit.record(AuditEvent.Act.LEFT, owner=person.username, detail=said, actor=by.username if by else "")
        if deletes:
            try:
                erasing.ask(by=by, owner=person.username)
            except OSError as error:
                raise CannotLeave(str(error)) from error
            _erase_account(person)
    person.refresh_from_db()


def _assigned(person: User) -> QuerySet[Proposal]:
    return Proposal.objects.pending().filter(assigned_to=person)


def _hand_over(person: User, to: User | None, by: User | None) -> None:
    actor = by.username if by else ""
    given = Tutorship.objects.filter(tutor=person, by_hand=True).select_related("owner")
    owners = [row.owner for row in given]
    if to:
        courses.give(to, [owner for owner in owners if owner != to], actor=actor)
        Agent.objects.filter(created_by=person).update(created_by=to)
    given.update(by_hand=False)
    students = {owner.pk for owner in owners}
    for course in map(courses.lock, person.courses_tutored.values_list("name", flat=True).order_by("pk")):
        course.tutors.remove(person)
        course.tutors.add(*filter(None, [to]))
        students.update(course.students.values_list("pk", flat=True))
    courses.keep_tutorships(students, actor=actor)
    for proposal in _assigned(person).select_for_update():
        proposal.assigned_to = to if to and may_decide(to, proposal.owner) else None
        proposal.save(update_fields=["assigned_to", "updated_at"])
        events.record(proposal, Event.What.ASSIGNED, actor=by, to=str(proposal.assigned_to or ""))


def _erase_account(person: User) -> None:
    """Blank what the account says about a person, and delete what belongs to it: sign-ins, factors, filters, looks."""
    # The hidden ones are rows of courses, groups, rights, and tokens that serve them.
    relations: Any = User._meta.get_fields(include_hidden=True)
    for relation in relations:
        if getattr(relation, "on_delete", None) is CASCADE and relation.related_model not in _KEPT:
            relation.related_model._default_manager.filter(**{relation.field.name: person}).delete()
    Tutorship.objects.filter(owner=person).delete()
    kept = {name: getattr(person, name) for name in ("pk", "username", "date_joined")}
    blank = User(**kept, is_active=False)
    blank.set_unusable_password()
    blank.save()
