"""`make torture` works: a few kills of this edition, and a model that finds what it is there to find."""

import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests import environment
from tests.torture import model

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.pure]


SEVERAL_WEBS = pytest.mark.skipif(environment.is_embedded(), reason="a file is for one web server")


@pytest.mark.parametrize("webs", [1, pytest.param(2, marks=SEVERAL_WEBS)])
def test_kills_lose_nothing_that_was_acknowledged(webs: int) -> None:
    leg, faults = ("embedded", "kill -9 web,kill -9 web's worker")
    if not environment.is_embedded():
        leg, faults = ("server", "kill -9 web,kill -9 dolt,kill -9 postgres")
    if webs > 1:
        faults = "kill -9 web,kill -9 web 2,kill -9 worker"
    arguments = ["tests/torture/run.py", "--leg", leg, "--faults", faults, "--most", str(faults.count(",") + 1)]
    arguments += ["--webs", str(webs)]
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        printed, _ = process.communicate(timeout=280)
    except subprocess.TimeoutExpired:
        process.terminate()  # not killed: it has processes of its own to end
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    assert printed.rstrip().endswith("0 lost, 0 unapproved, 0 doubled, 0 stuck")
    for fault in faults.split(","):
        assert re.search(rf"^{fault} +1 ", printed, re.MULTILINE), printed
    acknowledged = re.search(r"acknowledged: (\d+) proposals", printed)
    assert acknowledged is not None
    assert int(acknowledged[1]) > 0


# -- the model -------------------------------------------------------------------------------------

ENTRIES = [
    {"what": "propose", "acknowledged": True, "mark": "m1", "id": 1},
    {"what": "approve", "acknowledged": True, "id": 1},
    {"what": "propose", "acknowledged": True, "mark": "m2", "id": 2},
    {"what": "approve", "acknowledged": False, "id": 2},
    {"what": "propose", "acknowledged": True, "mark": "m3", "id": 3},
    {"what": "reject", "acknowledged": True, "id": 3},
    {"what": "note", "acknowledged": True, "mark": "m4", "count": 1},
    {"what": "import", "acknowledged": False, "mark": "m5", "count": 2},
]
SAID: dict[str, Any] = {
    "blocks": {"log": "She said so. [m1]\n"},
    "notes": [{"id": "mem-1-aaaa", "content": "Note [m4]"}],
    "proposals": [
        {"id": 1, "status": "approved", "kind": "edit", "reasoning": "[m1]"},
        {"id": 2, "status": "open", "kind": "edit", "reasoning": "[m2]"},
        {"id": 3, "status": "rejected", "kind": "edit", "reasoning": "[m3]"},
    ],
    "ledger": [
        {"action": "approved", "kind": "block", "target": "log", "proposal_id": 1},
        {"action": "applied", "kind": "note", "target": "mem-1-aaaa", "proposal_id": 4},
    ],
    "problems": [],
}


def test_what_was_acknowledged_is_right_and_what_was_not_answered_may_have_happened() -> None:
    assert model.compare(ENTRIES, SAID).sentences() == []
    said = deepcopy(SAID)
    said["blocks"]["log"] += "She said so. [m2]\n"
    said["proposals"][1]["status"] = "approved"
    said["ledger"].append({"action": "approved", "kind": "block", "target": "log", "proposal_id": 2})
    for number in range(2):
        said["notes"].append({"id": f"mem-{number}-bbbb", "content": "Imported [m5]"})
        said["ledger"].append({"action": "applied", "kind": "note", "target": f"mem-{number}-bbbb", "proposal_id": 5})
    assert model.compare(ENTRIES, said).sentences() == []


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda said: said["blocks"].update(log=""), "lost"),
        (lambda said: said["proposals"].pop(2), "lost"),
        (lambda said: said["proposals"][0].update(status="open"), "lost"),
        (lambda said: said["ledger"].pop(0), "lost"),
        (lambda said: said["ledger"].pop(1), "lost"),
        (lambda said: said["notes"].clear(), "lost"),
        (lambda said: said["notes"].append({"id": "mem-1-bbbb", "content": "Imported [m5]"}), "lost"),  # one of two
        (lambda said: said["blocks"].update(log="[m1] [m2]"), "unapproved"),
        (lambda said: said["proposals"][2].update(status="approved"), "unapproved"),
        (lambda said: said["notes"].append({"id": "mem-1-aaaa", "content": "[m99]"}), "unapproved"),
        (lambda said: said["blocks"].update(log="[m1] [m1]"), "doubled"),
        (lambda said: said["proposals"].append(SAID["proposals"][1] | {"id": 9}), "doubled"),
        (lambda said: said["ledger"].append(SAID["ledger"][0]), "doubled"),
        (lambda said: said["notes"].append(SAID["notes"][0]), "doubled"),
        (lambda said: said["proposals"][1].update(status="merging"), "stuck"),
        (lambda said: said["problems"].append("a branch is gone"), "stuck"),
    ],
)
def test_whatever_is_wrong_is_found(wrong: Any, kind: str) -> None:
    said = deepcopy(SAID)
    wrong(said)
    assert kind in {sentence.partition(":")[0] for sentence in model.compare(ENTRIES, said).sentences()}
