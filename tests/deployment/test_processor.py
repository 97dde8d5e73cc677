"""What a process takes of the machine by default."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.pure]

_MULTIPLY = """
import memory_app
import os
import numpy
square = numpy.random.default_rng(7).random((600, 600))
square @ square
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_blas_has_no_threads_of_its_own() -> None:
    """Eight request threads share the processors; with BLAS's own beside them a search took twice its time."""
    out = subprocess.run([sys.executable, "-c", _MULTIPLY], check=True, capture_output=True, text=True, env={})
    assert out.stdout.strip() == "1"
