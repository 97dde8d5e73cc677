"""docker-compose.yml and the Dockerfile as data, and the image built without Docker: a folder.

Containers cannot be run where the tests run. So the tests do what a build would do (copy what is copied,
collect static files) and start each service's own command in that folder with its own environment, with
only the addresses of the databases replaced.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]

SECRETS = {
    "ASSENT_SECRET_KEY": "a-long-random-value-for-this-test-" + "x" * 30,
    "ASSENT_TEXT_KEY": "00112233445566778899aabbccddeeff" * 2,
    "ASSENT_PUBLIC_URL": "https://assent.example.org",
    "ASSENT_ALLOWED_HOSTS": "assent.example.org",
    "DOLT_PASSWORD": "doltpassword",
    "DOLT_ROOT_PASSWORD": "doltrootpassword",
    "POSTGRES_PASSWORD": "postgrespassword",
    "REDIS_PASSWORD": "redispassword",
}


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def interpolate(text: str) -> str:
    """`${NAME:?message}` and `${NAME:-default}` as compose does it; `$$` is a dollar sign."""

    def value(found: re.Match[str]) -> str:
        if found["dollar"]:
            return "$"
        if found["name"] in SECRETS:
            return SECRETS[found["name"]]
        assert found["operator"] == ":-", f"{found['name']} is required and has no value"
        return found["rest"]

    return re.sub(r"(?P<dollar>\$\$)|\$\{(?P<name>\w+)(?P<operator>:[?-])(?P<rest>[^}]*)\}", value, text)


def dockerfile() -> list[tuple[str, str]]:
    """Its instructions: (`FROM`, `python:… AS build`), …"""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def copied() -> list[tuple[list[str], str]]:
    """What the last stage takes from the project: (sources, target)."""
    found: list[tuple[list[str], str]] = []
    for name, rest in dockerfile():
        if name == "FROM":
            found.clear()
        elif name == "COPY" and "--from" not in rest:
            *sources, target = shlex.split(rest)
            found.append((sources, target))
    return found


@dataclass(frozen=True)
class Image:
    """The folder `/app` of the image."""

    app: Path

    def environment(self, service: str | None, **replaced: str) -> dict[str, str]:
        """What a container of this service finds in its environment, with some of it replaced."""
        names = {"PATH", "HOME", "LANG", "TMPDIR"}
        environment = {name: value for name, value in os.environ.items() if name in names}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        for instruction, rest in dockerfile():
            if instruction == "ENV":
                pairs = (pair.split("=", 1) for pair in shlex.split(rest))
                environment |= {name: value for name, value in pairs if name != "PATH"}
        given = compose()["services"][service]["environment"] if service else {}
        return environment | {name: interpolate(str(value)) for name, value in given.items()} | replaced

    def run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.app, env=environment, capture_output=True, text=True, timeout=60, check=False
        )


def build(folder: Path) -> Image:
    """Do what the last stage of the Dockerfile does."""
    image = Image(folder / "app")
    image.app.mkdir()
    for sources, target in copied():
        for source in sources:
            place = image.app / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / source, place)
    collect = next(rest for name, rest in dockerfile() if name == "RUN" and "collectstatic" in rest)
    collect = collect.replace("/tmp/collectstatic", str(folder / "collectstatic"))
    done = image.run(["sh", "-c", collect], image.environment(None))
    assert done.returncode == 0, done.stderr
    return image
