"""Ends a process as kill -9 would: before its n-th write (`crash_at(1, …)`, `crash_at(2, …)` and on), or where it says.

For `crash_at` nothing of ours is replaced. A profile function counts what the process is about to send to a database:
every statement that writes, each `dolt_*` verb that does, each COMMIT. Between two of these nothing that lasts
changes, so the sweep leaves behind every state a crash can leave, but for those inside an engine (`make torture` is
for them).
`killed` is for the one step that a test is about: its program puts `die` in the place of a function.
"""

import multiprocessing
import os
import re
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from types import FrameType
from typing import Any

import django

# For the server that the processes are forked from; a test process is set up already.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")
django.setup()
os.environ.pop("DJANGO_SETTINGS_MODULE", None)

from django.db import connections  # noqa: E402
from django.db.backends.base.base import BaseDatabaseWrapper  # noqa: E402
from django.db.backends.utils import CursorWrapper  # noqa: E402
from django.utils import timezone  # noqa: E402

import memory_app.celery  # noqa: E402
import memory_app.urls  # noqa: E402, F401 (imported once, before the forks: under a profile function it takes seconds)
from approvals.models import Batch, Proposal  # noqa: E402
from memory_app.celery import load_tasks  # noqa: E402

# And what a process imports when it opens the databases: a quarter of a second of each that is forked.
load_tasks()
for _alias in connections:
    connections[_alias]

#: An upper bound for one piece of work, so that a sweep ends when the counting goes wrong.
MOST_STEPS = 300

_WRITES = re.compile(
    r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|COMMIT|CALL|(?:SELECT\s+dolt_(?!hashof|log|version)\w+\())",
    re.IGNORECASE,
)
_STATEMENTS = {vars(CursorWrapper)[name].__code__ for name in ("_execute", "_executemany")}
_COMMIT = vars(BaseDatabaseWrapper)["_commit"].__code__

#: A server to fork from: one that has no threads and no connections, and has imported everything. A fresh Python spends
#: two seconds on imports alone.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


def crash_at(step: int, work: Callable[..., object], *arguments: Any) -> bool:
    """Run `work` in another process that dies before its `step`-th write; whether it came that far.

    Args:
        work: a function of a module; its arguments are pickled.

    Raises:
        AssertionError: it ended in another way, or takes more than MOST_STEPS.
    """
    assert step <= MOST_STEPS, f"more than {MOST_STEPS} writes"
    connections.close_all()
    FORKS.set_forkserver_preload([__name__, work.__module__])  # of no effect once it runs
    process = FORKS.Process(target=_run, args=(step, work, arguments))
    process.start()
    ended_with = _ended(process)
    assert ended_with in (0, -signal.SIGKILL), f"ended with {ended_with}; its output is above"
    return ended_with != 0


def killed(program: str) -> None:
    """Run a program in another process, which must end by killing itself.

    Args:
        program: Python, with `die` as a function that takes any arguments and kills the process.

    Raises:
        AssertionError: it came to its end, or to an error, which the message has.
    """
    connections.close_all()
    said, error = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_run_program, args=(textwrap.dedent(program), error))
    process.start()
    error.close()
    ended_with = _ended(process)
    assert ended_with == -signal.SIGKILL, said.recv() if said.poll() else f"ended with {ended_with}"


def _ended(process: ForkServerProcess) -> int:
    process.join(60)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError("the other process hangs")
    return process.exitcode


def _run_program(program: str, error: Connection) -> None:
    try:
        exec(program, {"die": _die, "sys": sys, "__name__": "killed"})
    except BaseException:
        error.send(traceback.format_exc())
        raise
    finally:
        connections.close_all()


def _die(*_arguments: object, **_named: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _run(step: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    left = step

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event != "call":
            return
        code = frame.f_code
        if code is _COMMIT or (code in _STATEMENTS and _WRITES.match(str(frame.f_locals["sql"]))):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
        connections.close_all()


def let_leases_run_out() -> None:
    """Let `recover` take over what a killed process was doing, without waiting half a minute."""
    for model in (Proposal, Batch):
        model.objects.exclude(lease_expires_at=None).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
