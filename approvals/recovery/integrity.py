"""Check that both databases and the ledger agree: for `manage.py check_memory` and for restored backups.

Only `Check.keep` writes. A database that cannot be read is a finding as well: people run this check when a database is
damaged. A quick run goes on from the commit up to which a former one found nothing; its help says what that leaves out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.db import connections
from django.db.models import Q
from django.db.utils import Error as DatabaseError
from django.utils import timezone

from approvals.models import DECIDED, NOT_TAKEN, PENDING, TAKEN, Event, Proposal, Revision, Status
from approvals.recovery.ledger import Compared, compared, history_of, recorded_commits, rows_of
from approvals.review.note_changes import sha256_of
from approvals.review.targets import matches
from memory_app import reads, sealing
from memory_app.databases.prepared import batched
from memory_app.dolt.connections import branches, dolt, dolt_of
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.dolt.placement import database_of, databases, of_database
from memory_app.dolt.types import Commit
from memory_app.models import Change, MemoryDatabase, TargetKind
from memory_app.text.trailers import Trailers

_TIME = "%Y-%m-%d %H:%M:%S"

#: Owners named in the sentence.
MOST_OWNERS = 5


def missing_from_memory(database: str) -> tuple[str, bool] | None:
    """Return what a database of the memory lacks of the ledger, in a sentence; None when it has all.

    And whether the memory ends before that; otherwise it is another memory, or lost commits in between.
    """
    log = dolt_of(database).own_log()  # with what a squash left readable
    missing = rows_of(recorded_commits(database) - {commit.hash for commit in log})
    rows = sorted((row.at, row.pk, row.commit, row.owner) for some in missing.values() for row in some)
    if not rows:
        return None
    known = Change.objects.filter(commit__in=[commit.hash for commit in log[:100]]).order_by("-at", "-id").first()
    is_older = known is None or known.at <= rows[0][0]
    what = (
        f"The memory is older than the rest: it ends at {log[0].at:{_TIME}} UTC"
        if is_older
        else "The memory is not the one that the rest belongs to"
    )
    owners = sorted({owner for *_row, owner in rows})
    more = f" and {len(owners) - MOST_OWNERS} more" if len(owners) > MOST_OWNERS else ""
    return (
        f"{what}, and {len(missing)} change(s) from {rows[0][0]:{_TIME}} to "
        f"{rows[-1][0]:{_TIME}} UTC to the memory of {', '.join(owners[:MOST_OWNERS])}{more} are not in it. Use a copy "
        "of the memory that was made after the copy of the other database, as `manage.py backup` does."
    ), is_older


ANSWERS = "If both databases answer:"
RECOVER = "Run `manage.py recover`."
REBUILD = "Run `manage.py rebuild_ledger`."
RESTORE = "Restore both databases from one backup: `manage.py restore`."
START = "Start its server, or restore a backup if the database is gone; then check again."
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


#: How long before the last run a decision may have been written that it did not see: clocks differ.
_MARGIN = timedelta(hours=1)

#: Called with what is being checked, how much of it is done, and how much there is.
Tell = Callable[[str, int, int], object]


def problems() -> Iterator[Finding]:
    """Yield the inconsistencies of all there is. Database errors become findings."""
    return Check().problems()


class Check:
    """One run over the memory and what belongs to it.

    Args:
        since_last: of what is closed, look only at what came after the last run that found nothing.
        tell: see `Tell`.
    """

    def __init__(self, *, since_last: bool = False, tell: Tell = lambda *_: None) -> None:
        self._tell = tell
        self._began = timezone.now()
        self.marks = _last_marks() if since_last else {}
        #: Rows with an owner whose database answers.
        self._can_be_read = Q()

    def problems(self) -> Iterator[Finding]:
        """Yield the inconsistencies. Database errors become findings."""
        for check in (self._away, self._files, self._uncommitted, self._under_way, self._keys):
            yield from _guarded(check)
        if older := tuple(_guarded(self._older_memory)):
            yield from older  # instead of a finding for each missing change, branch and decision
            return
        for check in (self._branches, self._open, self._decided, self._history):
            yield from _guarded(check)

    def keep(self) -> None:
        """Let the next quick run go on from here. Call it after a run that found nothing."""
        for database, commit in self._newest.items():
            MemoryDatabase.objects.filter(pk=database).update(
                checked_commit=commit, checked_change=self._newest_row, checked_at=self._began
            )

    @cached_property
    def _databases(self) -> list[str]:
        """The databases to check."""
        return databases()

    def _away(self) -> Iterator[Finding]:
        """Check that each of several databases answers. What comes after this is about those that do."""
        for database in tuple(self._databases):
            try:
                dolt_of(database).head()
            except (DatabaseError, DoltError) as error:
                if self._databases == [database]:  # each check says that it could not be finished
                    return
                self._databases.remove(database)
                self._can_be_read &= ~of_database(database)
                what = f"The database {database} cannot be read, and its owners were not checked: {_in_a_line(error)}."
                yield Finding("unreadable", database, what, START)

    @cached_property
    def _logs(self) -> dict[str, dict[str, Commit]]:
        """The commits of each database's main itself that this run is about, the oldest first."""
        # Read first: the commits of these rows are in the logs.
        self._newest_row = Change.objects.order_by("-id").values_list("id", flat=True).first() or 0
        self._newest, logs = {}, {}
        for database in self._databases:
            since = self.marks[database].checked_commit if self.marks else None
            own = dolt_of(database).own_log(since)
            self._newest[database] = own[0].hash if own or since is None else since
            logs[database] = {commit.hash: commit for commit in reversed(own)}
        return logs

    @cached_property
    def _log(self) -> dict[str, Commit]:
        return {hash_: commit for log in self._logs.values() for hash_, commit in log.items()}

    @cached_property
    def _begins(self) -> dict[str, datetime]:
        return {database: history_of(database) for database in self._databases}

    def _find(self, database: str, hash_: str) -> Commit | None:
        """Return a commit of main, also one from before this run's part of the log or made since it was read."""
        verbs = dolt_of(database)
        with suppress(RevisionNotFound):
            if hash_ not in self._log and verbs.hash_pattern.fullmatch(hash_) and verbs.was_on_main(hash_):
                return verbs.log(hash_, limit=1)[0]
        return self._log.get(hash_)

    @cached_property
    def _beside(self) -> dict[str, dict[str, Commit | None]]:
        """What the ledger has rows of beside this run's part of the logs; None for what main does not have."""
        after = min((mark.checked_change for mark in self.marks.values()), default=0)
        found: dict[str, dict[str, Commit | None]] = {}
        for database, log in self._logs.items():
            recorded = recorded_commits(database, after) - log.keys()
            found[database] = {hash_: self._find(database, hash_) for hash_ in sorted(recorded)}
        return found

    def _older_memory(self) -> Iterator[Finding]:
        """Check that the memory is not older than the ledger, as after a restore in the wrong order."""
        for database, beside in self._beside.items():
            missing, is_older = (None in beside.values() and missing_from_memory(database)) or ("", False)
            if is_older:
                yield Finding("memory_older", database, missing, RESTORE)

    def _files(self) -> Iterator[Finding]:
        """Check the files of embedded databases for damage; they are read whole, so not in a quick run."""
        if self.marks:
            return
        damage = [(database, line) for database in self._databases for line in dolt_of(database).damage()]
        default = connections["default"]
        if default.vendor == "sqlite":
            with default.cursor() as cursor:
                cursor.execute("PRAGMA quick_check")
                damage += [("default", str(line)) for (line,) in cursor.fetchall() if line != "ok"]
        for alias, line in damage:
            yield Finding("damaged", alias, f"The database `{alias}` is damaged: {line}.", RESTORE)

    def _uncommitted(self) -> Iterator[Finding]:
        for database in self._databases:
            for table in dolt_of(database).dirty_tables():
                yield Finding("uncommitted", table, f"main has uncommitted changes in {table}.", RECOVER)

    def _keys(self) -> Iterator[Finding]:
        """Check that the texts on main can be opened; not in a quick run, since all rows are read."""
        for database in () if self.marks else self._databases:
            rows = [
                row
                for table in (reads.BLOCKS, reads.NOTES)
                for row in dolt_of(database).rows(table, None, columns=("owner", "sealed"))
            ]
            for owner, number in sealing.roots_without_key(rows).items():
                what = f"The key of {number} text(s) of {owner} is missing in `default`, and nobody erased them."
                yield Finding("key_missing", owner, what, RESTORE)

    @cached_property
    def _heads(self) -> dict[str, str]:
        """The head of each branch but main."""
        return {name: head for database in self._databases for _database, name, head in branches(database)}

    def _branches(self) -> Iterator[Finding]:
        """Check that every branch belongs to an undecided proposal."""
        needed: dict[str, str] = {}
        for some in batched(list(self._heads)):
            needed |= Revision.objects.filter(branch__in=some).values_list("branch", "proposal__status")
        for name, head in self._heads.items():
            status = needed.get(name)
            if status is None:
                what = f"No proposal has the branch {name} (at {head})."
                advice = "After restoring an older `default` run `manage.py recover --trust-log`; else drop it."
                yield Finding("orphan_branch", name, what, advice)
            elif status not in PENDING:
                what = f"The branch {name} is still there although its proposal is {status}."
                yield Finding("left_over_branch", name, what, RECOVER)

    def _open(self) -> Iterator[Finding]:
        """Check that the branch of every proposal that may be decided contains the text that people review."""
        waiting = Proposal.objects.decidable().filter(self._can_be_read).select_related("agent")
        total = waiting.count()
        for number, proposal in enumerate(waiting.iterator(chunk_size=200)):
            self._tell("open proposals", number, total)
            revision = proposal.current_revision
            if not revision.head_commit:  # its branch is written when it is approved, since the history was squashed
                continue
            about = f"proposal {proposal.pk}"
            head, verbs = self._heads.get(revision.branch), dolt(proposal.owner)
            if head != revision.head_commit and verbs.exists(revision.branch):  # perhaps since they were listed
                head = verbs.head(revision.branch)
            if head is None:
                what = f"Proposal {proposal.pk} is open but its branch {revision.branch} is gone."
                yield Finding("branch_missing", about, what, RECOVER)
            elif head != revision.head_commit:
                what = f"Branch {revision.branch} stands at {head}, not at the recorded {revision.head_commit}."
                yield Finding("branch_moved", about, what, f"Reject proposal {proposal.pk}. {LOOK}")
            elif not (as_proposed(proposal, revision, head) and as_before(proposal, revision)):
                what = f"The text of proposal {proposal.pk} is not what its branch {revision.branch} holds."
                yield Finding("text_altered", about, what, f"Reject it. {LOOK}")

    def _under_way(self) -> Iterator[Finding]:
        """Check that no proposal is PREPARING or MERGING with an expired lease."""
        for proposal in Proposal.objects.lease_ran_out():
            since = proposal.lease_expires_at
            ran_out = f"and its lease ran out at {since:%Y-%m-%d %H:%M:%S} UTC" if since else "without a lease"
            what = f"Proposal {proposal.pk} is {proposal.status} {ran_out}."
            yield Finding("interrupted", f"proposal {proposal.pk}", what, RECOVER)

    def _decided(self) -> Iterator[Finding]:
        """Check that decisions, the history of their proposals and the log of main agree."""
        said = {hash_: Trailers.of(commit.message) for hash_, commit in self._log.items()}
        undone = {each.undoes for each in said.values()}
        standing = (commit for hash_, commit in self._log.items() if hash_ not in undone)
        merges = {head: commit.hash for commit in standing for head in commit.parents[1:]}
        named = {each.proposal_id: hash_ for hash_, each in said.items() if each.proposal_id is not None}
        about = self._proposals(named)
        for number, some in enumerate(batched(about, 200)):
            self._tell("proposals", 200 * number, len(about))
            heads = Revision.objects.filter(proposal__in=some).values_list("proposal_id", "head_commit")
            merged = {pk: merges[head] for pk, head in heads if head in merges}
            events = defaultdict(list)
            for event in Event.objects.filter(proposal__in=some).order_by("id"):
                events[event.proposal_id].append(event)
            for proposal in Proposal.objects.filter(pk__in=some).select_related("agent", "decided_by"):
                named.pop(proposal.pk, None)
                found = tuple(self._of_decision(proposal, merged.get(proposal.pk, "")))
                found = found or tuple(_of_history(proposal, events[proposal.pk]))
                yield from found or self._of_reviewer(proposal)
        for pk, hash_ in named.items():
            what = f"Commit {hash_} is of proposal {pk}, which does not exist."
            yield Finding("proposal_missing", f"proposal {pk}", what, f"{RESTORE} {LOOK}")

    def _proposals(self, named: Iterable[int]) -> list[int]:
        """Return the numbers of the proposals that this run is about: all, or what moved since the last run."""
        proposals = Proposal.objects.filter(self._can_be_read).order_by("pk").values_list("pk", flat=True)
        if not self.marks:
            return list(proposals)
        last = min(mark.checked_at or self._began for mark in self.marks.values())
        # What was taken is named by its commit.
        late = Q(status__in=NOT_TAKEN, decided_at__gte=last - _MARGIN)
        late |= Q(status__in=TAKEN, decided_at__gte=last) | Q(status__in=PENDING)
        moved = set(proposals.filter(late).order_by())
        return sorted(moved | {pk for pk in named if pk < 2**63})  # a forged one may be larger than any number is

    def _of_decision(self, proposal: Proposal, merged_by: str) -> Iterator[Finding]:
        """Check that main has what was taken, and what took it back, and has not what was not taken."""
        about, database = f"proposal {proposal.pk}", database_of(proposal.owner)
        if proposal.status in NOT_TAKEN and merged_by:
            what = f"Proposal {proposal.pk} is {proposal.status}, but commit {merged_by} merged it into main."
            yield Finding("decision_contradicted", about, what, LOOK)
        if proposal.status not in TAKEN or (proposal.decided_at and proposal.decided_at <= self._begins[database]):
            return
        revision = proposal.current_revision
        commit = self._find(database, proposal.merge_commit)
        if commit is None or (proposal.status == Status.APPROVED and commit.parents[1:] != (revision.head_commit,)):
            what = f"Proposal {proposal.pk} is {proposal.status}, but main does not have its commit"
            yield Finding("decision_lost", about, f"{what} {proposal.merge_commit}.", RESTORE)
        elif not as_proposed(proposal, revision, proposal.merge_commit):
            what = f"Proposal {proposal.pk} is {proposal.status}, but commit {proposal.merge_commit} has another text."
            yield Finding("text_altered", about, what, LOOK)
        if proposal.reverted_by_commit and self._find(database, proposal.reverted_by_commit) is None:
            what = f"Proposal {proposal.pk} was reverted by {proposal.reverted_by_commit}, which main does not have."
            yield Finding("decision_lost", about, what, RESTORE)

    def _of_reviewer(self, proposal: Proposal) -> Iterator[Finding]:
        """Check that the commit of an approval names who decided, where its message had room for a name."""
        commit = proposal.merge_commit and self._find(database_of(proposal.owner), proposal.merge_commit)
        said = Trailers.of(commit.message).person if commit else ""
        if said and proposal.decided_by and said != proposal.decided_by.username:
            what = f"Proposal {proposal.pk} is {proposal.status} by {proposal.decided_by.username}, but its commit"
            about = f"proposal {proposal.pk}"
            yield Finding("decision_contradicted", about, f"{what} {proposal.merge_commit} is by {said}.", LOOK)

    def _history(self) -> Iterator[Finding]:
        """Check that the ledger has exactly the rows that the log of main requires."""
        for database, log in self._logs.items():
            commits = [*filter(None, self._beside[database].values()), *log.values()]
            for number, each in enumerate(compared(database, commits)):
                self._tell("commits", number, len(commits))
                yield from _of_commit(each)
            lost = [hash_ for hash_, commit in self._beside[database].items() if commit is None]
            for hash_, rows in rows_of(lost).items():
                what = f"The ledger has {len(rows)} changes in commit {hash_}, which main does not have."
                advice = f"{RESTORE} If that commit was meant to go: {REBUILD}"
                yield Finding("commit_lost", hash_, what, advice)


