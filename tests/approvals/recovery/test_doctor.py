"""`manage.py doctor`: each thing a site depends on, whether it is well, and what to do."""

import json
import shutil
from collections import namedtuple
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from approvals.recovery.integrity import Check
from memory_app.configuration.environment import make as close
from memory_app.databases import clock
from memory_app.models import Change, SiteRecord
from memory_app.reads import Block
from memory_app.runtime import health, records
from tests import environment
from tests.support import acts

WELL = {
    "DEBUG": True,
    "UNKNOWN_SETTINGS": [],
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "EMAIL_HOST": "mail.example",
    "ERASED_LIST": "/erased/list",
}


def looked() -> list[tuple[str, str]]:
    """Return the states and what they are about, of what is not well."""
    said = StringIO()
    try:
        call_command("doctor", json=True, stdout=said)
    except CommandError:
        assert '"problem"' in said.getvalue()
    else:
        assert '"problem"' not in said.getvalue()
    found = json.loads(said.getvalue())
    assert len(found) >= 8
    for finding in found:
        assert set(finding) == {"state", "what", "do"}
        assert bool(finding["do"]) is (finding["state"] != "ok"), finding
    return [(finding["state"], finding["what"]) for finding in found if finding["state"] != "ok"]


@pytest.fixture(autouse=True)
def a_site_that_is_well(goals: Block, request: pytest.FixtureRequest, worker: None) -> Any:
    close(settings.DATA_DIR)  # what the tests made for themselves
    records.note(records.BACKUP)
    records.note(records.UPKEEP)
    check = Check()
    assert list(check.problems()) == []
    check.keep()
    with override_settings(**WELL):
        yield


def test_a_site_that_is_well_has_a_line_for_each_thing() -> None:
    said = StringIO()
    call_command("doctor", stdout=said)
    assert looked() == []
    lines = said.getvalue().splitlines()
    assert all(line.startswith("ok      ") for line in lines)
    for word in (
        "memory: Dolt",
        "default:",
        "Python",
        "free",
        "Mails",
        "clock of default",
        "backup",
        "tasks by the clock",
    ):
        assert any(word in line for line in lines), word
    if not environment.is_embedded():
        for word in ("redis", "worker(s)", "clock of memory"):
            assert any(word in line for line in lines), word


def test_what_is_not_well_says_so(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with override_settings(
        UNKNOWN_SETTINGS=[("ASSENT_PROT", "ASSENT_PORT")],
        EMAIL_BACKEND="django.core.mail.backends.console.EmailBackend",
        ERASED_LIST=None,
    ):
        assert looked() == [
            ("warning", "ASSENT_PROT is no setting."),
            ("warning", "What is erased is listed in no file."),
            ("warning", "Mails are printed to the log, links to passwords too."),
        ]
    SiteRecord.objects.update(at=timezone.now() - timedelta(days=3))
    SiteRecord.objects.filter(name=records.BACKUP).delete()
    found = {what.partition(":")[0]: state for state, what in looked()}
    assert found == {"Last backup": "warning", "Last tasks by the clock": "warning"}
    records.note(records.BACKUP)
    records.note(records.UPKEEP)
    with monkeypatch.context() as patched:
        usage = namedtuple("usage", "free")
        patched.setattr(shutil, "disk_usage", lambda path: usage(10**9))
        patched.setattr(health, "_ENOUGH_SPACE", 0)
        assert [state for state, what in looked() if "are free" in what] == ["warning"]
    with monkeypatch.context() as patched:
        patched.setattr(clock, "now", lambda: timezone.now() + timedelta(minutes=1))
        assert ("warning", "The clock of default is 60 s from this machine's.") in looked()
    acts.edit(alice, "goals", "math", "art")
    Change.objects.latest("pk").delete()
    assert ("problem", "`check_memory --since-last` finds 1 problem(s).") in looked()


def test_a_database_without_its_tables_is_a_problem() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("ALTER TABLE memory_app_siterecord RENAME TO gone")
    try:
        found = looked()
    finally:
        with connections["default"].cursor() as cursor:
            cursor.execute("ALTER TABLE gone RENAME TO memory_app_siterecord")
    (only,) = found
    assert only[0] == "problem"
    assert only[1].startswith("Upkeep could not be looked at:")


@override_settings(DEBUG=False, SECURE_HSTS_SECONDS=0, SECURE_SSL_REDIRECT=False)
def test_a_site_without_https_is_warned_of() -> None:
    found = looked()
    assert any("SECURE_HSTS_SECONDS" in what for state, what in found if state == "warning")


@override_settings(DEBUG=False, SECURE_HSTS_SECONDS=60, SECURE_HSTS_INCLUDE_SUBDOMAINS=False)
def test_what_is_decided_in_the_settings_is_no_warning() -> None:
    assert settings.SILENCED_SYSTEM_CHECKS
    assert not any("SUBDOMAINS" in what for _state, what in looked())


@override_settings(REDIS_URL="redis://127.0.0.1:1/0")
def test_a_part_that_does_not_answer_is_a_problem() -> None:
    assert ("problem", "redis does not answer.") in looked()


@override_settings(DEBUG=False)
def test_styles_that_nobody_collected_are_a_problem(tmp_path: Path) -> None:
    missing = ("problem", "Styles and scripts of pages are missing.")
    with override_settings(STATIC_ROOT=tmp_path):
        assert missing in looked()
        (tmp_path / "staticfiles.json").touch()
        assert missing not in looked()
