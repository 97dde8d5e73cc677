"""`manage.py audit > FILE` and `manage.py audit --verify FILE…`: a second copy of who did and decided what.

Each line has a hash of itself and of the line before; a file begins with the last hash of the one it follows. Of texts
there are keyed hashes alone: so the file shows that a comment was altered, and never holds what somebody erased.
"""

import json
from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.crypto import salted_hmac

from approvals.models import AuditEvent, Event, Proposal
from memory_app.models import Change

#: What is exported, in this order.
_KINDS: dict[str, Any] = {"audit": AuditEvent, "event": Event, "change": Change}
_TEXTS = ("text", "data", "comment")
_AT_ONCE = 1_000
#: A row may become visible so much later than one with a higher id.
_SETTLES = timedelta(minutes=1)

Line = dict[str, Any]


class Command(BaseCommand):
    help = (
        "Write who did and decided what as JSON lines, or check such files: each alone, their chain, and the databases."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--since", type=date.fromisoformat, help="only what happened from this day on: 2026-11-01")
        parser.add_argument("--after", type=Path, metavar="FILE", help="go on where this export ends")
        parser.add_argument("--verify", type=Path, nargs="+", metavar="FILE", help="check exports, the oldest first")

    def handle(self, *args: Any, **options: Any) -> None:
        for path in options["verify"] or filter(None, [options["after"]]):
            if not path.is_file():
                raise CommandError(f"There is no file {path}.")
        if options["verify"]:
            if found := [self.stdout.write(problem) for problem in _problems(options["verify"])]:
                raise CommandError(f"{len(found)} problem(s).")
            self.stdout.write("Nothing was altered.")
            return
        last: Line = {"hash": "", "last": {}}
        if options["after"]:
            *_, (_number, last) = deque(_read(options["after"]), maxlen=1) or [(0, {})]
        if "last" not in last:
            raise CommandError(f"{options['after']} has no end: it was cut, or is still being written.")
        for said in _exported(options["since"], last):
            last = _sealed(said, last["hash"])
            self.stdout.write(json.dumps(last))


def _exported(since: date | None, before: Line) -> Iterator[Line]:
    yield {"kind": "begin", "at": timezone.now().isoformat(), "previous": before["hash"]}
    last, until = {**before["last"]}, timezone.now() - _SETTLES
    for kind, model in _KINDS.items():
        rows = model.objects.filter(**{"at__date__gte": since} if since else {}).order_by("pk")
        while some := list(takewhile(lambda row: row.at <= until, rows.filter(pk__gt=last.get(kind, 0))[:_AT_ONCE])):
            yield from (_said(kind, row) for row in some)
            last[kind] = some[-1].pk
    yield {"kind": "end", "last": last}


def _said(kind: str, row: Any) -> Line:
    said = {name: value for name, value in vars(row).items() if not name.startswith("_")}
    for name in _TEXTS:
        if text := said.get(name):
            said[name] = salted_hmac(
                "approvals.audit", json.dumps(text, sort_keys=True), algorithm="sha256"
            ).hexdigest()
    return {"kind": kind, **said, "at": row.at.isoformat()}


def _sealed(said: Line, previous: str) -> Line:
    return {**said, "hash": sha256(f"{previous}{json.dumps(said, sort_keys=True)}".encode()).hexdigest()}


def _read(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines with their numbers, from 1; an empty one for what is none of ours."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            line = {}
            with suppress(KeyError, TypeError, ValueError, RecursionError):
                said = dict(json.loads(text))
                numbers = (said["id"] if said.get("kind") in _KINDS else 0, said.get("proposal_id") or 0)
                line = said if all(type(number) is int and number < 2**63 for number in numbers) else {}
            yield number, line


def _problems(paths: Iterable[Path]) -> Iterator[str]:
    """Yield what is wrong with exports, each of which follows on the one before."""
    previous = None
    for path in paths:
        lines, line, hash_ = _read(path), Line(), ""
        while some := list(islice(lines, _AT_ONCE)):
            for number, line in some:
                if line.get("kind") == "begin" and number == 1:
                    hash_ = str(line.get("previous"))
                    if previous not in (None, hash_):
                        yield f"{path} does not follow on the file before."
                if _sealed({name: line[name] for name in line if name != "hash"}, hash_) != line:
                    yield f"{path}, line {number}: altered, or lines before it were removed, added or moved."
                hash_ = line.get("hash", "")
            yield from (f"{path}, line {number}: {problem}." for number, problem in _differing(some))
        if line.get("kind") != "end":
            yield f"{path}: the end is missing."
        previous = hash_


def _differing(lines: list[tuple[int, Line]]) -> Iterator[tuple[int, str]]:
    """Compare lines with the rows they were made of. Those of people's acts end after ASSENT_AUDIT_DAYS."""
    about = Proposal.objects.filter(pk__in={line.get("proposal_id") or 0 for _number, line in lines})
    removed = set(about.exclude(redacted_at=None).values_list("pk", flat=True))
    for kind, model in _KINDS.items():
        of_kind = [(number, line) for number, line in lines if line.get("kind") == kind]
        rows = model.objects.in_bulk([line["id"] for _number, line in of_kind])
        for number, line in of_kind:
            now = _said(kind, rows[line["id"]]) if line["id"] in rows else {}
            ignored = _TEXTS if line.get("proposal_id") in removed else ()
            differ = [name for name in now if name not in ignored and line.get(name, now[name]) != now[name]]
            if differ or (not now and kind != "audit"):
                said = f"says something else in the database: {', '.join(differ)}" if now else "is not there any more"
                yield number, f"{kind} {line['id']} {said}"
