"""`manage.py move`: an embedded site on servers, with all its history."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import environment
from tests.support.places import empty_place, manage, python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(environment.is_embedded(), reason="needs the servers to move to"),
]

#: A memory with every kind of commit: merges, edits, undone ones, what was deleted, a history that was squashed.
ACTS = """
import io
from django.core.management import call_command
call_command("prepare", stdout=io.StringIO())
call_command("demo", stdout=io.StringIO())
from approvals import services
from approvals.models import Proposal, User
from approvals.recovery import history
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.types import FIRST
from tests.support.acts import approve, reject
SECOND = "memory_2"
tim, alice = (User.objects.get(username=name) for name in ("tim", "alice"))
opened = Proposal.objects.filter(owner="alice", status="open", target_kind="block", mergeability="clean")
first, second, third, *rest = opened
approve(tim, first)
approve(tim, second)
services.undo(actor=tim, proposal_id=second.pk)
reject(tim, third)
services.undo(actor=tim, proposal_id=third.pk)
services.comment(actor=tim, proposal_id=third.pk, text='{"see": "%s"}' % reads.head("alice"))
services.comment(actor=tim, proposal_id=third.pk, text=reads.head("alice"))
gone = reads.notes("alice")[0].id
history.squash(FIRST)
notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=gone)
for each in rest[:1]:
    approve(tim, each)
call_command("memories", "add", SECOND, stdout=io.StringIO())
for name in ("ada", "eve"):
    owner = User.objects.create_user(name)
    fields = services.BlockFields("Goals", "", f"{name} sails.", 2000)
    services.create_block(actor=owner, owner=name, label="goals", fields=fields)
"""

#: All that can be read, without the hashes.
READ = """
import json
from django.db.models import F
from approvals.models import Event, OwnerCounts, Proposal, Revision, User
from memory_app import reads
from memory_app.models import Change, MemoryOwner
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.placement import databases
from memory_app.text.trailers import Trailers
from approvals.recovery.integrity import problems
def text(change):
    try:
        if change.target_kind == "block":
            found = reads.find_block(change.owner, change.target, change.commit)
            return found and [found.body, found.title, found.sha256, str(found.created_at), found.read_only]
        found = reads.find_notes(change.owner, [change.target], change.commit).get(change.target)
        return found and [found.as_json()]
    except reads.RevisionNotFound:
        return "cannot be read"
changes = Change.objects.order_by("id")
known = set(changes.values_list("commit", flat=True))
# Without what the engine began with, and the schema.
log = [each for name in databases() for each in dolt_of(name).own_log() if Trailers.of(each.message).action]
said = lambda each: each.message.partition("Undoes")[0]
facts = "pk owner target action actor agent proposal_id at"
print(json.dumps({
    "problems": [str(each) for each in problems()],
    "log": [[each.author, each.email, each.at, said(each), len(each.parents)] for each in log],
    "in the ledger": [each.hash in known for each in log],
    "changes": [[*(getattr(each, name) for name in facts.split()), text(each)] for each in changes],
    "owners": list(MemoryOwner.objects.order_by("owner").values_list("owner", "database")),
    "people": list(User.objects.order_by("id").values_list("username", "password", "is_staff", "email")),
    "proposals": list(Proposal.objects.order_by("id").values_list("id", "status", "mergeability", "decision_comment")),
    "revisions": list(Revision.objects.order_by("id").values_list("id", "number", "base_text", "result_text")),
    "events": list(Event.objects.order_by("id").values_list("id", "what", "text")),
    "commits of events": [each.data.get("commit", "") in {"", *known} for each in Event.objects.order_by("id")],
    "counts": list(OwnerCounts.objects.order_by("person").values_list("person", "waiting", "approved")),
}, default=str))
"""


#: Where commits of the embedded site are still named.
LEFT = """
import json, re
from django.apps import apps
from django.db import router
found = set()
for model in apps.get_models():
    if router.allow_migrate_model("default", model):
        named = [item for row in model.objects.values() for item in row.items()]
        found |= {(model.__name__, name) for name, value in named if re.search(r"\\b[0-9a-f]{40}\\b", str(value))}
