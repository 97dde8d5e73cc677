"""Transactions of one process on the embedded `default` take turns, and a turn is given back however they end."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection, connections, transaction

from memory_app.databases.sqlite import base
from tests import environment

pytestmark = pytest.mark.skipif(not environment.is_embedded(), reason="PostgreSQL has many writers")


class Stopped(Exception):
    """What ends a transaction before its commit."""


def commits() -> None:
    with transaction.atomic():
        pass


def rolls_back() -> None:
    with pytest.raises(Stopped), transaction.atomic():
        raise Stopped


def loses_its_connection() -> None:
    with pytest.raises(Stopped), transaction.atomic():
        connection.close()
        raise Stopped


@pytest.mark.parametrize("end", [commits, rolls_back, loses_its_connection])
def test_a_turn_is_given_back(alice: object, end: Callable[[], None]) -> None:
    end()
    assert not base._writing.locked()


def test_the_next_transaction_begins_when_the_first_ends(alice: object) -> None:
    began: list[float] = []

    def second() -> None:
        with transaction.atomic():
            began.append(time.monotonic())
        connections.close_all()

    thread = threading.Thread(target=second)
    with transaction.atomic():
        thread.start()
        time.sleep(0.1)
        assert not began
    ended = time.monotonic()
    thread.join()
    assert began[0] - ended < 0.05
