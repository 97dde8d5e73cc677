"""Loads DoltLite in place of SQLite, before anything imports `sqlite3`.

DoltLite is SQLite with Dolt's verbs; the `doltlite` package makes the standard `sqlite3` module use
it, which only works while `_sqlite3` is not yet loaded. Everything that starts Python for us
(manage.py, the web server, Celery, pytest) reads the settings first, and the settings call `load()`.
"""

import os
import sys

_MARKER = "_DOLTLITE_BOOTSTRAPPED"


class DoltLiteUnavailable(RuntimeError):
    """This Python cannot use DoltLite. The message says what to do, in one sentence."""


def load() -> None:
    """Make `sqlite3` use DoltLite in this process; do nothing when it already does.

    Raises:
        DoltLiteUnavailable: this Python was built with SQLite inside (python-build-standalone, which
            `uv`, `mise` and Rye install), or `doltlite` has no wheel for this machine.
    """
    if ("_sqlite3" in sys.modules or "doltlite" in _preloaded()) and _is_doltlite():
        return
    # A parent process may have left the marker behind. The loader would believe that the library is
    # loaded already, and plain SQLite would be used silently.
    os.environ.pop(_MARKER, None)
    try:
        import doltlite  # noqa: F401
    except ImportError as error:
        raise DoltLiteUnavailable(
            "DoltLite is not installed: run `make setup`, or set MEMORY_DATABASE_URL to use a Dolt server."
        ) from error
    except RuntimeError as error:
        raise DoltLiteUnavailable(f"DoltLite could not be loaded ({str(error).splitlines()[0]}). {_ADVICE}") from error
    finally:
        # Not for child processes: they inherit the variable but not the library.
        os.environ.pop(_MARKER, None)
    if not _is_doltlite():
        raise DoltLiteUnavailable(f"This Python has SQLite built in and cannot load DoltLite. {_ADVICE}")


_ADVICE = (
    "Use a Python whose sqlite3 is a shared library (Debian's, Homebrew's, pyenv's or conda's; not the ones "
    "uv, mise or Rye download), for example `make run PYTHON=/usr/bin/python3`."
)


def _preloaded() -> str:
    return os.environ.get("LD_PRELOAD", "") + os.environ.get("DYLD_INSERT_LIBRARIES", "")


def _is_doltlite() -> bool:
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        return bool(connection.execute("SELECT doltlite_engine()").fetchone()[0])
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