def _of_commit(each: Compared) -> Iterator[Finding]:
    hash_ = each.commit.hash
    for row in each.wrong:
        what = (
            f"The ledger says of commit {hash_} that {row.actor or row.agent or 'nobody'} {row.action} "
            f"{row.target_kind} {row.owner}/{row.target}; the commit and its proposal say otherwise."
        )
        yield Finding("ledger_differs", hash_, what, f"{REBUILD} {LOOK}")
    for owner, kind, target in each.lacking:
        what = f"Commit {hash_} changed {kind} {owner}/{target}, which the ledger does not have."
        yield Finding("ledger_lacks", hash_, what, REBUILD if each.rows else RECOVER)


def _last_marks() -> dict[str, MemoryDatabase]:
    """Return up to where the last run got in each database; none, for a whole run, where a main does not contain it."""
    try:
        marks = MemoryDatabase.objects.in_bulk(databases())
        kept = all(
            mark.checked_commit and dolt_of(name).is_ancestor(mark.checked_commit) for name, mark in marks.items()
        )
    except (DatabaseError, DoltError):
        return {}  # the whole run says what is wrong
    return marks if kept else {}


def _of_history(proposal: Proposal, events: list[Event]) -> Iterator[Finding]:
    """Check that a proposal and its events agree; both are read again where they do not, as people decide meanwhile."""
    if not differences(proposal, events):
        return
    again = Proposal.objects.select_related("decided_by").get(pk=proposal.pk)
    if differs := differences(again, again.events.order_by("id")):
        what = f"Proposal {proposal.pk} and its history do not say the same ({', '.join(differs)})."
        yield Finding("decision_altered", f"proposal {proposal.pk}", what, f"{LOOK} Its page shows both.")


