"""The image is pinned, small, complete and runs as a normal user."""

import re

import pytest

from tests.deployment.containers import ROOT, copied, dockerfile

pytestmark = pytest.mark.pure


def last_stage() -> list[tuple[str, str]]:
    instructions = dockerfile()
    last = max(number for number, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[last:]


def test_every_stage_starts_from_a_pinned_slim_image() -> None:
    bases = [rest.split()[0] for name, rest in dockerfile() if name == "FROM"]
    assert bases
    for base in bases:
        assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base)


def test_it_runs_as_a_normal_user_without_the_compiler_and_has_a_health_check() -> None:
    assert {"HEALTHCHECK", "CMD", "EXPOSE"} <= {name for name, _ in last_stage()}
    users = [rest for name, rest in last_stage() if name == "USER"]
    assert users
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]), "a number, which Kubernetes can tell from root's"
    assert "gcc" not in "".join(rest for _, rest in last_stage())


def test_everything_it_copies_is_there_and_let_through() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    everywhere = [rest.split()[0] for name, rest in dockerfile() if name == "COPY" and "--from" not in rest]
    for source in {source for sources, _ in copied() for source in sources} | set(everywhere):
        assert (ROOT / source).exists(), source
        assert source in let_through, f"{source} is left out by .dockerignore"


def test_packages_come_from_the_lock_with_their_hashes() -> None:
    installs = [rest for name, rest in dockerfile() if name == "RUN" and "pip install" in rest]
    assert installs
    assert all("--require-hashes" in rest for rest in installs)
