"""Reading notes: recall, and the endpoints that list notes and show one."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field

from agent_tools.answers import bounds, fields, paging, refusals, representations
from agent_tools.calls import execution
from agent_tools.calls.arguments import Arguments, BoundedArguments, TakesConfidence
from agent_tools.calls.registry import Answer, Call, endpoint, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools.note_arguments import ALL, NoteId, Query, QueryInAddress, Type, TypeOrAll, version_field
from agent_tools.tools.search import nearest_first_line
from approvals.pages import notes_page
from assent_client.text import invisible
from memory_app import reads, recall_counts
from memory_app.reads.catalogue import catalogue
from memory_app.search import service

#: Memories that a call may ask for.
_MOST = 50


class RecallArguments(BoundedArguments):
    query: Query | None = Field(default=None, description="Search query or keywords; without it the newest come first.")
    type: TypeOrAll = Field(default=ALL, description="Filter by memory type.")
    min_confidence: Annotated[
        float, TakesConfidence, Field(description="Minimum confidence threshold, from 0 to 1.", ge=0, le=1)
    ] = 0.5
    limit: int = Field(default=10, description="Maximum memories to return.", ge=1, le=_MOST)
    include_superseded: bool = Field(default=False, description="Also memories that were forgotten.")
    scope: Literal["user", "session"] = Field(
        default="user", description="user: everything about the user; session: only what this session_id stored."
    )
    match: Literal["hybrid", "text"] = Field(
        default="hybrid", description="hybrid: by meaning and keywords; text: those containing the query, case aside."
    )


@tool(returns=fields.RECALLED)
def recall(call: Call, arguments: RecallArguments) -> Answer:
    began = time.perf_counter()
    if arguments.scope == "session" and not arguments.session_id:
        details = {"fields": {"session_id": "is required"}}
        raise ApiError(ErrorCode.MISSING_SESSION_ID, "scope is session, so session_id is required.", details=details)

    wanted = notes_page.Wanted(
        type=None if arguments.type == ALL else arguments.type,
        session_id=arguments.session_id if arguments.scope == "session" else None,
        min_confidence=arguments.min_confidence,
        superseded="shown" if arguments.include_superseded else "hidden",
    )
    index_behind, above = False, ""
    every = catalogue(call.owner)
    most = arguments.limit + every.folded  # of notes that say the same the first is answered
    if arguments.query is None:
        said = every.fold(notes_page.listed(call.owner, wanted), lambda entry: entry.id)
        matched = notes_page.notes_of(call.owner, [entry for entry, _same in islice(said, arguments.limit)], wanted)
    elif arguments.match == "text":
        matched = notes_page.containing(call.owner, arguments.query, wanted, most=most)
    else:
        matched, index_behind = notes_page.search_notes(call.owner, arguments.query, wanted, most=most)
        if not matched:
            matched, above = _nearest(call.owner, arguments.query, wanted, most=arguments.limit)
    folded = list(islice(every.fold(matched, lambda note: note.id), arguments.limit))
    weak = {"weak": True} if above else {}
    items = [_recalled(note) | ({"same_notes": same} if same else {}) | weak for note, same in folded]
    shown = bounds.that_fit(items, bounds.characters(arguments))
    found = [note for note, _same in folded[:shown]]
    if not above:
        recall_counts.record(call.owner, [note.id for note in found])
    asked = arguments.model_dump(exclude={"query", "max_characters"})
    asked |= {"count": len(found), "has_query": arguments.query is not None}
    execution.tell(execution.recalled, call, began=began, **asked)
    left_out = len(items) - shown
    data = {"count": len(found), "memories": items[:shown], "left_out": left_out, "index_behind": index_behind}
    text = _listed(found, "No memories match.", {note.id: same for note, same in folded})
    rest = [bounds.rest_of(items, shown, "memories"), bounds.missing_of(index_behind=index_behind)]
    is_full = not above and len(items) == arguments.limit
    rest.append(bounds.beyond(arguments.limit, _MOST, is_full=is_full))
    if len(matched) < arguments.limit:
        any_confidence = notes_page.listed(call.owner, replace(wanted, min_confidence=0))
        if less := sum(note.confidence < wanted.min_confidence for note in any_confidence):
            rest.append(f"({less} of less confidence are left out, whatever they say: min_confidence=0 takes them in.)")
    return Answer("\n".join(filter(None, [above, text, *rest])), data)


def _nearest(owner: str, query: str, wanted: notes_page.Wanted, *, most: int) -> tuple[tuple[reads.Note, ...], str]:
    """Return what memory_search has for a query that no note matches, and what stands above it: see `search`."""
    asked: dict[str, Any] = {"sources": ("user_memory",), "top_k": most, "for_agents": True}
    answer = service.search(owner, query, **asked, **wanted.searched)
    ids = [hit.note_id for hit in answer.results if hit.note_id]
    there = reads.find_notes(owner, ids)
    notes = tuple(there[id_] for id_ in ids if id_ in there and wanted.takes(there[id_]))
    return notes, "" if answer.is_broad or not notes else nearest_first_line(is_near=answer.is_near)


def _recalled(note: reads.Note) -> dict[str, Any]:
    """Return a memory as data; a superseded one is marked."""
    recalled = {
        "id": note.id,
        "content": invisible.escaped(note.content),
        "type": note.type,
        "confidence": note.confidence,
        "timestamp": representations.time(note.created_at),
    }
    if note.superseded_at is None:
        return recalled
    return recalled | {
        "superseded_by": note.superseded_by,
        "superseded_reason": note.superseded_reason,
        "superseded_at": representations.time(note.superseded_at),
    }


class NoteListArguments(paging.PagedArguments):
    q: QueryInAddress | None = Field(
        default=None, description="Search query or keywords; without it the newest come first."
    )
    type: Type | None = Field(default=None, description="Only notes of this type.")
    tag: list[str] | None = Field(
        default=None, description="Only notes with this tag; given several times, with any of them."
    )
    source: Literal["agent", "user", "import"] | None = Field(
        default=None, description="Only notes that came this way."
    )
    include_superseded: bool = Field(default=False, description="Also notes that were superseded.")


@endpoint(
    returns=fields.paged(fields.NOTE)
    | {
        "index_behind": "boolean: with q, true while the search does not know the newest changes yet: "
        "the pages may then repeat or miss notes"
    }
)
def note_list(call: Call, arguments: NoteListArguments) -> Answer:
    wanted = notes_page.Wanted(
        type=arguments.type,
        tags=arguments.tag or (),
        source=arguments.source,
        superseded="shown" if arguments.include_superseded else "hidden",
    )
    index_behind = False
    if arguments.q is None:
        last = paging.after_time(call, arguments)
        entries = notes_page.listed(call.owner, wanted)
        rest = (entry for entry in entries if last is None or (entry.created_at, entry.id) < last)
        found = list(islice(rest, arguments.limit + 1))
        page, cursor = paging.page(call, found, arguments, lambda entry: f"{entry.created_at.isoformat()} {entry.id}")
        shown = list(notes_page.notes_of(call.owner, page, wanted))
    else:
        start = paging.after(call, arguments, int) or 0
        most = start + arguments.limit + 1
        matched, index_behind = notes_page.search_summaries(call.owner, arguments.q, wanted, most=most)
        ranked = list(enumerate(matched, 1))[start:]
        places, cursor = paging.page(call, ranked, arguments, lambda item: item[0])
        shown = list(notes_page.notes_of(call.owner, [entry for _place, entry in places], wanted))
    recalled = recall_counts.for_owner(call.owner, [note.id for note in shown])
    items = [representations.note(note, recalled.get(note.id)) for note in shown]
    data = {"items": items, "next": cursor, "index_behind": index_behind}
    behind = bounds.missing_of(index_behind=index_behind)
    text = "\n".join(filter(None, [_listed(shown, "There are no such notes.", {}), behind]))
    return Answer(text + paging.more(cursor), data)


class NoteReadArguments(Arguments):
    note_id: NoteId
    as_of: Annotated[str | None, version_field("Read the note")] = None


@endpoint(
    returns=fields.NOTE | {"commit": "string: the commit it was read at", "as_of": "string | null: as given, or null"}
)
def note_read(call: Call, arguments: NoteReadArguments) -> Answer:
    with refusals.explained(representations.Subject(call, as_of=arguments.as_of)):
        commit = (
            reads.head(call.owner) if arguments.as_of is None else reads.resolve_revision(call.owner, arguments.as_of)
        )
        note = reads.note_at(call.owner, arguments.note_id, commit, with_deleted=call.may_read_deleted)
    recalled = recall_counts.for_owner(call.owner, [note.id]).get(note.id)
    return Answer(note.content, representations.note(note, recalled) | {"commit": commit, "as_of": arguments.as_of})


def _listed(notes: Sequence[reads.Note], none: str, same: Mapping[str, Sequence[str]]) -> str:
    """Return a line for each note, with the ids in `same`, by its id, of others that say what it says."""
    too = {note.id: representations.said_too(same.get(note.id, ())) for note in notes}
    lines = [f"- {note.id} ({note.type}{_superseded(note)}): {note.content}{too[note.id]}" for note in notes]
    return "\n".join(lines) or none


def _superseded(note: reads.Note) -> str:
    """Return what is said beside a superseded note; empty for others."""
    if not note.superseded_at:
        return ""
    by = f" by {note.superseded_by}" if note.superseded_by else ""
    why = f": {note.superseded_reason}" if note.superseded_reason else ""
    return f", superseded {note.superseded_at:%Y-%m-%d}{by}{why}"
