"""deploy/systemd: that systemd takes the units, that they may do little, and that their commands work."""

import configparser
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_app.settings import env
from tests.conftest import missing
from tests.support.places import ROOT
from tests.support.sites import prepared

pytestmark = pytest.mark.pure

UNITS = sorted((ROOT / "deploy" / "systemd").iterdir())
SERVICES = [path for path in UNITS if path.suffix == ".service"]
_CODE = "/srv/assent/.venv/bin/"


def read(path: Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(path)
    return unit


def said(name: str) -> str:
    return read(ROOT / "deploy" / "systemd" / name)["Service"]["ExecStart"].replace("%%", "%")


def test_systemd_takes_them(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze") or missing("systemd-analyze")
    for path in UNITS:  # it looks whether programs are there
        text = path.read_text().replace(f"{_CODE}python", "/bin/true").replace(f"{_CODE}celery", "/bin/true")
        (tmp_path / path.name).write_text(text)
    units = [str(tmp_path / path.name) for path in UNITS]
    done = subprocess.run([program, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line or "assent" in line] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_each_service_may_do_little(path: Path) -> None:
    service = read(path)["Service"]
    assert service["User"] == "assent"
    for name, value in {
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "NoNewPrivileges": "yes",
        "CapabilityBoundingSet": "",
        "StateDirectory": "assent",
        "UMask": "0077",
        "EnvironmentFile": "/etc/assent/assent.env",
    }.items():
        assert service[name] == value, name
    assert "ASSENT_DATA_DIR=/var/lib/assent" in service["Environment"]
    names = {word.partition("=")[0] for word in service["Environment"].split()}
    assert {name for name in names if name.startswith("ASSENT_")} <= env.readings.keys()


def test_what_runs_by_a_timer_has_one_and_the_rest_begins_with_the_machine() -> None:
    timed = {path.stem for path in UNITS if path.suffix == ".timer"}
    assert timed == {"assent-backup", "assent-prune", "assent-check"}
    for path in SERVICES:
        unit = read(path)
        assert unit.has_section("Install") is (path.stem not in timed)
        assert (unit["Service"].get("Type") == "oneshot") is (path.stem in timed)


def test_the_command_of_the_backup_makes_one_that_is_verified(tmp_path: Path) -> None:
    environment = {**os.environ, "ASSENT_DATA_DIR": str(tmp_path / "data"), "ASSENT_DEBUG": "1"}
    for name in ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    shutil.copytree(prepared(), tmp_path / "data")
    backups = tmp_path / "backups"
    backups.mkdir()
    command = said("assent-backup.service").replace(f"{_CODE}python", sys.executable)
    command = command.replace("/var/backups/assent", str(backups)).removeprefix("/bin/sh -c '").removesuffix("'")
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Verified" in done.stdout
    (made,) = backups.iterdir()
    assert len(made.name) == len("2026-11-26T031500Z")


def test_old_backups_are_deleted_and_the_newest_three_stay_whatever_their_age(tmp_path: Path) -> None:
    old = time.time() - 40 * 86400
    names = [f"2026-0{month}-01T031500Z" for month in range(1, 7)]
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (old, old))
    os.utime(tmp_path / names[1])
    command = said("assent-prune.service").replace("/var/backups/assent", str(tmp_path))
    subprocess.run(["/bin/sh", "-c", command.removeprefix("/bin/sh -c '").removesuffix("'")], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [names[1], *names[3:]]
