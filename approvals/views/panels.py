"""What a person is told when a decision could not be carried out: what happened, and what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.change_view import Redline, redline
from approvals.models import Proposal, Revision
from approvals.services.errors import (
    AlreadyDecided,
    AlreadyInMemory,
    BeingDecided,
    BranchMissing,
    DecisionRefused,
    NewRevision,
    NoLongerFits,
    NotAllowed,
    TargetChanged,
)
from approvals.targets import instead_of
from memory_app import recall, worddiff
from memory_app.models import Change


@dataclass(frozen=True)
class Panel:
    """A notice above the page.

    Args:
        since: how the target's text differs from the one the decision named; None when that is not known
            or it does not.
        changed_by: the ledger's row of the target's last change.
    """

    title: str
    message: str
    since: Redline | None = None
    changed_by: Change | None = None


def panel_for(error: DecisionRefused, decision: Mapping[str, Any]) -> Panel:
    """Say `error` to a person.

    Args:
        decision: the cleaned fields of the form; the state it was made against is compared with today's.
    """
    if isinstance(error, TargetChanged):
        return _target_changed(error, decision.get("seen_sha256", ""))
    return Panel(_title(error), error.message)


def _title(error: DecisionRefused) -> str:
    titles: dict[type[DecisionRefused], str] = {
        AlreadyDecided: _("Decided meanwhile."),
        BeingDecided: _("Somebody is deciding right now."),
        NewRevision: _("There is a newer revision."),
        NoLongerFits: _("The change no longer fits."),
        AlreadyInMemory: _("Nothing left to do."),
        BranchMissing: _("The proposed text cannot be merged."),
        NotAllowed: _("Not yours to decide."),
    }
    return titles.get(type(error), _("Not done."))


def _target_changed(error: TargetChanged, seen_sha256: str) -> Panel:
    proposal, block = error.proposal, error.block
    last = recall.history(proposal.owner, proposal.target_kind, proposal.target, limit=1)
    changed_by = last[0] if last else None
    if proposal.target_kind != "block":
        instead = instead_of(proposal.current)
        # Which of them it was is not known here; the last change would be named for the wrong one.
        return Panel(
            _("The note, or the one in its place, changed since you opened this page.")
            if instead
            else _("The note changed since you opened this page."),
            _("Nothing was changed by you. Below, the proposal is shown as it stands now."),
            changed_by=None if instead else changed_by,
        )
    if block is None:
        return Panel(
            _("The block was deleted."),
            _("Nothing was changed by you. The proposal can only be rejected now."),
            changed_by=changed_by,
        )
    seen = _text_seen(proposal, seen_sha256)
    if seen is None:
        since = None
        message = _("Nothing was changed by you. Below, the proposal is shown against the block as it is now.")
    elif seen == block.body:
        since = None
        message = _("Its text is the same; its title or settings are not. Decide again if that makes no difference.")
    else:
        since = redline(worddiff.diff(seen, block.body))
        message = _("Nothing was changed by you. Below, the proposal is shown against the block as it is now.")
    return Panel(_("The block changed since you opened this page."), message, since, changed_by)


def _text_seen(proposal: Proposal, seen_sha256: str) -> str | None:
    """The text of the target that the decision was made against, where a revision recorded it."""
    revision = Revision.objects.filter(proposal=proposal, base_sha256=seen_sha256).first()
    return revision.base_text if revision else None
