"""The folder of the embedded databases, which is for the user who runs Assent alone.

It holds the memories of people, their sessions and password hashes. Imported by the settings, so it imports nothing
that needs the settings.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from memory_app.configuration.environment import BadSetting

#: What Assent writes there. Other files in the folder are somebody else's and keep their modes.
OURS = ("assent.sqlite3*", "memory.doltlite*", ".memory.doltlite*", "secret_key", "demo_token", "demo_accounts.*")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: Set by every entry point: what it creates is for its user alone. SQLite gives a WAL the mode of its main file, and a
#: collection of garbage, which writes the memory's file anew, keeps that file's mode.
UMASK = _OTHERS


def make(folder: Path) -> None:
    """Make the folder where it is missing, and close it and our files in it to other users.

    What another user owns stays as it is, and so does a sticky folder, which is everybody's as /tmp is: the system
    check `memory_app.W001` reports them.

    Raises:
        BadSetting: the folder cannot be made or used.
    """
    try:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        open_to_others = exposed(folder)
    except OSError as error:
        raise BadSetting(
            f"ASSENT_DATA_DIR is {str(folder)!r}, which cannot be made or used as a folder: {error.strerror}."
        ) from error
    for path in open_to_others:
        with contextlib.suppress(OSError):  # a read-only disk, or a file that is gone this moment
            status = path.stat()
            if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
                path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


def exposed(folder: Path) -> list[Path]:
    """Return the folder and those of our files in it whose modes let in other users of this machine.

    Other users cannot reach the files of a closed folder; still, copies of the files keep their modes.
    """
    files = (path for pattern in OURS for path in folder.glob(pattern))
    found = []
    for path in (folder, *sorted(files)):
        with contextlib.suppress(FileNotFoundError):  # SQLite removes the WAL when the last connection closes
            mode = path.lstat().st_mode
            if mode & _OTHERS and not stat.S_ISLNK(mode):
                found.append(path)
    return found
