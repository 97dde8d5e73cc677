"""Searching a memory as a person: blocks, notes, open proposals and conversations, with the matches in context.

What is found in blocks, notes and conversations is `memory_app.search`'s answer, the same that agents get; proposals
are not part of the memory, so they are looked through here, for the letters as they stand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.urls import reverse

from approvals.markdown import rendering
from approvals.models import Proposal
from approvals.pages import inbox_filters
from approvals.review.summary import wanted_words
from memory_app import conversations, reads
from memory_app.models import Change, TargetKind
from memory_app.search import service
from memory_app.search.ranking.vocabulary import is_stop
from memory_app.text import worddiff
from memory_app.text.stems import folded

MOST_HITS = 30
MOST_WAITING = 20
MOST_SAID = 10

#: Characters of context left before the first match, and shown in all.
BEFORE_MATCH = 60
SHOWN = 280
#: Words of a query that are looked for in a text; a query may be 8,000 characters of them.
MOST_WORDS = 48
#: Characters around the first match that are put on one line. Of a proposal's 200,000 new ones, 280 are shown.
_AROUND = 2_000

_WORD = re.compile(r"\w+")


class ExcerptPart(NamedTuple):
    """A piece of a text; `matches` when it is what was looked for."""

    text: str
    matches: bool


def find(owner: str, query: str) -> dict[str, Any]:
    """Return what the page shows of a search, the matches of each thing found in their context.

    `items` are blocks and notes, best first, of which `there_are_more` or not; `waiting` are open proposals, newest
    first; `said` messages of conversations, best first. `is_behind` when the index lacks the last changes.
    """
    answer = service.search(owner, query, top_k=MOST_HITS + 1)
    hits = answer.results[:MOST_HITS]
    last = reads.last_changes(owner, TargetKind.BLOCK, {hit.block_label for hit in hits if hit.block_label})
    return {
        "items": [_item(owner, hit, query, last) for hit in hits],
        "there_are_more": len(answer.results) > MOST_HITS,
        "waiting": list(_matching_proposals(owner, query)),
        "said": list(_matching_messages(owner, query)),
        "is_behind": answer.index_behind,
        "words_only": answer.words_only,
    }


def _item(owner: str, hit: service.SearchHit, query: str, last: Mapping[str, Change]) -> dict[str, Any]:
    wanted = [*hit.words, *_content_words(query)]
    changed = last.get(hit.block_label or "")
    return {
        "hit": hit,
        "url": reverse("note" if hit.note_id else "block", args=[owner, hit.note_id or hit.block_label]),
        "title": in_context(hit.title, wanted),
        "context": in_context(hit.text, wanted),
        "changed_at": changed.at if changed else hit.created_at,
    }


def _matching_proposals(owner: str, query: str) -> Iterator[dict[str, Any]]:
    """Yield the open proposals whose reason, target or change, old words and new, have every word of the query."""
    wanted = _content_words(query)
    letters = wanted_words(" ".join(wanted))[: inbox_filters.MOST_WORDS]
    if not letters:
        return
    proposals = Proposal.objects.open().of_owner(owner).select_related("agent")
    for word in letters:
        proposals = proposals.filter(search_words__contains=word)
    for proposal in proposals.order_by("-created_at", "-id")[:MOST_WAITING]:
        revision = proposal.current_revision
        segments = worddiff.diff(revision.base_text, revision.result_text)
        # Where both have as many of the words, what would be new rather than what it replaces.
        changed = (" ".join(each.text for each in segments if each.kind == kind) for kind in ("added", "removed"))
        read = {text: folded(text) for text in (proposal.reasoning, *changed)}
        best = max(read, key=lambda text: sum(word in read[text] for word in letters))
        yield {"proposal": proposal, "context": in_context(best or proposal.target_title, wanted)}


def _matching_messages(owner: str, query: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that match; an owner without conversations costs one look into an index."""
    if not conversations.are_there(owner):
        return
    hits = service.search(owner, query, top_k=MOST_SAID, sources=("conversation",)).results
    there = conversations.find_messages(owner, {hit.message_id for hit in hits if hit.message_id})
    for hit in hits:
        message = there.get((hit.session_id or "", hit.message_id or ""))
        if message is None:  # deleted since it was indexed
            continue
        address = reverse("conversation", args=[owner, message.session_id])
        url = f"{address}?message={message.pk}#message-{message.pk}"
        yield {"message": message, "url": url, "context": in_context(hit.text, [*hit.words, *_content_words(query)])}


def _content_words(query: str) -> list[str]:
    """Return the content words of a query; all words where there are none."""
    words = _WORD.findall(query)
    return [word for word in words if not is_stop(word.casefold())] or words


def in_context(text: str, words: Sequence[str]) -> tuple[ExcerptPart, ...]:
    """Return the part of `text` around its first match, on one line and without marks, split at the matches."""
    wanted = dict.fromkeys(word for word in words if len(word) > 1 or word.isdigit())
    if not wanted:
        return (ExcerptPart(_cut(rendering.on_one_line(text[:_AROUND]), 0), False),)
    # Longer words match with their endings ("exam" in "exams"); "an" must not match in "and".
    longest_first = sorted([*wanted][:MOST_WORDS], key=len, reverse=True)
    one = (re.escape(word) + (r"\w{0,2}" if len(word) > 3 else "") for word in longest_first)
    pattern = re.compile(rf"((?<!\w)(?:{'|'.join(one)})(?!\w))", re.IGNORECASE)
    found = pattern.search(text)
    around = max(found.start() - _AROUND, 0) if found else 0
    if around:  # whole lines, where there are any: what begins one may be a mark
        around = text.find("\n", around, around + _AROUND // 2) + 1 or around
    flat = rendering.on_one_line(text[around : around + 2 * _AROUND])
    first = pattern.search(flat)
    begin = max(0, first.start() - BEFORE_MATCH) if first else 0
    if begin:
        begin = flat.find(" ", begin, first.start() if first else None) + 1 or begin
    shown = _cut(flat, begin, is_cut=around > 0)
    return tuple(ExcerptPart(text, bool(number % 2)) for number, text in enumerate(pattern.split(shown)) if text)


def _cut(flat: str, begin: int, *, is_cut: bool = False) -> str:
    shown = flat[begin : begin + SHOWN]
    if begin + SHOWN < len(flat):
        shown = shown.rsplit(" ", 1)[0] + "\u00a0…"
    return f"… {shown}" if begin or is_cut else shown
