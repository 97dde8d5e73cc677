"""Holding what others want: a lock in another process, a server that does not answer."""

from __future__ import annotations

import socket
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from typing import Any

from django.db import connections
from django.db.models import Model

from tests import environment
from tests.support.crashing import FORKS


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
def held_table(model: type[Model]) -> Iterator[None]:
    """Another process has a table of `default` for itself: on SQLite, the whole database for writing."""
    if environment.is_embedded():
        with held("default"):
            yield
        return
    program = f"""
    from django.db import transaction
    with transaction.atomic():
        connections["default"].cursor().execute("LOCK TABLE {model._meta.db_table}")
        hold()
    """
    with _other_process(program):
        yield


@contextmanager
def held_owner(owner: str) -> Iterator[None]:
    """Another process is recording a change of this owner's on PostgreSQL, and has not ended its transaction."""
    program = f"""
    from django.db import transaction
    from memory_app.databases.row_order import lock_owner
    with transaction.atomic():
        lock_owner({owner!r})
        hold()
    """
    with _other_process(program):
        yield


@contextmanager
def _other_process(program: str, *, seconds: float | None = None) -> Iterator[None]:
    ours, theirs = FORKS.Pipe()
    process = FORKS.Process(target=_hold, args=(textwrap.dedent(program), theirs, seconds))
    process.start()
    theirs.close()
    try:
        try:
            ours.recv()
        except EOFError:
            raise AssertionError("the other process held nothing; its output is above") from None
        yield
    finally:
        ours.close()
        process.join(20)


def _hold(program: str, asked: Connection, seconds: float | None) -> None:
    """Run the program, whose `hold()` returns after so many seconds, or when the other end is closed."""

    def hold() -> None:
        asked.send("held")
        if seconds is None:
            asked.poll(None)
        else:
            time.sleep(seconds)

    for wrapper in connections.all():
        if "connect_timeout" in wrapper.settings_dict["OPTIONS"]:
            # What is tested is the wait for what this holds; a machine full of tests may take seconds to let it in.
            wrapper.settings_dict["OPTIONS"]["connect_timeout"] = 30
    try:
        exec(program, {"connections": connections, "hold": hold})
    finally:
        connections.close_all()


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
