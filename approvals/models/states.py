"""The states and kinds of a proposal, and the reasons for review and rejection."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """The states of a proposal; the API returns them in lower case, as they are stored."""

    PREPARING = "preparing", _("being prepared")
    OPEN = "open", _("open")
    CHANGES_REQUESTED = "changes_requested", _("changes requested")
    MERGING = "merging", _("being merged")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    WITHDRAWN = "withdrawn", _("withdrawn")
    EXPIRED = "expired", _("expired")
    APPLIED = "applied", _("automatic")


#: Decided, and not in the memory: their texts can be removed.
NOT_TAKEN = (Status.REJECTED, Status.WITHDRAWN, Status.EXPIRED)


#: Decided, and in the memory.
TAKEN = (Status.APPROVED, Status.APPLIED)


#: Not decided yet.
PENDING = (Status.PREPARING, Status.OPEN, Status.CHANGES_REQUESTED, Status.MERGING)


#: Not decided yet, and nothing is under way: a person may decide, and its agent may amend or withdraw it.
DECIDABLE = (Status.OPEN, Status.CHANGES_REQUESTED)


#: Final states.
DECIDED = (
    Status.APPROVED,
    Status.REJECTED,
    Status.WITHDRAWN,
    Status.EXPIRED,
    Status.APPLIED,
)


class Approval(models.TextChoices):
    """How a proposal was approved; empty on undecided proposals, and on approvals older than the column."""

    AS_PROPOSED = "as_proposed", _("as proposed")
    PART = "part", _("in part")
    EDITED = "edited", _("with changes")
    RESOLVED = "resolved", _("after resolving conflicts")


class Mergeability(models.TextChoices):
    """Whether an open proposal fits its current target; recomputed after each change of the target."""

    CLEAN = "clean", _("applies")
    REBASABLE = "rebasable", _("the block changed, the edit still fits")
    CONFLICT = "conflict", _("no longer fits")
    ALREADY_APPLIED = "already_applied", _("already in the memory")
    UNKNOWN = "unknown", _("could not be checked")


class Kind(models.TextChoices):
    """The kind of change, for filters and chips."""

    EDIT = "edit", _("edit")
    REWRITE = "rewrite", _("rewrite")
    CREATE_BLOCK = "create_block", _("new block")
    DELETE_BLOCK = "delete_block", _("deletes block")
    SAVE = "save", _("new note")
    UPDATE = "update", _("edits note")
    DELETE = "delete", _("deletes note")
    FORGET = "forget", _("retires note")
    IMPORT = "import", _("import of notes")


class Confidence(models.TextChoices):
    LOW = "low", _("low")
    MEDIUM = "medium", _("medium")
    HIGH = "high", _("high")


class ReviewReason(models.TextChoices):
    """Why a change of notes waited for a person when it was proposed."""

    POLICY = "policy", _("the owner’s policy: agents ask before they write notes")
    SCOPE = "scope", _("the agent’s token: it may propose notes, not write them")
    SECRETS = "secrets", _("what it says: a key, token, password or card number, which a person sees first")
    RULE = "rule", _("a rule: this agent asks first")
    LARGE = "large", _("a rule: larger changes wait for a person")
    REPEATED = "repeated", _("what it says: a person rejected or undid the same before")


class RejectReason(models.TextChoices):
    """Presets of the reject form; the agent gets the key."""

    WRONG = "wrong", _("Wrong")
    OUTDATED = "outdated", _("Outdated")
    TOO_PRIVATE = "too_private", _("Too private")
    DUPLICATE = "duplicate", _("Duplicate")
    BADLY_WORDED = "badly_worded", _("Badly worded")
    OTHER = "other", _("Other")
