"""People as a CSV file: reading one, what each line would do, doing it, and writing the present people as one.

An empty cell changes nothing, and neither does a person who is not in the file; `-` empties. Documented in
docs/deploying.md, section "People". Not here: what ends when somebody leaves (`leaving`).
"""

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import SimpleNamespace
from typing import Any

from django import forms
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Value
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from approvals.accounts import courses, invitations, leaving
from approvals.models import Course, Tutorship, User
from memory_app.databases.prepared import batched
from memory_app.models import Change

COLUMNS = ("username", "first name", "last name", "mail", "groups", "tutors", "role", "leaves")
_FIELDS = {"first name": "first_name", "last name": "last_name", "mail": "email"}
#: What empties a cell's value, and what divides several.
NOTHING, DIVIDER = "-", ";"
#: Where cells are that no column names.
_EXTRA = ""

#: Days as the documents write them, and as Excel makes of these in German and other languages.
_DAY = forms.DateField(input_formats=("%Y-%m-%d", "%d.%m.%Y"))

#: Lines applied in one transaction.
_AT_ONCE = 200

#: What a person may have several of, courses and tutors given by hand → what gaining and losing one is called.
_BONDS = {
    "courses": (gettext_lazy("joins %s"), gettext_lazy("leaves %s")),
    "courses_tutored": (gettext_lazy("becomes tutor of %s"), gettext_lazy("is no longer tutor of %s")),
    "tutors": (gettext_lazy("gets the tutor %s"), gettext_lazy("loses the tutor %s")),
}


class Unreadable(Exception):
    """The file cannot be read as people; the message says why."""


@dataclass
class Line:
    """A line of the file, and what would become of its person.

    Args:
        person: None for a new one.
        values: fields of the account with their new values.
        gains, loses: a key of `_BONDS` and a name each.
    """

    number: int
    username: str
    cells: dict[str, str]
    person: User | None = None
    values: dict[str, str] = field(default_factory=dict)
    gains: set[tuple[str, str]] = field(default_factory=set)
    loses: set[tuple[str, str]] = field(default_factory=set)
    leaves: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def gets_tutors(self) -> bool:
        return any(kind == "tutors" for kind, _name in self.gains)

    @property
    def effects(self) -> list[str]:
        """Return what it does, in a few words each; empty where it changes nothing."""
        said = [] if self.person else [_("new")]
        for name, value in self.values.items() if self.person else ():
            changed = {"what": _called(name), "old": getattr(self.person, name), "new": value}
            said.append(_("%(what)s changes from “%(old)s” to “%(new)s”") % changed)
        said += [_BONDS[kind][0] % name for kind, name in sorted(self.gains)]
        said += [_BONDS[kind][1] % name for kind, name in sorted(self.loses)]
        return [*said, _("leaves")] if self.leaves else said


def _called(name: str) -> StrOrPromise:
    """Return what people call a field of an account."""
    return User._meta.get_field(name).verbose_name  # type: ignore[union-attr]


# -- Reading.


