"""The examples of the client's README, and the calls of docs/agents/README.md, as written.

Run by another process, against a real server and reviewer.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from approvals import services
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.conftest import eventually, in_a_thread
from tests.docs.documents import document
from tests.end_to_end.conftest import Server
from tests.support.fixtures import MakeBlock

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "approvals" / "demo" / "blocks" / "alice"
README = (ROOT / "clients" / "python" / "README.md").read_text()

Run = Callable[..., subprocess.CompletedProcess[str]]


def example(words: str) -> str:
    """Return the one example of the README that has these words."""
    (found,) = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if words in code]
    return str(found)


@pytest.fixture
def goals(alice: User, make_block: MakeBlock) -> Block:
    """alice's block as the demo has it, which the example changes."""
    return make_block(alice, "goals", (DEMO / "goals.md").read_text())


@pytest.fixture
def run(server: Server, token: str, tmp_path: Path) -> Run:
    def start(code: str, program: str = sys.executable) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"MEMORY_URL": server.url, "MEMORY_TOKEN": token}
        command = [program, "-c", code]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    return start


def test_the_quick_start_proposes_waits_and_reads_the_decision(run: Run, goals: Block, alice: User) -> None:
    def review() -> None:
        proposal = eventually(lambda: Proposal.objects.filter(status="open").first(), seconds=60)
        services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)

    reviewing = in_a_thread(review)
    done = run(example("memory.proposals.wait"))
    reviewing.join()
    assert done.stderr == ""
    assert "/proposals/" in done.stdout
    assert "approved {'by': 'alice'" in done.stdout
    assert "German B2 in March" in reads.block("alice", "goals").body


def test_an_edit_that_does_not_fit_ends_with_what_the_model_is_told(run: Run, goals: Block) -> None:
    done = run(example("memory.proposals.wait").replace("German B2 in January", "German A1 in January"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: old_string not found in block 'goals'.")


def test_the_asynchronous_example_saves_finds_and_lists(run: Run) -> None:
    done = run(example("asyncio.run"))
    assert done.stderr == ""
    assert re.search(r"note-\S+ Prefers worked examples\.", done.stdout)


@pytest.mark.parametrize("words", ["webhooks.unwrap", "ContextManager"])
def test_the_other_examples_run(run: Run, words: str) -> None:
    done = run(example(words))
    assert (done.returncode, done.stderr) == (0, "")


def test_every_example_is_run_here() -> None:
    assert len(re.findall("```python\n", README)) == 4


def test_each_call_of_the_page_about_rest_is_answered(run: Run, goals: Block) -> None:
    shell = [code for code in document("docs/agents/README.md").fences("sh") if code.startswith("curl")]
    assert len(shell) == 4
    for code in shell:
        done = run(code, "sh")
        assert done.stderr == ""
        assert done.stdout.count('"ok": true') == code.count("curl ")
        assert '"ok": false' not in done.stdout
    assert Proposal.objects.get().reasoning == "She said so today."
