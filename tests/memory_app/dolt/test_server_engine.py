"""What is Dolt's server's alone. The server of these tests is their own: sessions of others would be ended."""

from pathlib import Path

import pytest

from tests import environment, services
from tests.support.places import python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server"),
]

_RESTORED_UNDER_A_TRANSACTION = """
import threading
from functools import partial
from pathlib import Path

from django.core.management import call_command
from django.db import connections, OperationalError

from memory_app import reads
from memory_app.dolt.connections import retrying
from tests.support.first import dolt, dolt_transaction
from memory_app.models import MemoryBlock
from tests.memory_app.dolt.test_engine_contract import write

def stand_idle():
    try:
        with dolt_transaction():
            MemoryBlock.objects.count()
            has_begun.set()
            is_over.wait(60)
    except Exception as error:
        print("ended", type(error).__name__)
    connections.close_all()

for alias in ("default", "memory"):
    call_command("migrate", database=alias, verbosity=0)
write()
has_begun, is_over = threading.Event(), threading.Event()
copied = Path(FOLDER)
dolt().back_up(copied)
write(body="not in the copy")
idle = threading.Thread(target=stand_idle)
idle.start()
has_begun.wait(30)
dolt().restore(copied)
connections.close_all()
write(label="notes")  # with nothing written since the restore, there is nothing to collect
retrying(partial(dolt().gc, full=True))
is_over.set()
idle.join()
connections.close_all()
write(body="two")
print(reads.block("alice", "goals").body)
"""


def test_a_transaction_from_before_a_restore_stops_no_collection(tmp_path: Path) -> None:
    """A collection keeps what transactions stand on, and Dolt failed where that was not in the database any more."""
    with services.started(below="/tmp") as own:
        printed = python(f"FOLDER = {str(tmp_path / 'copy')!r}\n{_RESTORED_UNDER_A_TRANSACTION}", **own.environment)
    assert printed.splitlines()[-2:] == ["ended EngineUnavailable", "two"]
