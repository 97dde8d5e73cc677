"""Make the databases a release leaves behind: `.venv/bin/python tests/support/make_release.py 0.1`, once a release.

Run at the release's own commit, where Dolt and PostgreSQL are installed. It writes a backup of each edition, with
people, a history, and proposals that wait, to `tests/fixtures/releases/`; `deployment/test_releases.py` opens every
one of them with the code of today.
"""

import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# As a script (not -m): on macOS DoltLite starts this file once more with itself preloaded.
sys.path.insert(0, str(ROOT))

from tests import services  # noqa: E402
from tests.support.places import run  # noqa: E402

RELEASES = ROOT / "tests" / "fixtures" / "releases"
#: What texts are sealed with there, since 0.2.
TEXT_KEY = "5e" * 32

POPULATE = """
import django; django.setup()
from approvals import services
from approvals.models import Agent, Policy, Tutorship, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.text.edits import Replace
alice, ben, tim = (User.objects.create_user(name) for name in ("alice", "ben", "tim"))
Tutorship.objects.create(tutor=tim, owner=alice)
scribe = Agent.objects.create(name="scribe")
def propose(owner, old, new):
    return services.propose(agent=scribe, owner=owner, label="goals", edits=[Replace(old, new)], kind="edit",
                            reasoning="She said so.").proposal
for owner in (alice, ben):
    fields = services.BlockFields(title="Goals", description="", body="Likes math.\\nReads a lot.\\n", limit=20_000)
    services.create_block(actor=owner, owner=owner.username, label="goals", fields=fields)
propose("ben", "math", "maths")
approved = propose("alice", "a lot", "at night")
before = reads.block("alice", "goals").sha256
propose("alice", "math", "maths")  # stale as soon as the other is approved
services.approve(actor=tim, proposal_id=approved.pk, revision=1, seen_sha256=before, comment="Fine.")
notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Likes tea.")
Policy.objects.create(owner="alice", notes="review")
notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Likes milk.")
"""


def make(edition: str, release: str, urls: dict[str, str]) -> Path:
    """Write the databases of one edition; the file."""
    with tempfile.TemporaryDirectory(prefix="assent-release-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the servers have users of their own
        own = {
            "ASSENT_DATA_DIR": str(folder / "data"),
            "ASSENT_DEBUG": "1",
            "REDIS_URL": "",
            "ASSENT_TEXT_KEY": TEXT_KEY,
        }
        place = urls | own | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"}
        for arguments in (["manage.py", "prepare"], ["-c", POPULATE], ["manage.py", "backup", str(folder / "backup")]):
            run([sys.executable, *arguments], place).check_returncode()
        target = RELEASES / f"{release}-{edition}.tar.gz"
        with tarfile.open(target, "w:gz") as archive:
            archive.add(folder / "backup", arcname="backup")
    return target


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    RELEASES.mkdir(parents=True, exist_ok=True)
    with services.running() as servers:
        for edition, urls in (("embedded", {"MEMORY_DATABASE_URL": "", "DATABASE_URL": ""}), ("server", servers)):
            made = make(edition, sys.argv[1], urls | {"REDIS_URL": ""})
            print(f"{made.relative_to(ROOT)}  {made.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    services.unwind_on_signals()
    sys.exit(main())
