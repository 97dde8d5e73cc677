"""How a reviewer sees a proposed change of notes: texts, differences, risks, title."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.models import Kind
from approvals.review.summary import ChangeSummary, summarise
from approvals.services.notes.values import NoteChange, said_beside
from memory_app import reads
from memory_app.text import edits
from memory_app.text.first_words import first_words

#: Characters of a proposal's title, as its column has room for.
MOST_TITLE = 200


@dataclass(frozen=True)
class NoteChangeResult:
    """A proposed change of notes, as a reviewer sees it.

    Args:
        before, after: the contents, as the two sides of the diff.
        stored: the changes as a revision stores them.
        fields: the fields of the proposal derived from the change.
    """

    before: str
    after: str
    stored: list[dict[str, Any]]
    summary: ChangeSummary
    fields: dict[str, Any]

    def search_words(self, target: str, reasoning: str) -> str:
        """Return the words by which lists find a proposal of this change."""
        return self.summary.search_words(reasoning, target, self.fields["target_title"])


def assess_changes(kind: Kind, changes: tuple[NoteChange, ...], *, said: str = "") -> NoteChangeResult:
    """Return how a reviewer sees these changes.

    Args:
        said: the agent's reasoning and evidence; see `risks.flags.said_with`.
    """
    before, after = text_of([change.before for change in changes]), text_of([change.after for change in changes])
    stored = [change.as_json() for change in changes]
    summary = summarise(before, after, is_deletion=kind == Kind.DELETE, beside=said_beside(stored), said=said)
    fields = {
        **summary.fields,
        "target_title": title_of(changes),
        "result_sha256": edits.sha256_of("\n".join(map(_meaning, changes))),
    }
    return NoteChangeResult(before, after, stored, summary, fields)


def _meaning(change: NoteChange) -> str:
    """Return what equal changes have in common: everything but times and the ids of new notes."""
    before, after = change.before, change.after
    if after is None:
        return change.id
    id_ = change.id if before else ""
    day = after.created_at.isoformat() if before and before.created_at != after.created_at else ""
    fields = (after.tags, after.category, after.confidence, after.rationale)
    superseded = (after.superseded_by, after.superseded_reason)
    return f"{id_} {after.type} {day} {json.dumps([*fields, *superseded])} {after.content}"


def text_of(of: Sequence[reads.Note | None]) -> str:
    """Return the contents, as one side of the diff."""
    return "\n\n".join(note.content for note in of if note)


def title_of(changes: tuple[NoteChange, ...]) -> str:
    """Return the title of a change: the text of an existing note as it is, or that of a new one.

    A title too long for the column is cut between words; pages shorten it further.
    """
    if len(changes) > 1:
        return _("%(count)d notes") % {"count": len(changes)}
    note = changes[0].before or changes[0].after
    return first_words(note.content, MOST_TITLE) if note else changes[0].id
