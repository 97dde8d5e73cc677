"""Databases of earlier releases, with proposals that wait, are opened by the code of today and go on.

`tests/support/make_release.py` makes them, at each release.
"""

import json
import tarfile
from pathlib import Path

import pytest

from tests import environment
from tests.support.make_release import RELEASES
from tests.support.places import empty_place, manage, python

pytestmark = pytest.mark.slow

EDITION = "embedded" if environment.is_embedded() else "server"

#: As somebody who updates does it: the databases stay where they are.
LOAD = """
from pathlib import Path
from memory_app.databases import backups
from memory_app.databases.backups import Manifest
from memory_app.dolt.connections import dolt
folder = Path({folder!r})
backups.restore_default(folder / Manifest.read(folder).default.copy)
dolt().restore(folder / Manifest.read(folder).memory.copy)
"""

GO_ON = """
import json
from approvals import services
from approvals.recovery.integrity import problems
from approvals.models import Agent, Proposal, User
from approvals.review.targets import current_state
from memory_app import reads
from memory_app.text.edits import Replace
found = list(map(str, problems()))
staff = User.objects.create_user("admin", is_staff=True)
words = sorted(Proposal.objects.filter(owner="ben").values_list("search_words", flat=True))
waiting = list(Proposal.objects.open().order_by("pk"))
for proposal in waiting:
    seen = current_state(proposal, proposal.current_revision).sha256
    services.approve(actor=staff, proposal_id=proposal.pk, revision=proposal.current_revision_number, seen_sha256=seen)
new = services.propose(agent=Agent.objects.get(), owner="ben", label="goals", kind="edit", reasoning="Why not.",
                       edits=[Replace("a lot", "at night")]).proposal
print(json.dumps([found, len(waiting), reads.block("alice", "goals").body, reads.block("ben", "goals").body,
    sorted(note.content for note in reads.notes("alice")), new.status, list(map(str, problems())), words]))
"""


@pytest.mark.parametrize("how", ["prepare", "restore"])
@pytest.mark.parametrize("release", sorted(RELEASES.glob(f"*-{EDITION}.tar.gz")), ids=lambda path: path.name)
def test_a_release_s_databases_are_brought_up_to_date_and_go_on(release: Path, how: str, tmp_path: Path) -> None:
    with tarfile.open(release) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "backup"
    with empty_place(tmp_path / "new") as place:
        if how == "prepare":
            (tmp_path / "new").mkdir()
            python(LOAD.format(folder=str(folder)), **place)
            done = manage("prepare", **place)
        else:
            done = manage("restore", folder, **place)
        assert done.returncode == 0, done.stderr
        before, waiting, alice, ben, notes, status, after, words = json.loads(python(GO_ON, **place))
    assert before == []
    assert waiting == 3
    assert alice == "Likes maths.\nReads at night.\n"
    assert ben == "Likes maths.\nReads a lot.\n"
    assert notes == ["Likes milk.", "Likes tea."]
    assert status == "open"
    assert after == []
    (found_by,) = words  # the release had no such column
    assert {"math", "maths", "said", "goals"} <= set(found_by.split())


def test_there_is_a_release_to_open() -> None:
    assert list(RELEASES.glob(f"*-{EDITION}.tar.gz")), "run tests/support/make_release.py"
