"""Merge files like `git merge-file -p`: `python -m memory_app.text.merge BASE OURS THEIRS`.

Prints the merged text, also without `-p`. Conflicts are marked on lines of their own as git marks them; `-L` names the
sides as git does, ours first. The exit code is the number of conflicts, at most 127; 255 when a file cannot be read or
is not text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from memory_app.text.merge import merge
from memory_app.text.merge.whole import marked

_MOST_CONFLICTS = 127
_ERROR = 255


def main(arguments: Sequence[str] | None = None) -> int:
    """Merge the three files named by the arguments and return the exit code."""
    parser = _Parser(prog="python -m memory_app.text.merge", description="Merge two changed versions of a text file.")
    for name, says in (("base", "the file both began with"), ("ours", "our version"), ("theirs", "their version")):
        parser.add_argument(name, metavar=name.upper(), type=Path, help=says)
    parser.add_argument("-p", action="store_true", help="print the result; it always is")
    parser.add_argument(
        "-L", dest="labels", metavar="LABEL", action="append", default=[], help="names for marks: ours, base, theirs"
    )
    paths = parser.parse_args(arguments)
    if len(paths.labels) > 3:
        parser.error("-L may be given three times")
    names = [str(path) for path in (paths.ours, paths.base, paths.theirs)]
    names[: len(paths.labels)] = paths.labels
    try:
        texts = [_read(path) for path in (paths.base, paths.ours, paths.theirs)]
    except ValueError as error:
        parser.error(str(error))
    result = merge(*texts)
    text, count = (result, 0) if isinstance(result, str) else marked(result, names[0], names[2])
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    return min(count, _MOST_CONFLICTS)


class _Parser(argparse.ArgumentParser):
    """Ends with the exit code of an error: 2, argparse's own, would be two conflicts."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_ERROR, f"error: {message}\n")


def _read(path: Path) -> str:
    """Return the text of a file. Raise ValueError where it is not there or is no text."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    if b"\0" in content:
        raise ValueError(f"cannot merge binary files: {path}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.start}") from error


if __name__ == "__main__":
    sys.exit(main())
