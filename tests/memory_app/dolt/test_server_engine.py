"""What is Dolt's server's alone."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest
from django.db import connections

from memory_app.dolt.connections import dolt, dolt_transaction, retrying
from memory_app.models import MemoryBlock
from tests import environment
from tests.memory_app.dolt.test_engine_contract import sha, write
from tests.support.older import older_memory

pytestmark = pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server")


def test_a_transaction_from_before_a_restore_stops_no_collection(tmp_path: Path) -> None:
    """A collection keeps what transactions stand on, and Dolt failed where that was not in the database any more."""
    write()
    has_begun, is_over = threading.Event(), threading.Event()
    problems: list[Exception] = []

    def stand_idle() -> None:
        try:
            with dolt_transaction():
                MemoryBlock.objects.count()
                has_begun.set()
                is_over.wait(60)
        except Exception as error:
            problems.append(error)
        connections.close_all()

    idle = threading.Thread(target=stand_idle, daemon=True)
    with older_memory(tmp_path):
        write(body="not in the copy", expected=sha())
        idle.start()
        assert has_begun.wait(10)
    write(label="notes")  # with nothing written since the restore, there is nothing to collect
    retrying(partial(dolt().gc, full=True))
    is_over.set()
    idle.join(30)
    assert len(problems) == 1
    connections["memory"].close()  # Dolt ends the session that collected
    write(body="two", expected=sha())
