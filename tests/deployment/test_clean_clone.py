"""The README's two commands, each as the first that a newcomer calls in a clean clone, and then the other one.

An environment that one of them made may not hide what the other one forgot to install. What pip has in its cache is
taken from there.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.conftest import eventually
from tests.services import HOST, free_ports

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.pure, pytest.mark.one_leg, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]
#: Tests that need the client, the databases and the documents: what a forgotten installation breaks first.
SOME = "--leg embedded tests/test_names.py tests/clients/test_generated.py tests/end_to_end/test_flow.py"


def environment() -> dict[str, str]:
    """Return the variables of a newcomer: none of ours."""
    ours = ("ASSENT_", "DJANGO_", "PYTEST_", "COVERAGE_", "LD_PRELOAD", "PYTHONPATH", "VIRTUAL_ENV", "_DOLTLITE")
    named = ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in named}


def make_test(clone: Path) -> None:
    ended = subprocess.run(
        ["make", "test", f"ARGS={SOME}"], cwd=clone, env=environment(), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    assert " passed" in ended.stdout


def make_run(clone: Path) -> None:
    (port,) = free_ports(1)
    log = clone.parent / "run.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["make", "run", f"PORT={port}"],
            cwd=clone,
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def answers() -> bool:
        assert process.poll() is None, log.read_text()[-5000:]
        try:
            return httpx.get(f"http://{HOST}:{port}/sign-in/", follow_redirects=True).is_success
        except httpx.TransportError:
            return False

    try:
        eventually(answers, seconds=600)
    finally:
        os.killpg(process.pid, signal.SIGINT)  # Ctrl-C
        process.wait(60)


@pytest.mark.parametrize("order", [(make_test, make_run), (make_run, make_test)], ids=["test first", "run first"])
def test_each_command_works_alone_and_after_the_other(
    tmp_path: Path, order: tuple[Callable[[Path], None], Callable[[Path], None]]
) -> None:
    clone = tmp_path / "assent"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    for command in order:
        command(clone)
