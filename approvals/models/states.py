"""The states and kinds of a proposal, and the reasons people and policies give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    pass


class Status(models.TextChoices):
    """The states of a proposal; the API gives them in lower case, as they are stored."""

    PREPARING = "preparing", _("being prepared")
    OPEN = "open", _("open")
    MERGING = "merging", _("being merged")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    WITHDRAWN = "withdrawn", _("withdrawn")
    EXPIRED = "expired", _("expired")
    APPLIED = "applied", _("automatic")


#: Decided, and nothing of them is in the memory: their texts can be removed.
NOT_TAKEN = (Status.REJECTED, Status.WITHDRAWN, Status.EXPIRED)


#: Not decided yet, whatever step they are in.
PENDING = (Status.PREPARING, Status.OPEN, Status.MERGING)


#: Nothing more will happen to these.
DECIDED = (
    Status.APPROVED,
    Status.REJECTED,
    Status.WITHDRAWN,
    Status.EXPIRED,
    Status.APPLIED,
)


class Mergeability(models.TextChoices):
    """How an open proposal stands to its target as it is now, recomputed after each change to it."""

    CLEAN = "clean", _("applies")
    REBASABLE = "rebasable", _("the block changed, the edit still fits")
    CONFLICT = "conflict", _("no longer fits")
    ALREADY_APPLIED = "already_applied", _("already in the memory")
    UNKNOWN = "unknown", _("could not be checked")


class Kind(models.TextChoices):
    """What sort of change a proposal makes, for filters and chips."""

    EDIT = "edit", _("edit")
    REWRITE = "rewrite", _("rewrite")
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
    """Why a change of notes waits for a person, as it was when it was proposed."""

    POLICY = "policy", _("the owner’s policy: agents ask before they write notes")
    SCOPE = "scope", _("the agent’s token: it may propose notes, not write them")
    SECRETS = "secrets", _("what it says: a key, token, password or card number, which a person sees first")


class RejectReason(models.TextChoices):
    """Presets of the reject form; the key goes back to the agent as data."""

    WRONG = "wrong", _("Wrong")
    OUTDATED = "outdated", _("Outdated")
    TOO_PRIVATE = "too_private", _("Too private")
    DUPLICATE = "duplicate", _("Duplicate")
    BADLY_WORDED = "badly_worded", _("Badly worded")
    OTHER = "other", _("Other")
