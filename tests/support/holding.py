"""Holding what others want: a lock in another process, a server that does not answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from django.db import connections
from django.db.models import Model

from tests import environment

ROOT = Path(__file__).parents[2]

_HOLD = """
import sys, time, django
django.setup()
from django.db import connections
from memory_app.dolt.connections import dolt_transaction

for wrapper in connections.all():
    if "connect_timeout" in wrapper.settings_dict["OPTIONS"]:
        # what is tested is the wait for what this holds; a machine full of tests may be seconds in letting it in
        wrapper.settings_dict["OPTIONS"]["connect_timeout"] = 30

def hold():
    print("held", flush=True)
    {until}
"""


@contextmanager
def held(alias: str) -> Iterator[None]:
    """Another process is in the middle of writing to an embedded database."""
    program = """
    connection = connections[{alias!r}]
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    hold()
    """
    with _other_process(program.format(alias=alias)):
        yield


def memory_is_stuck() -> AbstractContextManager[object]:
    """The memory cannot be written: another process does, or the server hangs."""
    return held("memory") if environment.is_embedded() else frozen("memory")


@contextmanager
def held_row(model: type[Model], *, seconds: float | None = None, **of: Any) -> Iterator[None]:
    """Another process has changed a row of `default` and not committed yet; for ever, or for some seconds."""
    program = f"""
    from django.apps import apps
    from django.db import transaction
    with transaction.atomic():
        assert apps.get_model({model._meta.label!r}).objects.select_for_update().filter(**{of!r}).update(
            **{of!r}
        )
        hold()
    """
    with _other_process(program, seconds=seconds):
        yield


@contextmanager
def held_owner(owner: str) -> Iterator[None]:
    """Another process is recording a change of this owner's on PostgreSQL, and has not ended its transaction."""
    program = f"""
    from django.db import transaction
    from memory_app.writing.ledger_lock import lock_owner
    with transaction.atomic():
        lock_owner({owner!r})
        hold()
    """
    with _other_process(program):
        yield


@contextmanager
def _other_process(program: str, *, seconds: float | None = None) -> Iterator[None]:
    until = "sys.stdin.read()" if seconds is None else f"time.sleep({seconds})"
    source = _HOLD.format(until=until) + textwrap.dedent(program)
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line == "held\n":
                break
        else:
            raise AssertionError("the other process held nothing; its output is above")
        yield
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


@contextmanager
def frozen(alias: str, *, at_once: bool = True) -> Iterator[Callable[[], None]]:
    """A server takes what this thread sends it, and answers nothing any more: at once, or from the call of what is
    yielded on.

    The thread's connection goes through a proxy that stops passing on; afterwards it is as it was.
    """
    wrapper = connections[alias]
    wrapper.close()
    settings = wrapper.settings_dict
    port = settings["PORT"]
    with _Proxy("127.0.0.1", int(port)) as proxy:
        settings["PORT"] = proxy.port
        try:
            wrapper.ensure_connection()
            if at_once:
                proxy.freeze()
            yield proxy.freeze
        finally:
            settings["PORT"] = port
            wrapper.close()


class _Proxy:
    """Passes bytes on, both ways, until frozen."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_frozen = threading.Event()
        self._ends: list[socket.socket] = []

    def __enter__(self) -> _Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._listener, *self._ends):
            end.close()

    def freeze(self) -> None:
        self._is_frozen.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._ends += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                if self._is_frozen.is_set():
                    return
                sink.sendall(data)
        except OSError:
            return
