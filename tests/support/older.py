"""Putting one of the two databases back to how it was, as after a restore of a pair that was not copied at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection, connections

from memory_app.databases import backups
from tests.databases import forget, wait_for_the_worker
from tests.support.background import wait_for_threads
from tests.support.first import dolt


@contextmanager
def older_default(folder: Path) -> Iterator[None]:
    """`default` is afterwards what it was before, and the memory is not."""
    copied = folder / "default"
    backups.back_up_default(copied)
    yield
    wait_for_threads()
    if connection.vendor == "sqlite":
        connections.close_all()
        for file in backups.files_of(str(connection.settings_dict["NAME"])):
            file.unlink()
    else:
        wait_for_the_worker()  # it would hold locks in another order
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
    backups.restore_default(copied)
    _start_again()


@contextmanager
def older_memory(folder: Path) -> Iterator[None]:
    """The memory is afterwards what it was before, and `default` is not."""
    copied = folder / "memory"
    dolt().back_up(copied)
    yield
    wait_for_threads()
    dolt().restore(copied)
    _start_again()


def _start_again() -> None:
    """What processes keep is gone after a restore, since they are new."""
    connections.close_all()
    forget()
