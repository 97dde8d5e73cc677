"""`manage.py audit`: a second copy of who did and decided what, in which every change is found."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from approvals import audit, services
from approvals.management.commands import audit as command
from approvals.models import AuditEvent, Event, Proposal, RejectReason, User
from memory_app.models import Change
from memory_app.reads import Block
from tests.support import acts
from tests.support.background import wait_for_threads
from tests.support.fixtures import Propose
from tests.support.places import ROOT

Export = Callable[..., Path]
Lines = list[str]


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """`export("one", after=…)`: the file of that name."""
    monkeypatch.setattr(command, "_SETTLES", timedelta(0))
    monkeypatch.setattr(command, "_AT_ONCE", 3)

    def make(name: str, **options: Any) -> Path:
        said = StringIO()
        call_command("audit", stdout=said, **options)
        path = tmp_path / name
        path.write_text(said.getvalue())
        return path

    return make


@pytest.fixture
def decided(goals: Block, tim: User, alice: User, propose: Propose) -> list[Proposal]:
    audit.record(AuditEvent.Act.SIGNED_IN, owner="tim", actor="tim")
    audit.record(AuditEvent.Act.OPENED, owner="alice", actor="tim", detail="blocks")
    approved = acts.approve(tim, propose(goals, "math", "maths"), comment="zebrafinch is right")
    rejected = acts.reject(alice, propose(goals, "likes", "loves"), RejectReason.WRONG, comment="zebrafinch is wrong")
    wait_for_threads()
    return [approved, rejected]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def problems(*paths: Path) -> list[str]:
    said = StringIO()
    with suppress(CommandError):
        call_command("audit", verify=list(paths), stdout=said)
    found = said.getvalue().splitlines()
    return [] if found == ["Nothing was altered."] else found


def test_it_has_what_people_did_and_decided_and_what_that_did_to_the_memory(
    decided: list[Proposal], export: Export
) -> None:
    path = export("one")
    said = lines(path)
    assert [line["kind"] for line in said if line["kind"] in ("begin", "end")] == ["begin", "end"]
    for kind, model in (("audit", AuditEvent), ("event", Event), ("change", Change)):
        assert [line["id"] for line in said if line["kind"] == kind] == [row.pk for row in model.objects.order_by("pk")]
    (approval,) = [line for line in said if line.get("what") == "approved"]
    assert (approval["actor"], approval["owner"], approval["proposal_id"]) == ("tim", "alice", decided[0].pk)
    assert problems(path) == []


def test_texts_are_in_it_as_keyed_hashes_alone(decided: list[Proposal], export: Export) -> None:
    said = export("one").read_text()
    assert "zebrafinch" not in said
    assert "loves" not in said
    assert re.search(r'"text": "[0-9a-f]{64}"', said)


@pytest.mark.parametrize(
    ("alter", "where"),
    [
        (lambda all: [*all[:3], all[3].replace("scribe", "robot"), *all[4:]], "line 4: altered"),
        (lambda all: [*all[:3], *all[4:]], "line 4: altered"),
        (lambda all: [*all[:3], all[4], all[3], *all[5:]], "line 4: altered"),
        (lambda all: [*all[:4], all[3], *all[4:]], "line 5: altered"),
        (lambda all: [*all[:4], "banana", *all[4:]], "line 5: altered"),
        (lambda all: [*all[:4], "[1, 2]", *all[4:]], "line 5: altered"),
        (lambda all: all[1:], "line 1: altered"),
        (lambda all: all[:-1], "the end is missing"),
        (lambda all: [], "the end is missing"),
    ],
    ids="changed removed moved doubled foreign list begin end empty".split(),
)
def test_what_was_done_to_a_file_is_found_where_it_was_done(
    decided: list[Proposal], export: Export, alter: Callable[[Lines], Lines], where: str
) -> None:
    path = export("one")
    all_ = path.read_text().splitlines()
    assert "scribe" in all_[3]
    path.write_text("".join(f"{line}\n" for line in alter(all_)))
    assert where in problems(path)[0]


def test_a_file_goes_on_where_the_one_before_ends_and_only_there(
    decided: list[Proposal], goals: Block, tim: User, propose: Propose, export: Export, tmp_path: Path
) -> None:
    first = export("one")
    acts.reject(tim, propose(goals, "likes", "hates"))
    second = export("two", after=first)
    assert len(lines(second)) == 4  # the two events between begin and end
    assert lines(second)[0]["previous"] == lines(first)[-1]["hash"]
    assert problems(first, second) == problems(second) == []
    other = export("other")
    assert problems(other, second) == [f"{second} does not follow on the file before."]
    # Whoever cuts a file and makes its hashes anew is found by the next one.
    last: dict[str, Any] = {"hash": ""}
    forged = []
    for line in [*lines(first)[:-3], lines(first)[-1]]:
        last = command._sealed({name: value for name, value in line.items() if name != "hash"}, last["hash"])
        forged.append(json.dumps(last))
    first.write_text("\n".join(forged))
    assert problems(first) == []
    assert problems(first, second) == [f"{second} does not follow on the file before."]


@pytest.mark.parametrize("name", ["missing_end", "empty"])
def test_nothing_goes_on_after_a_file_that_was_cut(decided: list[Proposal], export: Export, name: str) -> None:
    path = export("one")
    all_ = path.read_text().splitlines()
    path.write_text("\n".join(all_[:-1] if name == "missing_end" else []))
    with pytest.raises(CommandError, match="has no end"):
        export("two", after=path)


@pytest.mark.parametrize(
    ("model", "what", "values", "field"),
    [
        (Event, "rejected", {"actor": "ben"}, "actor"),
        (Event, "rejected", {"text": "Another reason."}, "text"),
        (Event, "rejected", {"text": ""}, "text"),
        (Event, "rejected", {"data": {"reason": "outdated"}}, "data"),
        (Event, "approved", {"data": {}}, "data"),
        (AuditEvent, "opened", {"owner": "ben"}, "owner"),
        (Change, "approved", {"actor": "ben"}, "actor"),
        (Change, "approved", {"comment": "Another."}, "comment"),
    ],
)
def test_what_is_altered_in_the_database_later_is_found(
    decided: list[Proposal], export: Export, model: Any, what: str, values: dict[str, Any], field: str
) -> None:
    path = export("one")
    column = "action" if model is Change else "what"
    assert model.objects.filter(**{column: what}).update(**values) == 1
    (said,) = problems(path)
    assert said.endswith(f"says something else in the database: {field}.")


def test_what_is_deleted_is_found_but_for_acts_whose_time_is_over(decided: list[Proposal], export: Export) -> None:
    path = export("one")
    AuditEvent.objects.all().delete()
    assert problems(path) == []
    Event.objects.filter(what="rejected").delete()
    (said,) = problems(path)
    assert said.endswith("is not there any more.")


def test_texts_that_a_person_removed_are_no_problem(decided: list[Proposal], alice: User, export: Export) -> None:
    path = export("one")
    services.redact(actor=alice, proposal_id=decided[1].pk)
    wait_for_threads()
    assert problems(path) == []


def test_what_has_just_happened_waits_for_the_next_export(
    decided: list[Proposal], export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_SETTLES", timedelta(minutes=1))
    path = export("one")
    assert [line["kind"] for line in lines(path)] == ["begin", "end"]
    monkeypatch.setattr(command, "_SETTLES", timedelta(0))
    assert len(lines(export("two", after=path))) > 6


def test_it_may_begin_with_a_day(decided: list[Proposal], export: Export) -> None:
    today = timezone.now().date()
    assert len(lines(export("one", since=today + timedelta(days=1)))) == 2
    assert len(lines(export("two", since=today))) == len(lines(export("three")))


def test_the_page_has_a_program_that_checks_a_file_without_assent(decided: list[Proposal], export: Export) -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = export("one")
    for content, code in ((path.read_text(), 0), (path.read_text().replace('"tim"', '"ben"', 1), 1)):
        path.write_text(content)
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize("ids", [{"id": "x"}, {"id": [1]}, {"id": 10**30}, {"proposal_id": [1]}, {"proposal_id": "x"}])
def test_a_line_that_names_no_row_is_one_that_was_altered(
    decided: list[Proposal], export: Export, ids: dict[str, Any]
) -> None:
    path = export("one")
    said = lines(path)
    said[1] |= ids
    path.write_text("".join(f"{json.dumps(line)}\n" for line in said))
    assert "line 2: altered" in problems(path)[0]
    del said[1]["id"]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in said) + "[" * 100_000)
    assert "line 2: altered" in problems(path)[0]


@pytest.mark.parametrize("options", [{"verify": [Path("/no/such")]}, {"after": Path("/no/such")}])
def test_a_file_that_is_not_there_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="There is no file /no/such"):
        call_command("audit", **options)
