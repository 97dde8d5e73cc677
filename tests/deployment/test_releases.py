"""Databases of earlier releases, with proposals that wait, are opened by the code of today and go on.

`tests/support/make_release.py` makes them, at each release.
"""

import json
import tarfile
from pathlib import Path

import pytest

from tests import environment
from tests.support.make_release import RELEASES, TEXT_KEY
from tests.support.places import empty_place, manage, python

#: With files each place is a folder of its own, and no database of the other tests has to be made for it.
pytestmark = [pytest.mark.slow, *([pytest.mark.pure] if environment.is_embedded() else [])]

EDITION = "embedded" if environment.is_embedded() else "server"
FILES = sorted(RELEASES.glob(f"*-{EDITION}.tar.gz"))
assert FILES, "run tests/support/make_release.py"

#: As somebody who updates does it: the databases stay where they are.
LOAD = """
from pathlib import Path
from django.core.management import call_command
from memory_app.databases import backups
from memory_app.databases.backups import Manifest
from tests.support.first import dolt
folder = Path({folder!r})
backups.restore_default(folder / Manifest.read(folder).default.copy)
dolt().restore(folder / Manifest.read(folder).memory.copy)
"""

#: What must not be said of older tables is that something is damaged. In one process: each would start for two seconds.
REFUSE = """
import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from django.core.management import execute_from_command_line
refused = []
for command in ("check_memory", "recover", "backup /nowhere", "memories list", "rebuild_ledger", "gc"):
    with redirect_stderr(StringIO()) as errors, redirect_stdout(StringIO()) as output:
        try:
            code = execute_from_command_line(["manage.py", *command.split()])
        except SystemExit as ended:
            code = ended.code
    refused.append([command, code, errors.getvalue(), output.getvalue()])
print(json.dumps(refused))
"""

GO_ON = """
import json
from io import StringIO
from django.core.management import call_command
from approvals import services
from approvals.recovery.integrity import problems
from approvals.models import Agent, Proposal, User
from approvals.review.targets import current_state
from memory_app import reads
from memory_app.models import MemoryOwner
from memory_app.text.edits import Replace
before = list(map(str, problems()))
again = StringIO()
call_command("prepare", stdout=again)
placed = sorted(map(list, MemoryOwner.objects.values_list("owner", "database_id")))
staff = User.objects.create_user("admin", is_staff=True)
words = sorted(Proposal.objects.filter(owner="ben").values_list("search_words", flat=True))
waiting = list(Proposal.objects.open().order_by("pk"))
for proposal in waiting:
    seen = current_state(proposal, proposal.current_revision).sha256
    services.approve(actor=staff, proposal_id=proposal.pk, revision=proposal.current_revision_number, seen_sha256=seen)
new = services.propose(agent=Agent.objects.get(), owner="ben", label="goals", kind="edit", reasoning="Why not.",
                       edits=[Replace("a lot", "at night")]).proposal
print(json.dumps({"problems before": before, "waiting": len(waiting), "alice": reads.block("alice", "goals").body,
    "ben": reads.block("ben", "goals").body, "notes": sorted(note.content for note in reads.notes("alice")),
    "new": new.status, "problems": list(map(str, problems())), "prepared again": again.getvalue(),
    "placed": placed, "words": words}))
"""


@pytest.mark.parametrize("how", ["prepare", "restore"])
@pytest.mark.parametrize("release", FILES, ids=lambda path: path.name)
def test_a_release_s_databases_are_brought_up_to_date_and_go_on(release: Path, how: str, tmp_path: Path) -> None:
    with tarfile.open(release) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "backup"
    with empty_place(tmp_path / "new") as empty:
        place = empty | {"ASSENT_TEXT_KEY": TEXT_KEY}
        if how == "prepare":
            (tmp_path / "new").mkdir()
            python(LOAD.format(folder=str(folder)), **place)
            # The tables of the newest release may be today's.
            is_behind = manage("migrate", "--check", **place).returncode
            refused = json.loads(python(REFUSE, **place)) if is_behind else []
            assert len(refused) == (6 if is_behind else 0)
            assert is_behind or release is FILES[-1]
            for command, code, errors, output in refused:
                assert code == 1, command
                assert errors.count("run `manage.py prepare` first") == 1, errors
                assert "estore" not in errors + output
            assert manage("prepare", **place).returncode == 0
            printed = python(GO_ON, **place)
        else:
            done = manage("restore", folder, **place)
            assert done.returncode == 0, done.stderr
            printed = python(GO_ON, **place)
    found = json.loads(printed.splitlines()[-1])
    (words,) = found.pop("words")  # the release had no such column
    assert {"math", "maths", "said", "goals"} <= set(words.split())
    assert found == {
        "problems before": [],
        "waiting": 3,
        "alice": "Likes maths.\nReads at night.\n",
        "ben": "Likes maths.\nReads a lot.\n",
        "notes": ["Likes milk.", "Likes tea."],
        "new": "open",
        "placed": [["alice", "memory"], ["ben", "memory"]],
        "problems": [],
        "prepared again": "",  # nothing is left to do
    }
