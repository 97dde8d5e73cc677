"""Searching notes, blocks and conversations: memory_search, and the same by address."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agent_tools.answers import bounds, fields, refusals, representations
from agent_tools.calls.arguments import BoundedArguments
from agent_tools.calls.registry import Answer, Call, endpoint, tool
from agent_tools.tools.note_arguments import Query, QueryInAddress, Type, version_field
from assent_client.text import invisible
from memory_app.search import service
from memory_app.search.ranking.chunking import cut
from memory_app.text.stems import folded

Source = Literal["user_memory", "memory_block", "conversation"]


_Tags = Annotated[list[str] | None, Field(description="Only notes with one of these tags.", max_length=50)]

_BROAD = "(A question about everything: the newest and most used notes are listed.)"

#: Results that a call may ask for.
_MOST = 20
#: Characters of a block's passage that are shown: it is read by its label.
_LONGEST_PASSAGE = 400
#: Letters that the forms of a word have in common.
_BEGINNING = 5


class SearchFilters(BoundedArguments):
    top_k: int = Field(default=5, description="Max results to return.", ge=1, le=_MOST)
    include_conversation: bool = Field(default=False, description="Also search what was said in conversations.")
    sources: list[Source] | None = Field(
        default=None, description="Where to search; overrides include_conversation.", min_length=1, max_length=3
    )
    category: str | None = Field(default=None, description="Only notes of a category.", min_length=1, max_length=64)
    type: Type | None = Field(default=None, description="Only notes of this type.")
    as_of: Annotated[str | None, version_field("Search the memory")] = None


class SearchArguments(SearchFilters):
    query: Query = Field(description="Natural language search query.")
    tags: _Tags = None


@tool(timeout=15, returns=fields.RESULTS)
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
        "for_agents": True,
    }
    answers = []
    with refusals.explained(representations.Subject(call, as_of=arguments.as_of)):
        if memory:
            answers.append(service.search(call.owner, arguments.query, sources=memory, **asked))
        if "conversation" in sources:
            # A session filters messages, never notes and blocks: memory belongs to the user.
            asked |= {"sources": ("conversation",), "session_id": arguments.session_id or None}
            answers.append(service.search(call.owner, arguments.query, **asked))
    # Weak hits are in order already, which for a broad question is not that of their scores.
    hits = sorted(
        (hit for answer in answers for hit in answer.results),
        key=lambda hit: (hit.weak, 0 if hit.weak else -hit.score),
    )
    is_broad = any(answer.is_broad for answer in answers)
    if not is_broad:
        # The nearest notes beside a message that matches would only be noise.
        hits = [hit for hit in hits if hit.weak == hits[0].weak]
    found = [_result(hit, is_broad=is_broad) for hit in hits[: arguments.top_k]]
    results = found[: bounds.that_fit(found, bounds.characters(arguments))]
    index_behind = any(answer.index_behind for answer in answers)
    data = {
        "results": results,
        "left_out": len(found) - len(results),
        "broad": is_broad,
        "index_behind": index_behind,
        "words_only": any(answer.words_only for answer in answers),
    }
    is_full = len(found) == arguments.top_k and "weak" not in found[0]
    rest = [bounds.rest_of(found, len(results), "results"), bounds.beyond(arguments.top_k, _MOST, is_full=is_full)]
    behind = bounds.missing_of(index_behind=index_behind)
    return Answer("\n".join(filter(None, [_text(results, answers), *rest, behind])), data)


class SearchQuery(SearchFilters):
    q: QueryInAddress = Field(description="Natural language search query; a longer one goes to memory_search.")
    tag: _Tags = None


@endpoint(timeout=15, returns=fields.RESULTS)
def search(call: Call, arguments: SearchQuery) -> Answer:
    given = arguments.model_dump(exclude={"q", "tag"}) | {"query": arguments.q, "tags": arguments.tag}
    return memory_search.run(call, SearchArguments(**given))


def _result(hit: service.SearchHit, *, is_broad: bool) -> dict[str, Any]:
    """Return a hit as data; of the four ids only those it has. For a question about everything no hit is weak."""
    ids = {name: getattr(hit, name) for name in ("note_id", "block_label", "message_id", "session_id")}
    return {name: value for name, value in ids.items() if value} | {
        "text": invisible.escaped(_passage(hit) if hit.block_label else hit.text),
        "score": round(hit.score, 4),
        "source": hit.source,
        "title": invisible.escaped(hit.title),
        "type": hit.type,
        "created_at": representations.time(hit.created_at) if hit.created_at else None,
        **({"weak": True} if hit.weak and not is_broad else {}),
        **({"same_notes": list(hit.same)} if hit.same else {}),
    }


def _passage(hit: service.SearchHit) -> str:
    """Return the part of a block's passage that has most of the words of the query."""
    parts = cut(hit.text, _LONGEST_PASSAGE)
    best = max(parts, key=lambda part: sum(word[:_BEGINNING] in folded(part) for word in hit.words))
    return f"{'' if best is parts[0] else '… '}{best}{'' if best is parts[-1] else ' …'}"


def _text(results: list[dict[str, Any]], answers: list[service.SearchAnswer]) -> str:
    if not results:
        return "Nothing found: no note or block says anything about this."
    lines = [_line(result) for result in results]
    if "weak" in results[0]:
        lines.insert(0, nearest_first_line(is_near=any(answer.is_near for answer in answers)))
    if any(answer.is_broad for answer in answers):
        lines.append(_BROAD)
    return "\n".join(lines)


def nearest_first_line(*, is_near: bool) -> str:
    """Return what stands above notes that do not match."""
    return "No exact match; the nearest:" if is_near else "Nothing matches; these are only the nearest notes (weak):"


def _line(result: dict[str, Any]) -> str:
    of = result.get("note_id") or result.get("block_label") or result.get("message_id")
    too = representations.said_too(result.get("same_notes", ()))
    return f"- {of} ({result['source']}, {result['score']:.2f}): {result['text']}{too}"