print(json.dumps(sorted(found)))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an embedded site with a history."""
    embedded = {"DATABASE_URL": "", "MEMORY_DATABASE_URL": "", "REDIS_URL": "", "ASSENT_DEBUG": "1"}
    place = {"ASSENT_DATA_DIR": str(tmp_path_factory.mktemp("embedded")), **embedded}
    python(ACTS, **place)
    return place


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, str]]:
    with empty_place(tmp_path) as place:
        yield place | {"ASSENT_DEBUG": "1"}


def everything(place: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(python(READ, **place))
    return found


GO_ON = """
from approvals import services
from approvals.models import Proposal, User
from approvals.recovery.integrity import problems
from tests.support.acts import approve
tim = User.objects.get(username="tim")
opened = Proposal.objects.filter(status="open", mergeability="clean", owner="alice")
made = [each.pk for each in opened[:3] if approve(tim, each)]
done = Proposal.objects.filter(status="approved").exclude(pk__in=made).order_by("decided_at").last()
services.undo(actor=tim, proposal_id=done.pk)
new = User.objects.create_user("zoe", password="x")
print(len(made), [str(each) for each in problems()])
"""


def test_all_that_can_be_read_is_there_with_its_history(site: dict[str, str], servers: dict[str, str]) -> None:
    before = everything(site)
    assert before["problems"] == []
    assert len(before["log"]) > 20
    done = manage("move", site["ASSENT_DATA_DIR"], **servers)
    assert done.returncode == 0, done.stderr
    # What a person wrote is as they wrote it, and decided proposals have no branch.
    assert json.loads(python(LEFT, **servers)) == [["Event", "text"], ["Revision", "head_commit"]]
    after = everything(servers)
    for name, found in before.items():
        assert after[name] == found, name
    assert python(GO_ON, **servers) == "3 []"


def test_what_cannot_be_moved_is_refused(site: dict[str, str], servers: dict[str, str], tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(site["ASSENT_DATA_DIR"], older)
    with closing(sqlite3.connect(older / "assent.sqlite3")) as default:
        default.execute("DELETE FROM django_migrations WHERE app = 'approvals'")
        default.commit()
    done = manage("move", older, **servers)
    assert done.returncode == 1
    assert "is of an older version: run `manage.py prepare` there first" in done.stderr
    python("from approvals.models import User; User.objects.create_user('bea')", **servers)
    done = manage("move", site["ASSENT_DATA_DIR"], **servers)
    assert done.returncode == 1
    assert done.returncode == 1
    assert "There is something already in the databases" in done.stderr
    done = manage("move", Path(site["ASSENT_DATA_DIR"]).parent, **servers)
    assert "is not the ASSENT_DATA_DIR of an embedded site" in done.stderr


#: A move that dies after a step was done so many times.
DIES = """
import os, signal
from pathlib import Path
from approvals.recovery import servers
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.replay import Replay
from memory_app.dolt.types import FIRST
where, name, left = {where}, {name!r}, {times}
work = getattr(where, name)
def dying(*args, **kwargs):
    global left
    done = work(*args, **kwargs)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
setattr(where, name, dying)
servers.move(Path({folder!r}), print)
"""
STEPS = [
    ("Replay", "_start_anew", 1),
    ("Replay", "_put", 30),
    ("Replay", "_commit", 12),
    ("type(dolt_of(FIRST))", "create_branch", 4),
    ("type(dolt_of(FIRST))", "begin_merge", 2),
    ("type(dolt_of(FIRST))", "drop_branch", 3),
    ("Replay", "_name", 1),
    ("Replay", "write", 1),
    ("Replay", "write", 2),
    ("servers", "_moved", 900),
    ("servers", "_copy", 1),
    ("servers", "recover", 1),
    ("servers", "problems", 1),
]


@pytest.mark.parametrize("steps", [STEPS[1::4], pytest.param(STEPS, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.timeout(600)
def test_one_that_was_killed_is_repeated(
    site: dict[str, str], servers: dict[str, str], steps: list[tuple[str, str, int]]
) -> None:
    folder = site["ASSENT_DATA_DIR"]
    for where, name, times in steps:
        program = DIES.format(where=where, name=name, times=times, folder=folder)
        with pytest.raises(AssertionError) as died:
            python(program, **servers)
        assert "Traceback" not in str(died.value), (where, name, died.value)
    done = manage("move", folder, **servers)
    assert done.returncode == 0, done.stderr
    before, after = everything(site), everything(servers)
    assert after == before
