"""Handing tasks to Celery's workers, and knowing soon when nobody takes them."""

from __future__ import annotations

import time

import structlog
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from memory_app.celery import app

log = structlog.get_logger(__name__)

#: Seconds for which a broker that did not answer is not asked again: each attempt keeps a person waiting.
ASIDE = 10.0

_aside_until = 0.0


class BrokerAway(Exception):
    """The broker does not answer. What was to be handed over is done here, or made up for by the beat."""


def hand_over(task: str, *arguments: object) -> None:
    """Have a worker run the task of this name.

    Raises:
        BrokerAway: nobody was told.
    """
    global _aside_until
    if time.monotonic() < _aside_until:
        raise BrokerAway(task)
    try:
        app.send_task(task, arguments, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        _aside_until = time.monotonic() + ASIDE
        log.warning("broker_away", task=task, error=type(error).__name__)
        raise BrokerAway(task) from error
