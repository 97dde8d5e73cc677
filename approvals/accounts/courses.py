"""Tutorships: those that follow from courses, a row for each tutor and student who share one, and those given by hand.

Derived rows, since every page asks who may read whom, in joins of many queries. Not here: what a tutorship allows
(`approvals.permissions`).
"""

from collections.abc import Collection

from django.db import transaction

from approvals import audit
from approvals.models import AuditEvent, Course, Tutorship, User
from memory_app.databases.prepared import batched

#: Ids in one statement: SQLite takes 32,766 parameters.
_MOST_IDS = 10_000


def lock(name: str) -> Course:
    """Return the course of this name, made if needed, and locked until the transaction ends: before changing it."""
    return Course.objects.select_for_update().get_or_create(name=name)[0]


def give(tutor: User, owners: Collection[User], *, actor: str) -> None:
    """Give a person tutorships that stay whatever the courses say; `actor` is the username for the record."""
    given = [Tutorship(tutor=tutor, owner=owner) for owner in owners]
    Tutorship.objects.bulk_create(
        given, 500, update_conflicts=True, update_fields=["by_hand"], unique_fields=["tutor", "owner"]
    )
    audit.record_all(AuditEvent.Act.TUTOR_ASSIGNED, [(str(owner), str(tutor)) for owner in owners], actor=actor)


def keep_tutorships(owners: Collection[int], *, actor: str | None = None) -> None:
    """Give and take the tutorships of these students so that they are what their courses say. Idempotent.

    Those given by hand stay. Call it in the transaction that changed a course, or afterwards.

    Args:
        actor: a username for the record; by default the person of the request.
    """
    for some in batched(sorted(owners), _MOST_IDS):
        with transaction.atomic():
            _keep(some, actor)


def _keep(owners: Collection[int], actor: str | None) -> None:
    # Two courses that lose the same student at once would each leave the tutorship to the other.
    people = User.objects.select_for_update(no_key=True).filter(pk__in=owners).order_by("pk")
    names = dict(people.values_list("pk", "username"))
    in_courses = Course.students.through.objects.filter(user__in=owners, course__tutors__isnull=False)
    wanted = {pair for pair in in_courses.values_list("course__tutors", "user") if pair[0] != pair[1]}
    rows = {(row.tutor_id, row.owner_id): row for row in Tutorship.objects.filter(owner__in=owners)}
    gone = [row for pair, row in rows.items() if not row.by_hand and pair not in wanted]
    new = [Tutorship(tutor_id=tutor, owner_id=owner, by_hand=False) for tutor, owner in sorted(wanted - {*rows})]
    Tutorship.objects.filter(pk__in=[row.pk for row in gone]).delete()
    Tutorship.objects.bulk_create(new, 500)
    tutors = User.objects.in_bulk({row.tutor_id for row in (*gone, *new)})
    for what, changed in ((AuditEvent.Act.TUTOR_REMOVED, gone), (AuditEvent.Act.TUTOR_ASSIGNED, new)):
        about = [(names[row.owner_id], tutors[row.tutor_id].username) for row in changed]
        audit.record_all(what, about, actor=actor)
