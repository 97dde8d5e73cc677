"""Tasks by the clock: by a worker, and without one by the process that serves the pages."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from django.conf import settings
from django.test import override_settings

from approvals.models import Mail, User
from memory_app.celery import app
from memory_app.runtime import background, upkeep
from tests import environment
from tests.conftest import eventually
from tests.services import free_ports
from tests.support.places import ROOT, python
from tests.support.sites import serving
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


def test_each_task_of_beat_is_done_without_it_or_says_what_does_it() -> None:
    schedule = set(settings.CELERY_BEAT_SCHEDULE)
    assert set(settings.WITHOUT_BEAT) | set(settings.DONE_WITHOUT_CLOCK) == schedule
    assert not set(settings.WITHOUT_BEAT) & set(settings.DONE_WITHOUT_CLOCK)
    assert all(settings.DONE_WITHOUT_CLOCK.values())
    # What is promised to be deleted is deleted by the clock.
    assert {name for name in schedule if "purge" in name or "end" in name} <= set(settings.WITHOUT_BEAT)


AGE = """
from datetime import timedelta
from django.utils import timezone
from agent_tools.models import IdempotencyKey, ToolCall
from approvals.models import BrowserSession
from memory_app.models import Message
old = timezone.now() - timedelta(days=400)
print(Message.objects.update(received_at=old) > 0, ToolCall.objects.update(at=old) > 0,
    IdempotencyKey.objects.update(created_at=old) > 0, BrowserSession.objects.update(expire_date=old) > 0)
"""
LEFT = """
from agent_tools.models import IdempotencyKey, ToolCall
from approvals.models import BrowserSession
from memory_app.models import Message
print(Message.objects.count() + ToolCall.objects.count() + IdempotencyKey.objects.count()
    + BrowserSession.objects.count())
"""


@pytest.mark.skipif(not environment.is_embedded(), reason="with workers, beat does it")
def test_what_is_too_old_is_deleted_by_a_web_server_alone_that_nobody_asks(tmp_path: Path) -> None:
    """`python -m memory_app.webserver` and nothing beside it, as in the image."""
    with serving(tmp_path) as site, httpx.Client(base_url=site.address) as client:
        client.headers["Authorization"] = f"Bearer {site.token}"
        kept = {"messages": [{"role": "user", "content": "Hello."}]}
        client.post("/api/v1/users/alice/conversations/s/messages/", json=kept).raise_for_status()
        saved = {"user_id": "alice", "content": "She sails.", "idempotency_key": "k"}
        client.post("/api/v1/tools/memory_save/", json=saved).raise_for_status()
        place = {"ASSENT_DATA_DIR": str(tmp_path / "data")}
        python("from approvals.accounts.sessions import SessionStore; SessionStore().create()", **place)
        eventually(lambda: python(AGE, **place) == "True True True True", seconds=20)
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "memory_app.webserver", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | place | {"ASSENT_DEBUG": "1"})
    try:
        eventually(lambda: python(LEFT, **place) == "0", seconds=90)
    finally:
        process.terminate()
        process.wait()


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
