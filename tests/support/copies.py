"""Web servers that are copies of one process, which has read the settings and the code: that takes a second and a half.

`Origin` is that process, started once by each process of tests. It takes a line of JSON for each copy and answers with
its process id. Settings are read before, so a server with other variables than these is started like anyone's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]


class Origin:
    """The process, which ends when this one does.

    Args:
        environment: all variables of the process and of its copies.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        command = [sys.executable, "-m", "tests.support.copies"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdin=pipe, stdout=pipe, text=True)

    def web_server(self, arguments: list[str]) -> Copy:
        """Start the web server with these arguments, in a group of processes of its own."""
        asked, answers = _streams(self._process)
        print(json.dumps(arguments), file=asked, flush=True)
        return Copy(int(answers.readline()))

    def close(self) -> None:
        asked, answers = _streams(self._process)
        asked.close()
        self._process.wait(15)
        answers.close()


class Copy:
    """A process that is not our child, as far as `subprocess.Popen` is asked about here."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """Return None while it runs, and 0 afterwards, however it ended."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, timeout: float = 60) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("the web server", timeout)
            time.sleep(0.01)
        return 0


def _streams(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def main() -> None:
    from django.urls import get_resolver

    import memory_app.wsgi  # noqa: F401 (what each copy would load)

    get_resolver().url_patterns  # noqa: B018 (the views)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for them
    asked, answers = os.fdopen(0), os.fdopen(1, "w")
    while line := asked.readline():
        pid = os.fork()
        if not pid:
            _become_web_server(json.loads(line))
        print(pid, file=answers, flush=True)


def _become_web_server(arguments: list[str]) -> None:
    from memory_app.webserver.server import main as serve

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.argv = ["webserver", *arguments]
    serve()


if __name__ == "__main__":
    main()
