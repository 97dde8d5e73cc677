"""`manage.py doctor`: look at all that a site depends on, and say of each whether it is well and what to do."""

import json
import platform
import shutil
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections
from django.utils import timezone
from django.utils.timesince import timesince

from approvals.recovery import figures
from approvals.recovery.integrity import Check
from memory_app.celery import app
from memory_app.databases import clock
from memory_app.dolt.connections import MEMORY, standing_on
from memory_app.dolt.errors import DoltError
from memory_app.dolt.types import FIRST
from memory_app.management.commands.prepare import is_behind
from memory_app.models import TextErasure
from memory_app.runtime import health, records, workers

#: Seconds that clocks may differ by, and bytes of a disk that have to be free.
_CLOCKS, _SPACE = 5.0, 2 * 1024**3
_UPKEEP, _BACKUP, _CHECK = timedelta(minutes=5), timedelta(days=2), timedelta(days=8)

Finding = dict[str, str]


class Command(BaseCommand):
    help = "Look at settings, parts, versions, disk, clocks, upkeep, backups and mail; exit 1 where there is a problem."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as a JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        found = [finding for look in _LOOKS for finding in _guarded(look)]
        lines = ("{state:8}{what} {do}".format_map(finding).rstrip() for finding in found)
        self.stdout.write(json.dumps(found, indent=2) if options["json"] else "\n".join(lines))
        if any(finding["state"] == "problem" for finding in found):
            raise CommandError("There are problems.")


def _finding(is_well: bool, what: str, do: str, otherwise: str = "warning") -> Finding:
    return {"state": "ok" if is_well else otherwise, "what": what, "do": "" if is_well else do}


def _guarded(look: Any) -> Iterator[Finding]:
    try:
        yield from look()
    except (DatabaseError, DoltError, OSError) as error:
        what = f"{look.__name__.strip('_').capitalize()} could not be looked at: {' '.join(str(error).split())}."
        yield _finding(False, what, "Start what does not answer, and look again.", "problem")


def _settings() -> Iterator[Finding]:
    """Look at names, and run Django's checks: they are about https, HSTS, the data folder, keys and engines too."""
    for name, nearest in settings.UNKNOWN_SETTINGS:
        yield _finding(False, f"{name} is no setting.", f"Did you mean {nearest}?" if nearest else "Remove it.")
    every = checks.run_checks(include_deployment_checks=not settings.DEBUG, databases=list(connections))
    found = [each for each in every if not each.is_silenced()]
    for each in found:
        yield _finding(
            False, each.msg, each.hint or "See docs/deploying.md.", "problem" if each.is_serious() else "warning"
        )
    yield _finding(not found, f"Django's checks have found {len(found)} thing(s) to look at.", "They are above.")


def _parts() -> Iterator[Finding]:
    for name, part in health.parts().items():
        what = f"{name}: {part['engine']} {part['version']}" if part["ok"] else f"{name} does not answer."
        yield _finding(part["ok"], what.rstrip(" :"), "The log says why.", "problem")
    if workers.are_expected():
        number = len(app.control.ping(timeout=2) or ())
        yield _finding(number > 0, f"{number} worker(s) of Celery's answer.", "Start one.", "problem")


def _machine() -> Iterator[Finding]:
    behind = [alias for alias in connections if is_behind(alias)]
    what = f"Python {platform.python_version()}; migrations are pending in: {', '.join(behind) or 'none'}."
    yield _finding(not behind, what, "Run `manage.py prepare`.", "problem")
    there = settings.DEBUG or (settings.STATIC_ROOT / "staticfiles.json").exists()
    what = f"Styles and scripts of pages are {'there' if there else 'missing'}."
    yield _finding(there, what, "Run `manage.py collectstatic`: without them no page is shown.", "problem")
    free = shutil.disk_usage(settings.DATA_DIR).free
    what = f"{free / 1e9:.1f} GB are free in {settings.DATA_DIR}."
    yield _finding(free > _SPACE, what, "Make room: a full disk stops every write.")
    what = f"What is erased is listed in {settings.ERASED_LIST or 'no file'}."
    yield _finding(settings.ERASED_LIST is not None, what, "Set ASSENT_ERASED_LIST: without it nothing can be erased.")
    mails = not settings.EMAIL_BACKEND.endswith("console.EmailBackend")
    what = (
        f"Mails go to {settings.EMAIL_HOST or settings.EMAIL_BACKEND}."
        if mails
        else "Mails are printed to the log, links to passwords too."
    )
    yield _finding(mails, what, "Set ASSENT_EMAIL_URL.")


def _clocks() -> Iterator[Finding]:
    times = {"default": clock.now()}
    if not settings.EMBEDDED_MEMORY:
        with standing_on(FIRST), connections[MEMORY].cursor() as cursor:
            cursor.execute("SELECT UTC_TIMESTAMP(6)")
            times[MEMORY] = cursor.fetchone()[0].replace(tzinfo=UTC)
    for name, at in times.items():
        away = abs((timezone.now() - at).total_seconds())
        yield _finding(away < _CLOCKS, f"The clock of {name} is {away:.0f} s from this machine's.", "Use NTP on both.")


def _upkeep() -> Iterator[Finding]:
    checked = figures.checked_at()
    for name, at, most, do in (
        ("backup", records.last(records.BACKUP), _BACKUP, "Run `manage.py backup` each night."),
        ("check that found nothing", checked, _CHECK, "Run `manage.py check_memory` each week."),
        ("tasks by the clock", records.last(records.UPKEEP), _UPKEEP, "Start beat and a worker, or the web server."),
    ):
        what = f"Last {name}: {f'{timesince(at)} ago' if at else 'never'}."
        yield _finding(at is not None and timezone.now() - at < most, what, do)
    asked = TextErasure.objects.filter(done_at=None, at__lt=timezone.now() - _UPKEEP).count()
    yield _finding(not asked, f"{asked} erasure(s) were begun and are not done.", "Run `manage.py recover`.", "problem")
    if checked:  # or all of it would be checked
        number = len(list(Check(since_last=True).problems()))
        what = f"`check_memory --since-last` finds {number} problem(s)."
        yield _finding(not number, what, "It says what to do about each.", "problem")


_LOOKS = (_settings, _parts, _machine, _clocks, _upkeep)
