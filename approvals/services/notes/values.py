"""The values of a change of notes: who makes it, each note before and after, and the outcome.

Also the validation of notes; nothing is written here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.models import Agent, Kind, Proposal, Status, User
from approvals.review.note_changes import NoteChange, said_beside, text_of, title_of
from approvals.review.summary import ChangeSummary, summarise
from approvals.services.errors import NoteInvalid
from assent_client.text import notes
from memory_app import reads
from memory_app.text import edits


@dataclass(frozen=True)
class NoteChangeOutcome:
    """The outcome of a change of notes.

    Args:
        changes: the change of each note; a tool answers about the first.
        commit: the commit on main; empty while it waits for a person.
        proposal: None for a person's own change.
        created: False when an equal undecided proposal of this agent is returned instead.
        amended: an undecided proposal got another revision.
    """

    changes: tuple[NoteChange, ...]
    commit: str
    proposal: Proposal | None
    created: bool = True
    amended: bool = False

    @property
    def is_applied(self) -> bool:
        return bool(self.commit)

    @property
    def is_withdrawn(self) -> bool:
        """Whether the proposal of an undecided note was withdrawn."""
        return self.proposal is not None and self.proposal.status == Status.WITHDRAWN

    @property
    def note_id(self) -> str:
        return self.changes[0].id


@dataclass(frozen=True)
class ChangeContext:
    """Who changes notes, why, and with which rights.

    Args:
        actor: a person (applied at once) or an agent.
        may_apply: whether the agent's token has the scope that policy requires (`notes:write`).
        operation: for agents, 32 hexadecimal digits; a call with the same one has the same outcome.
        amends: for agents, the id of their undecided proposal that gets this change as its next revision.
        force: for agents, ask a person again about what was rejected; see `propose`.
    """

    actor: User | Agent
    may_apply: bool = False
    reasoning: str = ""
    confidence: str = "medium"
    session_id: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    operation: str | None = None
    amends: int | None = None
    force: bool = False

    def as_fields(self) -> dict[str, Any]:
        """Return what the agent says with the change, as fields of a proposal."""
        said = {"reasoning": self.reasoning, "confidence": self.confidence, "session_id": self.session_id}
        return {**said, "evidence": list(self.evidence)}


def tidied(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags stripped, without empty ones and duplicates, in the order given."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def require_valid(note: reads.Note) -> None:
    """Raise NoteInvalid or ForbiddenCharacter if a field is invalid."""
    for name in ("content", "rationale", "category", "superseded_reason", "session_id"):
        edits.check_text(getattr(note, name) or "", field=name)
    for tag in note.tags:
        edits.check_text(tag, field="tags")
        if len(tag) > notes.MAX_TAG:
            raise NoteInvalid("tags", _("A tag has at most %(limit)d characters.") % {"limit": notes.MAX_TAG})
    if not note.content.strip():
        raise NoteInvalid("content", _("The content is empty."))
    if len(note.content) > notes.MAX_CONTENT:
        raise NoteInvalid(
            "content",
            _("The content has %(used)s characters, %(over)s more than the %(limit)s a note may have.")
            % {
                "used": f"{len(note.content):,}",
                "over": f"{len(note.content) - notes.MAX_CONTENT:,}",
                "limit": f"{notes.MAX_CONTENT:,}",
            },
        )
    if note.type not in notes.TYPES:
        raise NoteInvalid(
            "type",
            _("There is no type “%(type)s”; the types are %(types)s.")
            % {"type": note.type, "types": ", ".join(notes.TYPES)},
        )
    if not notes.ID.fullmatch(note.id):
        raise NoteInvalid("note_id", _("“%(id)s” is not a note id.") % {"id": note.id})


# -- How a reviewer sees a proposed change of notes: texts, differences, risks, title.


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
