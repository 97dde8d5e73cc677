"""A Celery worker of a test's own, beside that of the whole run (`worker`)."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.support.places import ROOT


@contextmanager
def celery_worker(
    queue: str, *, pool: str = "solo", environment: Mapping[str, str] = os.environ, **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker that takes the tasks of one queue, and end it; the process.

    Args:
        settings: environment variables beside those of `environment`.
    """
    process = subprocess.Popen(
        f"{sys.executable} -m celery -A memory_app.celery worker --pool {pool} --concurrency 1"
        f" --loglevel WARNING --without-mingle --queues {queue} --hostname {queue}@%h".split(),
        cwd=ROOT,
        env={**environment, "DJANGO_SETTINGS_MODULE": "memory_app.settings", **settings},
        umask=0o022,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
