"""`make run` and what it is made of: what it prints, what it refuses, and that it ends when told to."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import environment
from tests.conftest import eventually
from tests.services import HOST, Services, free_ports
from tests.support.places import ROOT, manage, run
from tests.support.sites import answers, serving

pytestmark = [pytest.mark.slow, pytest.mark.pure]


@pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own, as a first start has")
def test_a_first_start_prints_a_curl_that_works_and_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo", has_demo=False, ASSENT_SECRET_KEY="") as site:
        printed = site.log
        assert f"Assent is at {site.address}/" in printed
        for person in ("alice", "ben", "tim", "admin"):
            assert re.search(rf"^ *{person}\b", printed, re.MULTILINE)
        curl = re.search(r"^curl .*?^\}'$", printed, re.MULTILINE | re.DOTALL)
        assert curl is not None, printed
        if shutil.which("curl"):
            answer = subprocess.run(["sh", "-c", curl[0]], capture_output=True, text=True, check=True).stdout
            assert '"ok": true' in answer
            assert "Edit proposal created" in answer
        # The terminal sends Ctrl-C to the whole group.
        os.killpg(site.process.pid, signal.SIGINT)
        assert site.process.wait(20) == 0
        with pytest.raises(ProcessLookupError):
            os.killpg(site.process.pid, 0)


@pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own")
def test_it_ends_quietly_when_told_to_whatever_its_clients_do(tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        with httpx.Client() as kept_alive, socket.create_connection((HOST, site.port)) as half:
            assert kept_alive.get(f"{site.address}/sign-in/").status_code == 200
            half.sendall(b"GET / HTTP/1.1\r\nHost: ")
            site.process.terminate()
            assert site.process.wait(10) == 0  # what `docker stop` waits
        assert "SIGKILL" not in site.log
        assert f"Assent is at {site.address}/" in site.log


#: An application whose calls take longest in the process that was started first.
_SLOW = """
import os, pathlib, time
def application(environ, start_response):
    path = environ["PATH_INFO"]
    with (pathlib.Path(__file__).parent / "arrived").open("a") as arrived:
        print(path, file=arrived)
    if path == "/slow":
        parent = os.getppid()
        others = map(int, pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
        time.sleep(3 if os.getpid() == min(others) else 1)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"x" * 1_000_000] * (40 if path == "/large" else 1)
