"""What Assent writes under its data folder is for its user alone, whichever entry point came first."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from memory_app.configuration import environment as data_folder
from tests import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.pure,
    pytest.mark.skipif(not environment.is_embedded(), reason="servers keep the data"),
]

ROOT = Path(__file__).resolve().parents[2]
SOMEBODY_ELSE = 65534


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """As on most machines, where users may read each other's new files."""
    env = os.environ | {"ASSENT_DATA_DIR": str(folder), "MEMORY_OWNER": "alice"}
    return subprocess.run(
        command, cwd=ROOT, env=env, umask=0o022, capture_output=True, text=True, timeout=120, check=False
    )


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


def test_databases_are_for_their_user_alone_and_closed_at_the_next_start_and_other_files_are_left_alone(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    assert run(folder, sys.executable, "manage.py", "prepare").returncode == 0
    made = modes(folder)
    assert {"data", "assent.sqlite3", "memory.doltlite"} <= made.keys()
    assert made == dict.fromkeys(made, 0o600) | {"data": 0o700}
    (folder / "notes.txt").write_text("somebody keeps these here")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert run(folder, sys.executable, "manage.py", "check").returncode == 0
    found = modes(folder)
    assert found == dict.fromkeys(found, 0o600) | {"data": 0o700, "notes.txt": 0o644}


def test_the_memory_command_writes_no_file_for_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    run(folder, str(Path(sys.executable).with_name("memory")), "search", "anything")  # there are no tables yet
    assert modes(folder).pop("data") == 0o700
    assert {mode for name, mode in modes(folder).items() if name != "data"} == {0o600}


@pytest.mark.parametrize(("command", "umask"), [("check", "0o77"), ("collectstatic", "0o22")])
def test_only_collected_static_files_may_be_served_by_another_user(tmp_path: Path, command: str, umask: str) -> None:
    script = "import os, manage\ntry: manage.main()\nexcept SystemExit: pass\nprint(oct(os.umask(0)))"
    done = run(tmp_path, sys.executable, "-c", script, command, "--help")
    assert done.stdout.splitlines()[-1] == umask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_folder_of_another_user_is_left_alone_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    os.chown(folder, SOMEBODY_ELSE, SOMEBODY_ELSE)
    data_folder.make(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    with override_settings(DATA_DIR=folder):
        (warning,) = [found for found in run_checks() if found.id == "memory_app.W001"]
    assert str(folder) in warning.msg


def test_a_folder_that_is_everybodys_is_left_alone_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    data_folder.make(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    assert data_folder.exposed(folder) == [folder]


def test_a_link_in_the_folder_does_not_lead_to_a_change_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("not ours")
    elsewhere.chmod(0o644)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "secret_key").symlink_to(elsewhere)
    data_folder.make(folder)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644
