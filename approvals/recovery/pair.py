"""Check that the memory contains the commits of the ledger.

After a restore in the wrong order it does not; then one sentence says what is lost, instead of a line for each change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory_app.dolt.connections import dolt
from memory_app.models import Change

_TIME = "%Y-%m-%d %H:%M:%S"

#: Owners named in the sentence.
MOST_OWNERS = 5


@dataclass(frozen=True)
class Missing:
    """Changes in the ledger whose commits are not on main.

    Args:
        commits: how many commits are missing.
        is_older: the memory ends before them; otherwise it is another memory, or lost commits in between.
        head_at: time of main's last commit.
    """

    commits: int
    first: datetime
    last: datetime
    owners: tuple[str, ...]
    is_older: bool
    head_at: datetime

    def __str__(self) -> str:
        what = (
            f"The memory is older than the rest: it ends at {self.head_at:{_TIME}} UTC"
            if self.is_older
            else "The memory is not the one that the rest belongs to"
        )
        named = ", ".join(self.owners[:MOST_OWNERS])
        more = f" and {len(self.owners) - MOST_OWNERS} more" if len(self.owners) > MOST_OWNERS else ""
        when = f"from {self.first:{_TIME}} to {self.last:{_TIME}} UTC"
        whose = f"the memory of {named}{more}"
        return (
            f"{what}, and {self.commits} change(s) {when} to {whose} are not in it. Use a copy of the memory that was "
            "made after the copy of the other database, as `manage.py backup` does."
        )


def missing_from_memory() -> Missing | None:
    """Return the changes of the ledger that the memory lacks; None when it has all."""
    log = dolt().log()
    in_log = {commit.hash for commit in log}
    ledger = Change.objects.order_by("at", "id").values_list("commit", "owner", "at")
    rows = [row for row in ledger.iterator() if row[0] not in in_log]
    if not rows:
        return None
    known = Change.objects.filter(commit__in=[commit.hash for commit in log[:100]]).order_by("-at", "-id").first()
    return Missing(
        commits=len({commit for commit, _, _ in rows}),
        first=rows[0][2],
        last=rows[-1][2],
        owners=tuple(sorted({owner for _, owner, _ in rows})),
        is_older=known is None or known.at <= rows[0][2],
        head_at=log[0].at,
    )