"""


@pytest.fixture
def slow_application(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    (port,) = free_ports(1)
    (tmp_path / "slow.py").write_text(_SLOW)
    env = os.environ | {"ASSENT_WORKERS": "2", "ASSENT_THREADS": "20", "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    command = [sys.executable, "-m", "memory_app.webserver", "slow", "--bind", f"{HOST}:{port}"]
    started = Services(tmp_path)
    try:
        started.start("serve", command, ready=lambda: answers(f"http://{HOST}:{port}/"), env=env, cwd=ROOT)
        yield f"http://{HOST}:{port}", started.processes[0]
        assert "Traceback" not in (tmp_path / "serve.log").read_text()
    finally:
        started.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_whoever_is_being_answered_when_it_ends_gets_the_answer(
    slow_application: tuple[str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    address, process = slow_application
    with ThreadPoolExecutor(12) as pool, socket.create_connection((HOST, int(address.rpartition(":")[2]))) as reader:
        calls = [pool.submit(httpx.get, f"{address}/slow", timeout=20) for _ in range(12)]
        reader.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        asked = ["/large", *["/slow"] * len(calls)]
        eventually(lambda: sorted((tmp_path / "arrived").read_text().split())[-len(asked) :] == asked, seconds=20)
        process.terminate()
        time.sleep(1)
        heard = 0
        while data := reader.recv(1_000_000):
            heard += len(data)
        assert heard > 40_000_000
        assert [call.result().status_code for call in calls] == [200] * len(calls)
    assert process.wait(10) == 0


def test_why_a_process_that_serves_ends_by_itself_is_said(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import sys; sys.exit('Nothing to serve.')")
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "memory_app.webserver", "wrong", "--bind", f"{HOST}:{port}"]
    done = run(command, {"ASSENT_WORKERS": "2", "PYTHONPATH": f"{ROOT}:{tmp_path}"})
    assert done.returncode == 1
    assert "Nothing to serve." in done.stderr


def test_a_taken_port_is_one_sentence_that_names_another() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = manage("serve", "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is taken. Choose another, for example `make run PORT={port + 1}`." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_secret_key_is_one_sentence() -> None:
    done = manage("check", ASSENT_DEBUG="0", ASSENT_SECRET_KEY="")
    assert done.returncode == 1
    file = "ASSENT_SECRET_KEY_FILE to a file that has one (ASSENT_DEBUG is off)."
    assert done.stderr.strip() == f"Set ASSENT_SECRET_KEY to a long random value, or {file}"


def test_servers_that_do_not_answer_are_one_sentence(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    if environment.is_embedded():
        # A data directory whose database cannot be opened.
        (tmp_path / "assent.sqlite3").mkdir()
        done = manage("prepare", ASSENT_DATA_DIR=str(tmp_path))
    else:
        done = manage("prepare", DATABASE_URL=f"postgres://nobody@{HOST}:{port}/none")
    assert done.returncode == 1
    assert "CommandError: A database does not answer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("pretend", "sentence"),
    [
        ("sys.version_info = (3, 9, 6)", "Assent needs Python 3.11 or newer and this is 3.9"),
        ("sys.modules['ensurepip'] = None", "sudo apt install python3-venv"),
        ("sys.builtin_module_names += ('_sqlite3',)", "This Python has SQLite built in and cannot load DoltLite"),
        ("sys.modules['_sqlite3'] = None", "This Python was built without sqlite3"),
    ],
)
def test_a_python_that_will_not_do_is_told_in_a_sentence_before_anything_is_installed(
    pretend: str, sentence: str
) -> None:
    script = f"import sys, runpy; {pretend}; runpy.run_path('scripts/check_python.py', run_name='__main__')"
    done = run([sys.executable, "-c", script], {"MEMORY_DATABASE_URL": ""})
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


#: The outer make's are not for the one that is tested.
NO_FLAGS = {"MAKEFLAGS": "", "MAKELEVEL": "", "MFLAGS": ""}


def test_make_without_a_python_says_what_to_do(tmp_path: Path) -> None:
    done = run(["make", "setup", "PYTHON=no-such-python", f"VENV={tmp_path}/venv"], NO_FLAGS)
    assert done.returncode == 2
    assert "There is no no-such-python here: install Python 3.11 or newer" in done.stderr


def test_installing_prints_no_line_for_each_package_but_what_went_wrong(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"

    def install(text: str) -> subprocess.CompletedProcess[str]:
        lock.write_text(text)
        return run([sys.executable, "scripts/install.py", str(lock), "--no-index"], {})

    there = install(f"httpx=={httpx.__version__} --hash=sha256:{'0' * 64}\n")
    assert (there.returncode, there.stdout, there.stderr) == (0, "", "")
    unknown = install(f"httpx==0.0.0 --hash=sha256:{'0' * 64}\n")
    assert unknown.returncode == 1
    assert "No matching distribution found for httpx==0.0.0" in unknown.stderr


def test_make_alone_lists_what_it_can_do() -> None:
    done = run(["make"], NO_FLAGS)
    assert done.returncode == 0
    for target in ("setup", "run", "test", "torture", "lint", "bench", "lock", "format"):
        assert f"make {target} " in done.stdout


def test_the_makefile_keeps_to_what_macos_brings() -> None:
    text = (ROOT / "Makefile").read_text()
    for newer in (".ONESHELL", ".SHELLFLAGS", "!=", "$(file ", "&:", "::="):
        assert newer not in text, f"GNU make 3.81 does not know {newer}"


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


@pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own")
def test_figures_are_answered_on_a_port_of_their_own_by_each_process_and_nothing_else_is(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with serving(tmp_path, ASSENT_METRICS_BIND=f"{HOST}:{port}", ASSENT_WORKERS="2") as site:
        bearer = {"Authorization": f"Bearer {site.token}"}
        for _ in range(4):
            assert httpx.get(f"http://{HOST}:{port}/metrics").status_code == 200
        for _ in range(6):
            assert httpx.get(f"{site.address}/api/v1/users/alice/blocks/", headers=bearer).status_code == 200

        def counted() -> bool:
            said = httpx.get(f"http://{HOST}:{port}/sign-in/").text  # whatever is asked for
            assert "<html" not in said
            return 'assent_calls_total{outcome="ok",tool="block_list"} 6.0' in said

        eventually(counted, seconds=60)
        assert httpx.get(f"{site.address}/metrics").status_code == 404
        assert site.process.poll() is None
        site.process.terminate()
        assert site.process.wait(10) == 0
