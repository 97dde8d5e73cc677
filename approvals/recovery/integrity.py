"""Check that both databases and the ledger agree: for `manage.py check_memory` and for restored backups.

Read-only. A database that cannot be read is a finding as well: people run this check when a database is damaged.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import connections
from django.db.utils import Error as DatabaseError

from approvals.models import PENDING, Proposal, Revision, Status
from approvals.recovery.ledger import expected_entries, rows_by_commit, wrong_rows
from approvals.review.note_changes import sha256_of
from approvals.review.targets import matches
from memory_app import reads
from memory_app.dolt.connections import branches, dolt, dolt_of
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.dolt.placement import databases
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.text.trailers import Trailers

_TIME = "%Y-%m-%d %H:%M:%S"

#: Owners named in the sentence.
MOST_OWNERS = 5


def missing_from_memory(database: str) -> tuple[str, bool] | None:
    """Return what a database of the memory lacks of the ledger, in a sentence; None when it has all.

    And whether the memory ends before that; otherwise it is another memory, or lost commits in between.
    """
    log = dolt_of(database).log()
    in_log = {commit.hash for commit in log}
    ledger = Change.objects.filter(database=database).order_by("at", "id").values_list("commit", "owner", "at")
    rows = [row for row in ledger.iterator() if row[0] not in in_log]
    if not rows:
        return None
    known = Change.objects.filter(commit__in=[commit.hash for commit in log[:100]]).order_by("-at", "-id").first()
    is_older = known is None or known.at <= rows[0][2]
    what = (
        f"The memory is older than the rest: it ends at {log[0].at:{_TIME}} UTC"
        if is_older
        else "The memory is not the one that the rest belongs to"
    )
    owners = sorted({owner for _commit, owner, _at in rows})
    more = f" and {len(owners) - MOST_OWNERS} more" if len(owners) > MOST_OWNERS else ""
    return (
        f"{what}, and {len({commit for commit, _owner, _at in rows})} change(s) from {rows[0][2]:{_TIME}} to "
        f"{rows[-1][2]:{_TIME}} UTC to the memory of {', '.join(owners[:MOST_OWNERS])}{more} are not in it. Use a copy "
        "of the memory that was made after the copy of the other database, as `manage.py backup` does."
    ), is_older


RECOVER = "Run `manage.py recover`."
REBUILD = "Run `manage.py rebuild_ledger`."
RESTORE = "Restore both databases from one backup: `manage.py restore`."
LOOK = "Somebody wrote to a database directly: find out who, and restore a backup if it was not meant to be."


@dataclass(frozen=True)
class Finding:
    """One inconsistency.

    Args:
        code: its kind, for programs; stable between releases.
        about: the proposal, commit, branch or table, for programs.
        what: a sentence for people.
        advice: what to do about it.
    """

    code: str
    about: str
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what} {self.advice}"


def problems() -> Iterator[Finding]:
    """Yield the inconsistencies. Database errors become findings."""
    for check in (_files, _uncommitted, _under_way):
        yield from _guarded(check)
    if older := tuple(_guarded(_older_memory)):
        yield from older  # instead of a finding for each missing change, branch and decision
        return
    for check in (_branches, _open, _decided, _history):
        yield from _guarded(check)


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except (DatabaseError, DoltError, UnicodeDecodeError) as error:
        message = " ".join(str(error).split()) or error.__class__.__name__
        what = f"The check of {check.__name__.strip('_').replace('_', ' ')} could not be finished: {message}."
        yield Finding("unreadable", check.__name__.strip("_"), what, f"If both databases answer: {RESTORE}")


def _older_memory() -> Iterator[Finding]:
    """Check that the memory is not older than the ledger, as after a restore in the wrong order."""
    for database in databases():
        missing, is_older = missing_from_memory(database) or ("", False)
        if is_older:
            yield Finding("memory_older", database, missing, RESTORE)


def _files() -> Iterator[Finding]:
    """Check the files of embedded databases for damage."""
    damage = [(database, line) for database in databases() for line in dolt_of(database).damage()]
    default = connections["default"]
    if default.vendor == "sqlite":
        with default.cursor() as cursor:
            cursor.execute("PRAGMA quick_check")
            damage += [("default", str(line)) for (line,) in cursor.fetchall() if line != "ok"]
    for alias, line in damage:
        yield Finding("damaged", alias, f"The database `{alias}` is damaged: {line}.", RESTORE)


def _uncommitted() -> Iterator[Finding]:
    for database in databases():
        for table in dolt_of(database).dirty_tables():
            yield Finding("uncommitted", table, f"main has uncommitted changes in {table}.", RECOVER)


def _branches() -> Iterator[Finding]:
    """Check that every branch belongs to an undecided proposal."""
    needed = dict(Revision.objects.exclude(branch="").values_list("branch", "proposal__status"))
    for _database, name, head in (each for held in databases() for each in branches(held)):
        status = needed.get(name)
        if status is None:
            what = f"No proposal has the branch {name} (at {head})."
            advice = "After restoring an older `default` run `manage.py recover --trust-log`; else drop it."
            yield Finding("orphan_branch", name, what, advice)
        elif status not in PENDING:
            what = f"The branch {name} is still there although its proposal is {status}."
            yield Finding("left_over_branch", name, what, RECOVER)


def _open() -> Iterator[Finding]:
    """Check that the branch of every proposal that may be decided contains the text that people review."""
    for proposal in Proposal.objects.decidable().select_related("agent").iterator(chunk_size=200):
        revision = proposal.current_revision
        about = f"proposal {proposal.pk}"
        try:
            head = dolt(proposal.owner).head(revision.branch)
        except RevisionNotFound:
            what = f"Proposal {proposal.pk} is open but its branch {revision.branch} is gone."
            yield Finding("branch_missing", about, what, RECOVER)
            continue
        if head != revision.head_commit:
            what = f"Branch {revision.branch} stands at {head}, not at the recorded {revision.head_commit}."
            yield Finding("branch_moved", about, what, f"Reject proposal {proposal.pk}. {LOOK}")
        elif not (_as_proposed(proposal, revision, head) and _as_before(proposal, revision)):
            what = f"The text of proposal {proposal.pk} is not what its branch {revision.branch} holds."
            yield Finding("text_altered", about, what, f"Reject it. {LOOK}")


def _under_way() -> Iterator[Finding]:
    """Check that no proposal is PREPARING or MERGING with an expired lease."""
    for proposal in Proposal.objects.lease_ran_out():
        since = proposal.lease_expires_at
        ran_out = f"and its lease ran out at {since:%Y-%m-%d %H:%M:%S} UTC" if since else "without a lease"
        what = f"Proposal {proposal.pk} is {proposal.status} {ran_out}."
        yield Finding("interrupted", f"proposal {proposal.pk}", what, RECOVER)


def _decided() -> Iterator[Finding]:
    """Check that decisions and the log of main agree."""
    own = {commit.hash: commit for database in databases() for commit in dolt_of(database).own_log()}
    merges = {head: commit.hash for commit in own.values() for head in commit.parents[1:]}
    trailers = {hash_: Trailers.of(commit.message) for hash_, commit in own.items()}
    undone = {each.undoes for each in trailers.values()}
    for proposal in Proposal.objects.decided().iterator(chunk_size=200):
        yield from _of_decision(proposal, own, merges, undone)
    known = set(Proposal.objects.values_list("pk", flat=True))
    for hash_, said in trailers.items():
        named = said.proposal_id
        if named is not None and named not in known:
            what = f"Commit {hash_} is of proposal {named}, which does not exist."
            yield Finding("proposal_missing", f"proposal {named}", what, f"{RESTORE} {LOOK}")


def _of_decision(
    proposal: Proposal, own: dict[str, Commit], merges: dict[str, str], undone: set[str]
) -> Iterator[Finding]:
    about = f"proposal {proposal.pk}"
    revision = proposal.current_revision
    if proposal.status in (Status.APPROVED, Status.APPLIED):
        merged = proposal.status == Status.APPLIED or merges.get(revision.head_commit) == proposal.merge_commit
        if proposal.merge_commit not in own or not merged:
            what = f"Proposal {proposal.pk} is {proposal.status}, but main does not have its commit"
            yield Finding("decision_lost", about, f"{what} {proposal.merge_commit}.", RESTORE)
        elif not _as_proposed(proposal, revision, proposal.merge_commit):
            what = f"Proposal {proposal.pk} is {proposal.status}, but commit {proposal.merge_commit} has another text."
            yield Finding("text_altered", about, what, LOOK)
        if proposal.reverted_by_commit and proposal.reverted_by_commit not in own:
            what = f"Proposal {proposal.pk} was reverted by {proposal.reverted_by_commit}, which main does not have."
            yield Finding("decision_lost", about, what, RESTORE)
        return
    for head in proposal.revisions.exclude(head_commit="").values_list("head_commit", flat=True):
        if head in merges and merges[head] not in undone:
            what = f"Proposal {proposal.pk} is {proposal.status}, but commit {merges[head]} merged it into main."
            yield Finding("decision_contradicted", about, what, LOOK)


def _history() -> Iterator[Finding]:
    """Check that the ledger has exactly the rows that the log of main requires."""
    for database in databases():
        yield from _history_of(database)


def _history_of(database: str) -> Iterator[Finding]:
    for commit, rows in rows_by_commit(database):
        if commit is None:
            what = f"The ledger has {len(rows)} changes in commit {rows[0].commit}, which main does not have."
            advice = f"{RESTORE} If that commit was meant to go: {REBUILD}"
            yield Finding("commit_lost", rows[0].commit, what, advice)
            continue
        for row in wrong_rows(database, commit, rows):
            what = (
                f"The ledger says of commit {commit.hash} that {row.actor or row.agent or 'nobody'} {row.action} "
                f"{row.target_kind} {row.owner}/{row.target}; the commit and its proposal say otherwise."
            )
            yield Finding("ledger_differs", commit.hash, what, f"{REBUILD} {LOOK}")
        recorded = {(row.owner, row.target_kind, row.target) for row in rows}
        for expected in expected_entries(database, commit):
            for kind, target in expected.targets:
                if (expected.owner, kind, target) not in recorded:
                    changed = f"{kind} {expected.owner}/{target}"
                    what = f"Commit {commit.hash} changed {changed}, which the ledger does not have."
                    advice = REBUILD if rows else RECOVER
                    yield Finding("ledger_lacks", commit.hash, what, advice)


def _as_proposed(proposal: Proposal, revision: Revision, commit: str) -> bool:
    """Whether the texts of the memory at `commit` are the result of the revision."""
    if proposal.target_kind == TargetKind.BLOCK:
        return matches(proposal, revision, commit)
    return _notes_are(proposal, revision, commit, "after")


def _as_before(proposal: Proposal, revision: Revision) -> bool:
    """Whether the text before, in the revision, is the text at its base commit."""
    if proposal.target_kind == TargetKind.BLOCK:
        block = reads.find_block(proposal.owner, proposal.target, revision.base_commit)
        return (block.body if block else "") == revision.base_text
    return _notes_are(proposal, revision, revision.base_commit, "before")


def _notes_are(proposal: Proposal, revision: Revision, commit: str, side: str) -> bool:
    found = reads.find_notes(proposal.owner, [change["id"] for change in revision.note_changes], commit)
    for change in revision.note_changes:
        note = reads.Note.from_json(change[side]) if change[side] else None
        if sha256_of(note) != sha256_of(found.get(change["id"])):
            return False
    return True
