"""Transactions of one process on the embedded `default` take turns, and a turn is given back however they end."""

import time
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from memory_app.databases.sqlite import base
from tests import environment
from tests.conftest import in_a_thread

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
    late: list[float] = []
    for _ in range(5):  # a busy machine is late now and then
        began: list[float] = []

        def second(began: list[float] = began) -> None:
            with transaction.atomic():
                began.append(time.monotonic())

        with transaction.atomic():
            thread = in_a_thread(second)
            time.sleep(0.1)
            assert not began
        ended = time.monotonic()
        thread.join()
        late.append(began[0] - ended)
    assert sorted(late)[2] < 0.05
