"""Where a test process keeps its data and which servers it speaks to; imported before the settings.

Each pytest-xdist worker has databases of its own. The leg is what the environment says: with
MEMORY_DATABASE_URL Dolt server, PostgreSQL and Redis, without it DoltLite and SQLite.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")


def prepare() -> Path:
    """Set the environment the settings read; the data directory of this process."""
    data = Path(tempfile.mkdtemp(prefix=f"assent-test-{WORKER}-"))
    os.environ.update(
        DJANGO_SETTINGS_MODULE="memory_app.settings",
        ASSENT_DATA_DIR=str(data),
        ASSENT_SECRET_KEY="only-for-tests-" + "x" * 40,
        ASSENT_TEXT_KEY="00112233445566778899aabbccddeeff" * 2,
        ASSENT_DEBUG="1",
        ASSENT_LOG_FORMAT="json",
    )
    for name in ("MEMORY_DATABASE_URL", "DATABASE_URL"):
        if os.environ.get(name):
            os.environ[name] = f"{os.environ[name].rstrip('/')}_{WORKER}"
    if os.environ.get("REDIS_URL"):
        number = int(WORKER[2:]) + 1 if WORKER.startswith("gw") else 0
        os.environ["REDIS_URL"] = f"{os.environ['REDIS_URL'].rsplit('/', 1)[0]}/{number}"
    if is_embedded():
        _preload_doltlite()
    return data


def is_embedded() -> bool:
    return not os.environ.get("MEMORY_DATABASE_URL")


@contextmanager
def once_a_run(name: str) -> Iterator[Path]:
    """Give, to one process at a time, the folder with files that the processes of a run share and one of them makes.

    Migrating takes six seconds of processor. A process that runs alone has it in its own data.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    folder = Path(tempfile.gettempdir()) / f"assent-{name}-{run}" if run else Path(os.environ["ASSENT_DATA_DIR"]) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _preload_doltlite() -> None:
    """For child processes: coverage and execnet import sqlite3 before anything of ours runs."""
    from memory_app.dolt.library import load

    load()
    from doltlite import libdoltlite_path  # not before it is loaded

    if "doltlite" not in os.environ.get("LD_PRELOAD", ""):
        os.environ["LD_PRELOAD"] = f"{libdoltlite_path()} {os.environ.get('LD_PRELOAD', '')}".strip()
