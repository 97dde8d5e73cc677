"""Does everything that is written in two places agree? For `manage.py check_memory`."""

from __future__ import annotations

from collections.abc import Iterator

from approvals.models import Proposal, Status
from approvals.pair import missing_from_memory
from memory_app.commits import entry_of
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change


def problems() -> Iterator[str]:
    """Sentences about what does not agree; none when all is well."""
    if missing := missing_from_memory():
        yield str(missing)  # instead of a line for each change, branch and approval
        return
    yield from _branches_of_open_proposals()
    yield from _approved_heads()
    yield from _ledger()
    for table in dolt().dirty_tables():
        yield f"main has uncommitted changes in {table}; `manage.py recover` records them"


def _branches_of_open_proposals() -> Iterator[str]:
    for proposal in Proposal.objects.open().iterator(chunk_size=200):
        revision = proposal.current
        try:
            head = dolt().head(revision.branch)
        except RevisionNotFound:
            yield f"proposal {proposal.pk} is open but its branch {revision.branch} is gone"
            continue
        if head != revision.head_commit:
            yield f"branch {revision.branch} stands at {head}, not at the recorded {revision.head_commit}"


def _approved_heads() -> Iterator[str]:
    log = {commit.hash for commit in dolt().log(head_of_main())}
    approved = Proposal.objects.filter(status=Status.APPROVED)
    for proposal in approved.iterator(chunk_size=200):
        revision = proposal.current
        for what, hash_ in (("head", revision.head_commit), ("merge", proposal.merge_commit)):
            if hash_ not in log:
                yield f"proposal {proposal.pk} is approved but its {what} commit {hash_} is not in main"


def _ledger() -> Iterator[str]:
    recorded = set(Change.objects.values_list("commit", "target_kind", "target"))
    in_log = set()
    for commit in dolt().log(head_of_main()):
        entry = entry_of(commit)
        if entry:
            in_log |= {(commit.hash, kind, target) for kind, target in entry.targets}
    for hash_, kind, target in sorted(in_log - recorded):
        yield f"commit {hash_} changed {kind} {target} but the ledger does not have it"
    dirt = set(Change.objects.filter(action=Change.Action.RECOVERED).values_list("commit", "target_kind", "target"))
    for hash_, kind, target in sorted(recorded - in_log - dirt):
        yield f"the ledger has {kind} {target} in commit {hash_}, which main does not"