# -- The row of a proposal and its history. A decision is written twice in one transaction: as fields of the proposal,
# which pages and agents read, and as an event, which nothing rewrites. So neither can be altered alone without the two
# saying different things.

#: Events with the reason of the agent, as it was then.
_REASONED = (Event.What.PROPOSED, Event.What.AMENDED, Event.What.APPLIED)

#: Fields of the proposal that the event of its decision repeats in its data; older events have not all of them.
_REPEATED = {"reason": "decision_reason", "approval": "approval", "commit": "merge_commit"}


def differences(proposal: Proposal, events: Iterable[Event]) -> list[str]:
    """Return what a proposal and its events do not agree about, as names of fields; empty where they agree.

    Texts that were removed are empty in both.

    Args:
        events: all of it in the order they were recorded, by id: after a restore some are dated back.
    """
    decision: Event | None = None
    reasoned: Event | None = None
    undone_by, found = "", list[str]()
    for event in events:
        what, commit, was = event.what, event.data.get("commit", ""), decision.what if decision else ""
        if decision and (what, commit) == (was, decision.data.get("commit")):
            continue  # two calls finished it
        if what in _REASONED:
            reasoned = event
        if what == Event.What.REVERTED or "decided" in event.data:
            undoes = TAKEN if what == Event.What.REVERTED else (event.data["decided"],)
            is_closed = what == Event.What.REVERTED and not event.data.get("waits")
            decision, undone_by = (decision, commit) if is_closed else (None, "")
        elif what in DECIDED:
            undoes, decision, undone_by = ("",), event, ""
        else:
            undoes = ("",) if what in _REASONED else (was,)
        if was not in undoes:
            found.append("history")  # an event in between is gone
    if reasoned is None:
        found += ["history"] * (proposal.status != Status.PREPARING)
    # What policy had applied before a restore may have no reason in its event.
    elif reasoned.text != proposal.reasoning and (reasoned.text or reasoned.what != Event.What.APPLIED):
        found.append("reasoning")
    if (decision.what if decision else "") != (proposal.status if proposal.status in DECIDED else ""):
        return [*found, "status"]
    return [*found, *_of_decision(proposal, decision, undone_by)] if decision else found


