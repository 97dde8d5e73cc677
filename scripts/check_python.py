"""Can this Python run Assent? Says what to do in one sentence when it cannot; used by the Makefile.

It is run by whatever `python3` the machine has, before anything is installed, so it keeps to syntax
that every Python 3 reads and imports nothing of ours.
"""

import os
import sys

NEEDED = (3, 11)


def problem():  # type: ignore[no-untyped-def]
    """The sentence to print, or None."""
    if sys.version_info[:2] < NEEDED:
        return (
            "Assent needs Python {}.{} or newer and this is {}.{}: install a newer one and name it, "
            "for example `make run PYTHON=python3.12`.".format(*(NEEDED + tuple(sys.version_info[:2])))
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return (
            "This Python cannot make virtual environments: install that part of it first "
            "(on Debian and Ubuntu: `sudo apt install python3-venv`), then run make again."
        )
    if os.environ.get("MEMORY_DATABASE_URL") or os.environ.get("MEMORY_DATABASE_URL_FILE"):
        return None  # a Dolt server keeps the memory; any Python will do
    if "_sqlite3" in sys.builtin_module_names:
        return (
            "This Python has SQLite built in and cannot load DoltLite: use one whose sqlite3 is a shared library "
            "(Debian's, Homebrew's, pyenv's or conda's; not the ones uv, mise or Rye download), "
            "for example `make run PYTHON=/usr/bin/python3`."
        )
    try:
        import _sqlite3  # noqa: F401
    except ImportError:
        return "This Python was built without sqlite3: use another, for example `make run PYTHON=/usr/bin/python3`."
    return None


if __name__ == "__main__":
    sentence = problem()
    if sentence:
        sys.stderr.write(f"\n{sentence}\n(Looked at {sys.executable}.)\n")
        sys.exit(1)
