"""Searching notes, blocks and conversations: memory_search, and the same by address."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from agent_tools import note_refusals, representations
from agent_tools.arguments import Arguments
from agent_tools.models import Scope
from agent_tools.note_arguments import LONGEST_IN_ADDRESS, Type, has_words
from agent_tools.registry import Answer, Call, Effect, tool
from approvals import services
from memory_app.recall import RevisionNotFound
from memory_app.search import service
from memory_app.search.service import Hit

Source = Literal["user_memory", "memory_block", "conversation"]


Query = Annotated[
    str,
    Field(description="Natural language search query.", min_length=1, max_length=20_000),
    AfterValidator(has_words),
]
_TopK = Annotated[int, Field(description="Max results to return.", ge=1, le=20)]
_IncludeConversation = Annotated[
    bool,
    Field(description="Also search what was said: in the conversation session_id, or in all of the user's without it."),
]
_Sources = Annotated[
    list[Source] | None,
    Field(description="Where to search; overrides include_conversation.", min_length=1, max_length=3),
]
_Category = Annotated[str | None, Field(description="Only notes of this category.", min_length=1, max_length=64)]
_Type = Annotated[Type | None, Field(description="Only notes of this type.")]
_Tags = Annotated[list[str] | None, Field(description="Only notes with one of these tags.", max_length=50)]
_AsOf = Annotated[
    str | None,
    Field(
        description="Search the memory as it was: a commit hash, or a date or time (ISO 8601, UTC). What was deleted "
        "since is not found without the scope memory:history.",
        min_length=1,
        max_length=64,
    ),
]

_RESULTS = {
    "results[].note_id": "of a note; else not there",
    "results[].block_label": "of a block; else not there",
    "results[].message_id": "of a message; else not there",
    "results[].text": "the note, the message or the section of the block",
    "results[].score": "0 to 1",
    "results[].source": "user_memory, memory_block or conversation",
    "results[].title": "the block's title and section, or the first words",
    "results[].type": "the note's type, block or message",
    "results[].created_at": "ISO 8601, UTC, or null",
    "results[].session_id": "the conversation it came from, where there is one",
    "index_behind": "true while the search does not know the newest changes yet",
    "words_only": "true when meaning was left out, since the embedder did not answer",
}


class SearchArguments(Arguments):
    query: Query
    top_k: _TopK = 5
    include_conversation: _IncludeConversation = False
    sources: _Sources = None
    category: _Category = None
    type: _Type = None
    tags: _Tags = None
    as_of: _AsOf = None


@tool(
    description=(
        "Search your persistent memory for relevant information. Use this when you need to recall user preferences, "
        "past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic "
        "similarity and keyword matching. By default searches only your saved notes; set include_conversation to true "
        "to also search the current conversation history. Memory blocks are searched too."
    ),
    arguments=SearchArguments,
    scope=Scope.MEMORY_READ,
    effect=Effect.READ_ONLY,
    timeout=15,
    failing="Error searching memory",
    returns=_RESULTS,
)
def memory_search(call: Call, arguments: SearchArguments) -> Answer:
    sources: list[Source] = ["user_memory", "memory_block"]
    if arguments.sources is not None:
        sources = arguments.sources
    elif arguments.include_conversation:
        sources.append("conversation")
    memory = [source for source in sources if source != "conversation"]
    asked: dict[str, Any] = {
        "top_k": arguments.top_k,
        "category": arguments.category,
        "types": (arguments.type,) if arguments.type else (),
        "tags": tuple(arguments.tags or ()),
        "as_of": arguments.as_of,
        "with_deleted": call.may_read_deleted,
    }
    answers = []
    try:
        if memory:
            answers.append(service.search(call.owner, arguments.query, sources=memory, **asked))
        if "conversation" in sources:
            # A session narrows down what was said, never what is known: memory belongs to the user.
            asked |= {"sources": ("conversation",), "session_id": arguments.session_id or None}
            answers.append(service.search(call.owner, arguments.query, **asked))
    except RevisionNotFound as error:
        raise note_refusals.revision_not_found(error, arguments.as_of) from error
    hits = sorted((hit for answer in answers for hit in answer.results), key=lambda hit: hit.score, reverse=True)
    results = [_result(hit) for hit in hits[: arguments.top_k]]
    interrupted = arguments.as_of is None and services.is_interrupted(call.owner)
    data = {
        "results": results,
        "index_behind": interrupted or any(answer.index_behind for answer in answers),
        "words_only": any(answer.words_only for answer in answers),
    }
    return Answer("\n".join(map(_line, results)) or "Nothing found.", data)


class SearchQuery(Arguments):
    q: Annotated[
        str,
        Field(
            description="Natural language search query; a longer one goes to memory_search.",
            min_length=1,
            max_length=LONGEST_IN_ADDRESS,
        ),
        AfterValidator(has_words),
    ]
    top_k: _TopK = 5
    include_conversation: _IncludeConversation = False
    sources: _Sources = None
    category: _Category = None
    type: _Type = None
    tag: _Tags = None
    as_of: _AsOf = None


@tool(
    description="memory_search by address; `sources` and `tag` may be given several times.",
    arguments=SearchQuery,
    scope=Scope.MEMORY_READ,
    effect=Effect.READ_ONLY,
    timeout=15,
    failing="Error searching memory",
    returns=_RESULTS,
    listed=False,
    called="the search",
)
def search(call: Call, arguments: SearchQuery) -> Answer:
    given = arguments.model_dump(exclude={"q", "tag"}) | {"query": arguments.q, "tags": arguments.tag}
    return memory_search.run(call, SearchArguments(**given))


def _result(hit: Hit) -> dict[str, Any]:
    """A hit as data; of the four ids only those it has."""
    ids = {
        "note_id": hit.note_id,
        "block_label": hit.block_label,
        "message_id": hit.message_id,
        "session_id": hit.session_id,
    }
    return {name: value for name, value in ids.items() if value} | {
        "text": hit.text,
        "score": round(hit.score, 4),
        "source": hit.source,
        "title": hit.title,
        "type": hit.type,
        "created_at": representations.time(hit.created_at) if hit.created_at else None,
    }


def _line(result: dict[str, Any]) -> str:
    of = result.get("note_id") or result.get("block_label") or result.get("message_id")
    return f"- {of} ({result['source']}, {result['score']:.2f}): {result['text']}"
