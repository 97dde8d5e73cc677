"""What gets installed is exactly what the lock files say, and they say it without naming a place."""

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("runtime", "server", "dev", "fuzz")
INTEGRATIONS = sorted(f"integrations/{each.stem}" for each in (ROOT / "locks" / "integrations").glob("*.txt"))


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==(\S+)", text, re.MULTILINE))


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


@pytest.mark.parametrize("lock", [*LOCKS, *INTEGRATIONS])
def test_every_package_is_pinned_with_hashes_wherever_it_comes_from(lock: str) -> None:
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if not entry.startswith("#")]
    assert entries
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []

    assert "://" not in text
    assert "index" not in re.sub(r"^[a-z0-9.-]+==.*$", "", text, flags=re.MULTILINE)


def test_the_locks_hold_what_the_project_asks_for_and_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    client = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # The client comes from this repository, so a lock has what it asks for in its place.
    assert "assent-client" in project["dependencies"]
    always = [each for each in project["dependencies"] if each != client["name"]] + client["dependencies"]
    wanted = {
        "runtime": always,
        "server": always + extras["server"],
        "dev": always + extras["test"] + extras["lint"],
        "fuzz": always + extras["test"] + extras["fuzz"],
    }
    for lock, requirements in wanted.items():
        missing = {name_of(requirement) for requirement in requirements} - set(pins(lock))
        assert missing == set(), f"run `make lock` (locks/{lock}.txt)"
        assert pins("runtime").items() <= pins(lock).items(), "the locks do not agree"


def test_every_integration_has_a_lock_with_what_it_asks_for() -> None:
    folders = [each.parent for each in (ROOT / "tests" / "integrations").glob("*/requirements.in")]
    assert sorted(f"integrations/{each.name}" for each in folders) == INTEGRATIONS
    for folder in folders:
        asked = [line for line in (folder / "requirements.in").read_text().splitlines() if line[:1].isalnum()]
        missing = {name_of(requirement) for requirement in asked} - set(pins(f"integrations/{folder.name}"))
        assert missing == set(), f"run `make lock` (locks/integrations/{folder.name}.txt)"


def test_what_compiles_or_is_copyleft_is_in_the_server_extra_only() -> None:
    assert not {"mysqlclient", "psycopg", "psycopg-binary"} & (set(pins("runtime")) | set(pins("dev")))
