"""Hurts a running Assent for some minutes and counts what was lost: `make torture ARGS='--leg server --minutes 5'`.

Real clients propose, decide, save, import and withdraw while services are killed and hang, the disk is full and
other clients stop in the middle of a request. After each fault everything heals, `recover` runs, and all that was
ever acknowledged is compared with the memory, the ledger, the pages and the API. Exit 1 when something is lost,
was never approved, is there twice or stays half done.

Every fault comes once, in an order drawn from the seed, and again until the minutes are over; what had no turn is
named. The same seed gives the same faults and the same clients, not the same interleaving.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import httpx  # noqa: E402

from tests import services  # noqa: E402
from tests.torture import faults, model  # noqa: E402
from tests.torture.journal import Journal  # noqa: E402
from tests.torture.load import OWNER, REVIEWERS, Load, Reviewer  # noqa: E402
from tests.torture.site import DISK, LEASE, Site, disk  # noqa: E402

T = TypeVar("T")

KINDS = ("kill", "hang", "disk", "slow")

#: Seconds of work before each fault, from and to.
WORK = (2.0, 5.0)
#: Seconds for a healed site to be ready again; longer is stuck.
READY = 60.0
#: How many proposals, and sentences of each block, are looked up after each fault.
SAMPLED = 5


@dataclass
class Row:
    """What became of one fault, over all its times."""

    times: int = 0
    acknowledged: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    strange: int = 0
    silent: float = 0.0
    ready: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leg", choices=["embedded", "server", "both"], default="both")
    parser.add_argument("--minutes", type=float, default=3, help="of each leg, about (default: 3)")
    parser.add_argument(
        "--faults", default=",".join(KINDS), help=f"of {', '.join(KINDS)}, or names as in the table (default: all)"
    )
    parser.add_argument("--most", type=int, default=10_000, help="end after so many faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memories", type=int, default=1, help="databases of the memory (default: 1)")
    parser.add_argument("--owners", type=int, default=1, help="over all databases (default: 1)")
    parser.add_argument("--webs", type=int, default=1, help="web servers of the server edition (default: 1)")
    options = parser.parse_args()
    kinds = options.faults.split(",")
    os.chdir(ROOT)
    failed = False
    for leg in ("embedded", "server") if options.leg == "both" else (options.leg,):
        try:
            failed |= torture(leg, kinds, options)
        except services.ServicesMissing as missing:
            say(f"{leg}: not run, {missing}")
    return int(failed)


def torture(leg: str, kinds: list[str], options: argparse.Namespace) -> bool:
    """Run one edition; whether anything was lost, unapproved, doubled or stuck."""
    minutes, seed = options.minutes, options.seed
    say(f"{leg}: {', '.join(kinds)}, about {minutes:g} minutes, seed {seed}")
    rng = random.Random(f"{seed}/{leg}")
    with contextlib.ExitStack() as stack:
        # Not below TMPDIR: of the tests it is a folder that PostgreSQL's user may not pass through.
        kept = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="assent-torture-", dir="/tmp", ignore_cleanup_errors=True)
        )
        folder = Path(kept) / "site"
        folder.mkdir()
        wants_disk = any(kind.startswith("disk") for kind in kinds)
        may_fill = wants_disk and stack.enter_context(disk(folder, DISK[leg]))
        if wants_disk and not may_fill:
            print("A full disk is left out: mounting a small one is not permitted here.", flush=True)
        Path(kept).chmod(0o711)  # PostgreSQL runs as another user when we are root
        site = Site(leg, folder, is_full_disk_possible=may_fill, webs=options.webs if leg == "server" else 1)
        journal = Journal(Path(kept) / "acknowledged.jsonl")
        stack.callback(journal.close)
        stack.callback(site.services.stop)
        site.start()
        tokens = site.inside("prepare", str(options.memories), str(options.owners))
        load = Load(site.addresses, tokens, journal, seed, owners=options.owners)
        stack.callback(load.stop)
        load.start()
        return _rounds(site, load, journal, kinds, rng, until=time.monotonic() + minutes * 60, most=options.most)


def _rounds(
    site: Site, load: Load, journal: Journal, kinds: list[str], rng: random.Random, *, until: float, most: int
) -> bool:
    rows: dict[str, Row] = {}
    known: set[str] = set()
    left: list[faults.Fault] = []
    done = 0
    ended = ""
    while not ended and done < most and (time.monotonic() < until or not done):
        if not left:
            left = faults.in_turns(faults.faults_of(site, kinds), rng)
        fault = left.pop(0)
        row = rows.setdefault(fault.name, Row())
        done += 1
        row.times += 1
        before, strange = journal.count(*_ACKNOWLEDGED), journal.strange.total()
        try:
            said = _round(site, load, fault, row, rng)
            verdict = model.compare(journal.entries(), said)
            verdict.lost += _pages_that_say_otherwise(load, said, rng)
        except (RuntimeError, httpx.HTTPError, subprocess.TimeoutExpired) as error:
            # What cannot be healed, or looked at afterwards, is the worst of being stuck.
            said, ended = {"recovered": "never recovered"}, str(error)
            verdict = model.Verdict(stuck=[ended])
        new = [sentence for sentence in verdict.sentences() if sentence not in known]
        known.update(new)
        row.acknowledged += journal.count(*_ACKNOWLEDGED) - before
        row.wrong.update(sentence.partition(":")[0] for sentence in new)
        row.strange += journal.strange.total() - strange
        print(f"{done:>3}. {fault.name}: {said['recovered']}", flush=True)
        for sentence in new:
            print(f"     {sentence}", flush=True)
    missed = [fault.name for fault in left if fault.name not in rows]
    _print_table(rows, journal, missed)
    return any(row.wrong.total() for row in rows.values())


def _round(site: Site, load: Load, fault: faults.Fault, row: Row, rng: random.Random) -> dict[str, Any]:
    """Let the clients work, do the fault, wait until everything is as before; what the databases then say."""
    load.resume()
    time.sleep(rng.uniform(*WORK))
    with faults.watched(site) as longest:
        fault.do(site, rng)
        healed = time.monotonic()
        for name in site.revive():
            print(f"     {name} had ended, and was started again", flush=True)
        _wait_until_ready(site)
        row.ready = max(row.ready, time.monotonic() - healed)
    row.silent = max(row.silent, longest())
    time.sleep(1)  # of work with everything there again
    load.pause()
    time.sleep(LEASE + 0.5)
    said: dict[str, Any] = site.inside("report")
    return said


_ACKNOWLEDGED = ("propose", "approve", "reject", "withdraw", "note", "import")


def _wait_until_ready(site: Site) -> None:
    end = time.monotonic() + READY
    while not site.answers("/readyz"):
        if time.monotonic() > end:
            raise RuntimeError(f"{site.leg}: not ready {READY:.0f} s after everything was healed")
        time.sleep(0.2)


def _pages_that_say_otherwise(load: Load, said: dict[str, Any], rng: random.Random) -> list[str]:
    """Where the API and the pages do not say what the databases do: proposals' statuses, notes, sentences of blocks."""
    wrong = []
    token = next(iter(load.tokens.values()))
    with httpx.Client(base_url=load.addresses[-1], headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
        for proposal in _some(said["proposals"], rng):
            answer = http.get(f"/api/v1/proposals/{proposal['id']}/")
            shown = answer.json()["data"]["status"] if answer.status_code == 200 else str(answer.status_code)
            if shown not in (proposal["status"], "404"):  # 404: of the other agent
                wrong.append(f"the API says {shown} of proposal {proposal['id']}, which is {proposal['status']}")
        exported = http.get(f"/api/v1/users/{OWNER}/memories.md").text
        notes = [note["id"] for note in said["notes"] if note["owner"] == OWNER]
        wrong += [f"the export lacks note {id_}" for id_ in notes if id_ not in exported]
    reviewer = Reviewer(load, rng, REVIEWERS[-1])
    reviewer.sign_in()
    for path in _some(sorted(said["blocks"]), rng):
        page = reviewer.http.get(f"/memory/{path}/").text
        marks = model.MARK.findall(said["blocks"][path])
        wrong += [f"the page of {path} lacks {mark}" for mark in _some(marks, rng) if f"[{mark}]" not in page]
    return wrong


def _some(things: list[T], rng: random.Random) -> list[T]:
    return rng.sample(things, min(SAMPLED, len(things)))


def _print_table(rows: dict[str, Row], journal: Journal, missed: list[str]) -> None:
    heads = ("fault", "times", "ack.", "lost", "unapproved", "doubled", "stuck", "other 5xx", "silent s", "ready s")
    print(f"\n{heads[0]:<24}" + "".join(f"{head:>11}" for head in heads[1:]))
    for name, row in sorted(rows.items()):
        counts = [row.wrong[kind] for kind in heads[3:7]]
        cells = [row.times, row.acknowledged, *counts, row.strange, f"{row.silent:.1f}", f"{row.ready:.1f}"]
        print(f"{name:<24}" + "".join(f"{cell!s:>11}" for cell in cells))
    told = {"proposals": ["propose"], "decisions": ["approve", "reject"], "withdrawals": ["withdraw"]}
    told |= {"notes": ["note"], "imports": ["import"]}
    print("\nacknowledged: " + ", ".join(f"{journal.count(*of)} {name}" for name, of in told.items()))
    for what in sorted({what for what, _ in journal.answers}):
        answers = {answer: count for (of, answer), count in sorted(journal.answers.items()) if of == what}
        print(f"  {what:<9}" + ", ".join(f"{answer} ×{count}" for answer, count in answers.items()))
    if journal.strange:
        print("5xx of no documented shape: " + ", ".join(f"{name} ×{count}" for name, count in journal.strange.items()))
    if missed:
        print(f"no time for: {', '.join(missed)}")
    total = sum((row.wrong for row in rows.values()), Counter[str]())
    print(", ".join(f"{total[kind]} {kind}" for kind in heads[3:7]), flush=True)


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    services.unwind_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
