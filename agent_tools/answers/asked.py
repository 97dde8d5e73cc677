"""What a proposal asks for, and what of it was approved, in words for its agent: a model reads the text, not `data`.

In short from what its row has, so that a list asks for no texts; in full from its revision. All of it is bounded, and
what is cut says so.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_tools.answers.bounds import lines_that_fit
from approvals.models import Mergeability, Proposal, Revision
from approvals.review.summary import excerpt_shown
from memory_app.text.lines import first_words

#: Characters of the agent's reason in a list; how many texts of the greatest length the text of one proposal may have.
_REASON, _TEXTS = 200, 10

#: Whether an undecided proposal still applies.
STANDS: Mapping[str, str] = {
    Mergeability.CLEAN: "it still applies",
    Mergeability.REBASABLE: "its target changed, and it still applies",
    Mergeability.CONFLICT: "it no longer fits what is there now",
    Mergeability.ALREADY_APPLIED: "the memory has this already, so take it back",
    Mergeability.UNKNOWN: "whether it still applies could not be checked",
}


#: What the tools call an edit and its parts, where that is not what a revision calls them.
_TOOLS = {"replace": "propose_memory_edit", "section": "propose_section_update", "create_block": "propose_memory_block"}
_TOOLS |= {"delete_block": "propose_block_deletion"}
_ARGUMENTS = {("insert", "line"): "insert_line", ("section", "line"): "section_line"}
_ARGUMENTS |= {("section", "header"): "section_header", ("section", "content"): "new_content"}
_NOT_GIVEN = ("op", "occurrences", "own_line", "limit", "is_of_older")


def in_short(proposal: Proposal, *, is_gone: bool) -> str:
    """Return what it changes and why, in a sentence or two; empty where its texts were removed.

    Args:
        is_gone: see `representations.proposal`.
    """
    if is_gone or proposal.is_redacted:
        return ""
    parts = excerpt_shown(proposal.excerpt)
    old = "".join(text for kind, text in parts if kind not in ("added", "moved")).strip()
    new = "".join(text for kind, text in parts if kind != "removed").strip()
    has_old, has_new = old.strip("… "), new.strip("… ")
    change = f'"{old}" → "{new}"' if has_old and has_new else f'adds "{new}"' if has_new else f'removes "{old}"'
    if old == new:  # a note that is retired, or whose tags change
        change = f'{proposal.kind} "{proposal.target_title}"'
    why = f" Your reason: {first_words(proposal.reasoning, _REASON)}" if proposal.reasoning else ""
    return f"You asked: {change}.{why}"


def in_full(revision: Revision, told: Mapping[str, Any], most: int) -> list[str]:
    """Return what a revision asks for, as lines.

    Args:
        told: `edits`, `notes` and `result`, as `data` has them.
        most: characters of each text.
    """
    body = None if told["result"] is None else revision.result_text
    lines = [_edit(revision.base_text, edit, body, most) for edit in told["edits"]]
    lines += _of_notes(told["notes"], most)
    shown = lines_that_fit(lines, _TEXTS * most)
    more = [f"(and {len(lines) - shown} more, which a larger max_characters brings)"] if len(lines) > shown else []
    return lines[:shown] + more


def _edit(text: str, edit: Mapping[str, Any], body: str | None, most: int) -> str:
    """Return the call that asked for an edit of a text; `body` is that of a new block, unless it was deleted since."""
    op = edit["op"]
    given = {
        _ARGUMENTS.get((op, name), name): value for name, value in edit.items() if value and name not in _NOT_GIVEN
    }
    if op == "create_block" and body is not None:
        given["body"] = body
    # PostgreSQL keeps keys in an order of its own; backwards, what there is comes before what takes its place.
    ordered = sorted(given.items(), reverse=True)
    shown = {name: _cut(value, most) if isinstance(value, str) else value for name, value in ordered}
    at = text.find(edit.get("old_string", "\0"))
    line = text.count("\n", 0, at) + 1
    where = f" on line {line}" if at >= 0 else ""
    return f"You asked{where}: {_TOOLS.get(op, f'propose_memory_{op}')} {json.dumps(shown, ensure_ascii=False)}"


def _cut(text: str, most: int) -> str:
    more = f"… ({len(text) - most:,} more characters: max_characters={len(text)} brings them)"
    return text[:most] + more if len(text) > most else text


def _of_notes(changes: Sequence[Mapping[str, Any]], most: int) -> Iterator[str]:
    for change in changes:
        if change["before"] or change["after"]:
            after, old = change["after"] or {}, _quoted(change["before"], most)
            by = f", replaced by {after['superseded_by']}" if after.get("superseded_by") else ""
            yield f"You asked: note {change['id']}, {old} → {_quoted(after, most)}{by}"


#: Of what came back to its agent from an approval in part.
AGAIN = "Change that as asked, and propose it again, with proposal_id={}."


def otherwise(told: Mapping[str, Any], *, places: int, most: int) -> str:
    """Return what of an approval is not as proposed, in sentences; empty where all of it is.

    Args:
        told: `difference`, `not_accepted`, `propose_again` and `proposal_id`, as `data` has them.
        places: how many are quoted.
        most: characters of each.
    """
    left = [_quoted(each["after"] or each["before"], most) for each in told["not_accepted"]]
    other = [
        f"{_quoted(each['approved'], most)} instead of {_quoted(each['proposed'], most)}" for each in told["difference"]
    ]
    said = [f"Not accepted: {_each(left, places)}."] if left else []
    said += [f"The memory has {_each(other, places)}."] if other else []
    if told["propose_again"]:
        said.append(AGAIN.format(told["proposal_id"]))
    return " ".join(said)


def _quoted(text: str | Mapping[str, Any] | None, most: int) -> str:
    """Return a text, or what a note says, in quotation marks."""
    words = text if isinstance(text, str) else (text or {}).get("content", "")
    return f'"{first_words(words, most)}"' if words.strip() else "nothing"


def _each(said: Sequence[str], places: int) -> str:
    more = len(said) - places
    return "; ".join(said[:places]) + (f" and {more} more" if more > 0 else "")
