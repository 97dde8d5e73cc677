"""The client as its users have it: installed from its folder into an environment of its own, without Django."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import missing

pytestmark = [pytest.mark.pure, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "python"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with `./clients/python[test]` in it."""
    folder = tmp_path_factory.mktemp("alone")
    source = folder / "source"
    # A copy, or the build would leave its own folders beside the sources.
    subprocess.run(["cp", "-R", str(CLIENT), str(source)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
    programs = folder / "environment" / "bin"
    done = run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{source}[test]")
    if done.returncode:
        if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
            missing("An index of Python packages")
        raise AssertionError(done.stderr)
    return programs


def run(*words: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "PYTHON", "COVERAGE"))}
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=kept, capture_output=True, text=True, timeout=170, check=False
    )


@pytest.mark.timeout(400)
def test_it_installs_alone_and_its_own_tests_pass_there(environment: Path, tmp_path: Path) -> None:
    installed = run(environment / "python", "-m", "pip", "list", "--format", "freeze").stdout.lower()
    assert "assent-client==" in installed
    assert "django" not in installed
    assert "httpx==" not in installed
    done = run(environment / "python", "-c", "import assent_client; print(assent_client.__file__)", folder=tmp_path)
    assert "site-packages" in done.stdout, done.stderr
    # The tests beside the sources, but the package that was installed.
    tests = environment.parent.parent / "source" / "tests"
    run("mv", environment.parent.parent / "source" / "assent_client", tmp_path)
    run("ln", "-s", Path(done.stdout.strip()).parent, environment.parent.parent / "source" / "assent_client")
    done = run(
        environment / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode", "prepend", tests
    )
    assert done.returncode == 0, done.stdout[-3_000:]


@pytest.mark.timeout(400)
def test_the_command_is_there_and_says_what_it_needs(environment: Path, tmp_path: Path) -> None:
    helped = run(environment / "memory", "--help", folder=tmp_path)
    assert helped.stdout.startswith("Usage: memory "), helped.stderr
    assert run(environment / "memory", "init", folder=tmp_path).stdout == "Created .agent/memories.md\n"
    alone = run(environment / "memory", "list", folder=tmp_path)
    assert alone.returncode == 2
    assert alone.stderr.endswith(
        "Error: Set MEMORY_URL and MEMORY_TOKEN: there is no installation of Assent beside this command.\n"
    )
