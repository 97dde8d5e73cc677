"""Tasks by the clock: by a worker, and without one by the process that serves the pages."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.test import override_settings

from approvals.models import Mail, User
from memory_app.celery import app
from memory_app.runtime import background, upkeep
from tests import environment
from tests.conftest import eventually
from tests.support.places import ROOT, python
from tests.support.smtp import MailServer, mail_server
from tests.support.workers import celery_worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory_app.reads import Block
    from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow


@pytest.fixture
def smtp() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def waiting(goals: Block, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proposal tim is to be mailed about."""
    from tests.approvals.notifications.conftest import pass_time

    User.objects.filter(pk=tim.pk).update(mail=Mail.AT_ONCE, email="tim@example.org")
    propose(goals, "math", "algebra")
    pass_time(minutes=1)


@pytest.mark.skipif(not environment.is_embedded(), reason="with workers, beat does it")
def test_without_workers_the_process_that_opens_the_databases_does_it(waiting: None, smtp: MailServer) -> None:
    script = "import time; from approvals.models import User; User.objects.count(); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import django; django.setup(); {script}"],
        cwd=ROOT,
        env=os.environ
        | {"ASSENT_DATA_DIR": str(settings.DATA_DIR), "DJANGO_SETTINGS_MODULE": "memory_app.settings"}
        | {"ASSENT_EMAIL_URL": f"smtp://127.0.0.1:{smtp.port}"},
    )
    try:
        eventually(lambda: smtp.mails, seconds=60)
    finally:
        process.kill()
        process.wait()
    assert [to for to, _mail in smtp.mails] == ["tim@example.org"]


def test_a_task_that_fails_or_hangs_holds_up_neither_the_others_nor_upkeep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    go_on = threading.Event()

    @app.task(name="tests.fails")
    def fails() -> None:
        done.append("fails")
        raise RuntimeError

    @app.task(name="tests.hangs")
    def hangs() -> None:
        done.append("hangs")
        go_on.wait(20)

    monkeypatch.setattr(upkeep, "FIRST", 0.0)
    entries = {name: {"task": f"tests.{name}", "schedule": 0.2} for name in ("fails", "hangs")}
    with override_settings(CELERY_BEAT_SCHEDULE=entries, WITHOUT_BEAT=[*entries], CELERY_TASK_ALWAYS_EAGER=True):
        tasks = upkeep.PeriodicTasks()
        tasks.look()
        tasks.look()
        assert background.is_at_work(upkeep.TASKS), "it was waited for"
        time.sleep(0.2)
        go_on.set()
        for times in (1, 2):
            background.settle(upkeep.TASKS, 10)
            assert done == ["fails", "hangs"] * times
            tasks.look()
        background.settle(upkeep.TASKS, 10)

    with override_settings(CELERY_TASK_ALWAYS_EAGER=False):  # with workers nothing is done here
        upkeep.PeriodicTasks().look()
        assert not background.is_at_work(upkeep.TASKS)


def test_every_task_without_beat_is_one_of_its_schedule() -> None:
    app.loader.import_default_modules()
    for name in settings.WITHOUT_BEAT:
        assert settings.CELERY_BEAT_SCHEDULE[name]["task"] in app.tasks


@pytest.mark.skipif(environment.is_embedded(), reason="needs Redis")
def test_a_worker_sends_it_when_beat_asks(waiting: None, smtp: MailServer) -> None:
    with celery_worker("mail", ASSENT_EMAIL_URL=f"smtp://127.0.0.1:{smtp.port}"):
        for _time in range(2):
            app.send_task(settings.CELERY_BEAT_SCHEDULE["send digests"]["task"], queue="mail")
        eventually(lambda: smtp.mails, seconds=60)
        time.sleep(1)
    assert [to for to, _mail in smtp.mails] == ["tim@example.org"]


MIGRATE = """
from django.core.management import call_command
from django.db.models.signals import post_migrate, pre_migrate
from memory_app.runtime import background, upkeep
def look(using, app_config, **kwargs):
    if app_config.label == "approvals":
        upkeep.start()  # as each new connection does
        print(using, background.is_at_work("upkeep"))
pre_migrate.connect(look)
post_migrate.connect(look)
call_command("prepare", stdout=sys.stderr)
upkeep.start()
print("after", background.is_at_work("upkeep"))
"""


@pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own")
def test_nothing_is_done_by_the_clock_while_tables_are_made(tmp_path: Path) -> None:
    """A first start of over ten seconds met `no such table`, and took half a migration for somebody's change."""
    printed = python(MIGRATE, ASSENT_DATA_DIR=str(tmp_path)).splitlines()
    assert printed == ["default False", "default False", "memory False", "memory False", "after True"]


def test_a_pause_within_a_pause_ends_with_the_outer_one() -> None:
    """A restore pauses, and migrates what it restored."""
    with upkeep.paused():
        with upkeep.paused():
            pass
        upkeep.start()
        assert not background.is_at_work("upkeep")