def _of_decision(proposal: Proposal, decision: Event, undone_by: str) -> list[str]:
    who = decision.actor if decision.actor_kind == Event.ActorKind.PERSON else ""
    pairs = {
        "decided_by": (proposal.decided_by.username if proposal.decided_by else "", who),
        "reverted_by_commit": (proposal.reverted_by_commit, undone_by),
        "current_revision_number": (proposal.current_revision_number, decision.revision),
    }
    # What was approved before a restore may have no comment in its event; the ledger has it.
    if decision.what not in TAKEN or (decision.what == Status.APPROVED and decision.text):
        pairs["decision_comment"] = (proposal.decision_comment, decision.text)
    repeated = {field: name for name, field in _REPEATED.items() if name in decision.data}
    pairs |= {field: (getattr(proposal, field), decision.data[name]) for field, name in repeated.items()}
    return [field for field, (now, then) in pairs.items() if now != then]


# -- One check, and the texts of a proposal.


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except (DatabaseError, DoltError, UnicodeDecodeError) as error:
        what = f"The check of {check.__name__.strip('_').replace('_', ' ')} could not be finished: {_in_a_line(error)}."
        yield Finding("unreadable", check.__name__.strip("_"), what, f"{ANSWERS} {RESTORE}")


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or error.__class__.__name__


def as_proposed(proposal: Proposal, revision: Revision, commit: str) -> bool:
    """Whether the texts of the memory at `commit` are the result of the revision, or were erased."""
    with suppress(sealing.TextErased):
        return _is_as_proposed(proposal, revision, commit)
    return True


def _is_as_proposed(proposal: Proposal, revision: Revision, commit: str) -> bool:
    if proposal.target_kind == TargetKind.BLOCK:
        return matches(proposal, revision, commit)
    return _notes_are(proposal, revision, commit, "after")


def as_before(proposal: Proposal, revision: Revision) -> bool:
    """Whether the text before, in the revision, is the text at its base commit, or was erased."""
    with suppress(sealing.TextErased):
        return _is_as_before(proposal, revision)
    return True


def _is_as_before(proposal: Proposal, revision: Revision) -> bool:
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
