"""Install what a lock names by pip, on one line: `python scripts/install.py LOCK [ARGUMENT…]`.

A terminal is told how many packages are done, a log nothing; pip's warnings and errors are shown as they come.
Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The locks are complete and hashed, so pip need not (and may not) choose anything itself.
PIP = "pip --disable-pip-version-check --no-input install --require-hashes --no-deps --progress-bar off".split()
#: How the line begins that pip writes for each package; those it ignores are for other systems.
PACKAGE = ("Collecting ", "Requirement already satisfied", "Ignoring ")


def install(lock: str, *arguments: str) -> int:
    """Return pip's exit code."""
    wanted = sum(line[:1].isalnum() for line in Path(lock).read_text(encoding="utf-8").splitlines())
    command = [sys.executable, "-m", *PIP, *arguments, "-r", lock]
    done = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            done += line.startswith(PACKAGE)
            show("writing them down" if line.startswith("Installing ") else f"{done} of {wanted} packages")
    show("")
    return pip.returncode


def show(text: str) -> None:
    """Replace the line of a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r      {text:30}\r")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(install(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