def read(data: bytes) -> list[Line]:
    """Return the lines of a file in UTF-8 or, as Excel writes, cp1252, with commas, semicolons or tabs.

    Raises Unreadable.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    if "\0" in text or "\ufffd" in text:
        raise Unreadable(_("It is neither UTF-8 nor cp1252. Save it as “CSV UTF-8”."))
    text = unicodedata.normalize("NFC", text)  # as one course has one name, whatever made the file
    head = text.partition("\n")[0]
    rows = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), restkey=_EXTRA, restval="", strict=True
    )
    try:
        columns = [" ".join(name.lower().replace("_", " ").split()) for name in rows.fieldnames or ()]
        while columns and not columns[-1]:  # Excel writes columns and rows that were emptied
            columns.pop()
        if "username" not in columns or len({*columns} & {*COLUMNS}) < len(columns):
            unknown = ", ".join(f"“{name}”" for name in columns if name not in COLUMNS)
            said = _("The first line has to name columns, each once, username among them, of these: %s. Unknown: %s.")
            raise Unreadable(said % (", ".join(COLUMNS), unknown or "-"))
        rows.fieldnames = columns
        return [_line(rows.line_num, row) for row in rows if "".join(chain(*row.values())).strip()]
    except csv.Error as error:
        raise Unreadable(_("Line %(number)d: %(error)s.") % {"number": rows.line_num + 1, "error": error}) from error


def _line(number: int, row: dict[str, Any]) -> Line:
    extra = row.pop(_EXTRA, ())
    # As `as_cell` wrote it.
    plain = {name: cell[1:] if as_cell(cell[1:]) == cell else cell.strip() for name, cell in row.items()}
    errors = [_("It has more cells than there are columns.")] if any(extra) else []
    return Line(number, plain["username"], dict.fromkeys(COLUMNS, "") | plain, errors=errors)


# -- What each line would do.


def _bonds() -> defaultdict[tuple[str, str], set[str]]:
    """Return the names that everybody has of each kind of `_BONDS`, by kind and username."""
    held = defaultdict[tuple[str, str], set[str]](set)
    by_hand = Tutorship.objects.filter(by_hand=True)
    for kind, username, name in chain(
        Course.objects.values_list(Value("courses"), "students__username", "name"),
        Course.objects.values_list(Value("courses_tutored"), "tutors__username", "name"),
        by_hand.values_list(Value("tutors"), "owner__username", "tutor__username"),
    ):
        held[kind, username].add(name)
    return held


def plan(data: bytes) -> list[Line]:
    """Return what each line of a file would do, with its errors; nothing is changed. Raises Unreadable."""
    lines, held, seen = read(data), _bonds(), dict[str, int]()
    usernames = {line.username for line in lines}
    people = User.objects.in_bulk(usernames, field_name="username")
    of_history = set[str]()
    for some in batched([*usernames]):
        of_history.update(Change.objects.filter(owner__in=some).values_list("owner", flat=True).distinct())
    for line in lines:
        if (first := seen.setdefault(line.username, line.number)) != line.number:
            line.errors.append(_("Line %d is about this person too.") % first)
        line.person = people.get(line.username)
        if line.person is None and line.username in of_history:
            line.errors.append(_("The history has this username, and usernames are never used again."))
        _compare(line)
        _compare_bonds(line, held)
        _compare_end(line)
        if line.person and (line.person.is_staff or line.person.is_superuser) and line.effects:
            line.errors.append(_("Admins are changed in the admin, not by a file."))
    active = {line.username for line in lines if not (line.person or line.errors or line.gets_tutors)}
    active.update(User.objects.filter(is_active=True).values_list("username", flat=True))
    active.difference_update(line.username for line in lines if line.leaves)
    for line in lines:
        for name in sorted(name for kind, name in line.gains if kind == "tutors" and name not in active):
            line.errors.append(_("There is nobody active called %s to be a tutor.") % name)
    return lines


def _compare(line: Line) -> None:
    person = line.person or User(username=line.username)
    for column, name in _FIELDS.items():
        value = "" if line.cells[column] == NOTHING else line.cells[column] or getattr(person, name)
        if value != getattr(person, name):
            line.values[name] = value
    try:
        unchanged = {each.name for each in User._meta.fields} - {"username", *line.values}
        User(username=line.username, **line.values).clean_fields(unchanged)
    except ValidationError as error:
        line.errors += [f"{_called(name)}: {' '.join(said)}" for name, said in error.message_dict.items()]


def _compare_bonds(line: Line, held: defaultdict[tuple[str, str], set[str]]) -> None:
    role = line.cells["role"].lower() or ("tutor" if held["courses_tutored", line.username] else "student")
    if role not in ("student", "tutor"):
        line.errors.append(_("The role is student or tutor."))
    for kind, cell in (("courses" if role == "student" else "courses_tutored", "groups"), ("tutors", "tutors")):
        wanted = {each.strip() for each in line.cells[cell].split(DIVIDER)} - {"", NOTHING}
        now = held[kind, line.username]
        if any(len(name) > 100 for name in wanted) or (kind == "tutors" and line.username in wanted):
            line.errors.append(_("A group has up to 100 characters, and nobody is their own tutor."))
        line.gains |= {(kind, name) for name in wanted - now}
        line.loses |= {(kind, name) for name in now - wanted if line.cells[cell]}


def _compare_end(line: Line) -> None:
    """See whether a person leaves or has left. A day that is still to come does nothing until then."""
    cell, today = line.cells["leaves"].lower(), timezone.localdate()
    try:
        end = None if cell in ("", "no", NOTHING) else today if cell == "yes" else _DAY.clean(cell)
    except ValidationError:
        line.errors.append(_("“leaves” is yes, no or a day, such as 2027-07-31."))
        return
    is_over = end is not None and end <= today
    line.leaves = is_over and (line.person is None or line.person.is_active)
    if line.leaves and line.person is None:
        line.errors.append(_("There is nobody of this username who could leave."))
    if line.person and not line.person.is_active:
        # The file goes on naming them: what was erased of their account stays so.
        line.values, line.gains, line.loses = {}, set(), set()
        if not is_over:
            line.errors.append(_("Someone who left has this username. If they are back, activate them in the admin."))


# -- Doing it.


def apply(lines: Collection[Line], *, by: User | None, invites: bool) -> int:
    """Do what the lines say, but those with errors; return how many did something.

    Each line is done whole or not at all, together with others. After a failure, a new plan has what is left.

    Args:
        by: an admin; None on the command line.
        invites: mail new people a link to choose their password, and again those whose address changes before.
    """
    todo = [line for line in lines if line.effects and not line.errors]
    # Who is named as a tutor is there before.
    todo.sort(key=lambda line: line.gets_tutors)
    for some in batched(todo, _AT_ONCE):
        with transaction.atomic():
            _apply(some, by, invites)
    return len(todo)


def _apply(lines: Collection[Line], by: User | None, invites: bool) -> None:
    password, actor = make_password(None), by.username if by else ""
    new = [User(username=line.username, password=password, **line.values) for line in lines if not line.person]
    User.objects.bulk_create(new)
    for line in lines:
        if line.person and line.values:
            User.objects.filter(pk=line.person.pk).update(**line.values, mail_failure="")
    people = User.objects.in_bulk([line.username for line in lines], field_name="username")
    gains = [(people[line.username], *bond) for line in lines for bond in line.gains]
    loses = [(people[line.username], *bond) for line in lines for bond in line.loses]
    named = {name for _person, kind, name in gains + loses if kind != "tutors"}
    found = {name: courses.lock(name) for name in sorted(named)}
    for bonds in (User.courses, User.courses_tutored):
        through: Any = bonds.through
        rows = [(person, found[name]) for person, kind, name in gains if kind == bonds.rel.related_name]
        through.objects.bulk_create([through(user=who, course=course) for who, course in rows], ignore_conflicts=True)
    for tutor in {name for _person, kind, name in gains if kind == "tutors"}:
        owners = [person for person, *bond in gains if bond == ["tutors", tutor]]
        courses.give(User.objects.get(username=tutor), owners, actor=actor)
    for person, kind, name in loses:
        if kind == "tutors":
            person.tutors.filter(tutor__username=name).update(by_hand=False)
        else:
            getattr(person, kind).remove(found[name])
    taught = [found[name] for _person, kind, name in gains + loses if kind == "courses_tutored"]
    students = {*User.objects.filter(courses__in=taught).values_list("pk", flat=True)}
    courses.keep_tutorships(students.union(person.pk for person in people.values()), actor=actor)
    if invites:
        invitations.invite([people[line.username] for line in lines if "email" in line.values], by=by)
    for line in lines:
        if line.leaves:
            leaving.leave(people[line.username], by=by)


# -- Writing.


def write() -> Iterator[str]:
    """Yield the active people as lines of such a file; applied again it changes nothing."""
    writer, held = csv.writer(SimpleNamespace(write=str)), _bonds()  # `writerow` returns the line
    yield "\ufeff" + writer.writerow(COLUMNS)  # Excel takes a file without it for cp1252
    for person in User.objects.filter(is_active=True).order_by("username"):
        tutored = held["courses_tutored", person.username]
        bonds = (tutored or held["courses", person.username], held["tutors", person.username])
        lists = [DIVIDER.join(sorted(names)) for names in bonds]
        role = "tutor" if tutored else "student"
        row = (person.username, person.first_name, person.last_name, person.email, *lists, role, "")
        yield writer.writerow(map(as_cell, row))


def as_cell(value: object) -> str:
    """Return a value for a spreadsheet, which would compute what begins like a formula."""
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
