"""What the board and the pages of agents say of many proposals, counted before anybody asks (`statistics.kept`).

Derived from people, proposals and the ledger, and written by triggers: each default is one of the database.
"""

from django.db import models
from django.db.models import ExpressionWrapper, F, Q
from django.utils.translation import gettext_lazy as _

from approvals.models.people import Agent, User

#: What orders the board → the columns of its index, before the name. People without a value are last both ways.
ORDERS = {
    "waiting": ("waiting",),
    "oldest": ("nothing_waits", "oldest_at"),
    "decided": ("decided",),
    "automatic": ("automatic",),
    "active": ("is_unchanged", "changed_at"),
    "proposed": ("proposed",),
}


def _is(condition: Q) -> models.GeneratedField:
    wrapped = ExpressionWrapper(condition, output_field=models.BooleanField())
    return models.GeneratedField(expression=wrapped, output_field=models.BooleanField(), db_persist=True)


class OwnerCounts(models.Model):
    """What orders a person on the board, which counts anew what it shows of those on a page.

    Args:
        name: lower-case, as bytes, which both engines order alike.
        waiting: how many proposals about them are open; `oldest_at` is the time of the first.
        approved, rejected, automatic: decided in the seven days before `counted_at`; `proposed` in twelve weeks of UTC.
        changed_at: when their memory last changed.
    """

    person = models.OneToOneField(
        User, models.CASCADE, to_field="username", db_column="owner", primary_key=True, related_name="counts"
    )
    name = models.BinaryField(max_length=1_000)
    waiting = models.PositiveIntegerField(db_default=0)
    oldest_at = models.DateTimeField(null=True)
    nothing_waits = _is(Q(oldest_at=None))
    approved = models.PositiveIntegerField(db_default=0)
    rejected = models.PositiveIntegerField(db_default=0)
    decided = models.GeneratedField(
        expression=F("approved") + F("rejected"), output_field=models.PositiveIntegerField(), db_persist=True
    )
    automatic = models.PositiveIntegerField(db_default=0)
    proposed = models.PositiveIntegerField(db_default=0)
    changed_at = models.DateTimeField(null=True)
    is_unchanged = _is(Q(changed_at=None))
    counted_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = verbose_name_plural = _("counts of a person")
        indexes = [
            models.Index(fields=["name"], name="counts_name"),
            *(
                models.Index(fields=[*first, f"{sign}{last}", "name"], name=f"counts_{order}_{way}")
                for order, (*first, last) in ORDERS.items()
                for way, sign in (("up", ""), ("down", "-"))
            ),
        ]

    def __str__(self) -> str:
        return str(self.person_id)


class WeekCount(models.Model):
    """How many of an owner's proposals by an agent were made, wait or became something, in one part of a week.

    A row is what was added or taken away: the sum of those that are alike counts.

    Args:
        owner: empty for what is about everyone.
        at: when the part of a week began; far ahead for what waits.
        part: "proposed", "waiting" or one of `statistics.agents.PARTS`.
        what: of what was decided, see `statistics.agents.AgentCounts.decided`.
        is_reverted: taken back since.
        is_new: not added to those before it.
    """

    owner = models.CharField(max_length=64)
    agent = models.ForeignKey(Agent, models.CASCADE, db_index=False, db_constraint=False, related_name="+")
    at = models.DateTimeField()
    part = models.CharField(max_length=16)
    what = models.CharField(max_length=20)
    is_reverted = models.BooleanField()
    number = models.IntegerField()
    is_new = models.BooleanField()

    class Meta:
        verbose_name = verbose_name_plural = _("counts of a week")
        indexes = [
            models.Index(
                fields=["owner", "agent", "at", "part", "what", "is_reverted", "number"], name="week_of_owner"
            ),
            models.Index(fields=["id"], condition=Q(is_new=True), name="week_new"),
        ]

    def __str__(self) -> str:
        return f"{self.owner} {self.at:%Y-%m-%d} {self.part}: {self.number}"
