"""What a refused edit is answered with: the exact sentence of the contract, then help on new lines.

An agent that gets the help right is done in one more call: the passage it meant, why its text differs
from it, the call that would work, the lines of several matches, its own proposal that has the text.
Matching itself stays exact, always; nothing here changes what an edit does.

The help is for agents that may read. One that may only propose gets one answer for everything that depends on the
text: with two of them a block was read letter by letter (36 characters in 701 calls) without a proposal to show for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_tools.answers import made_before, representations
from agent_tools.auth import grants
from agent_tools.calls.api_operation import Call
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools.read import block_not_found
from approvals.models import Proposal, Revision
from approvals.services import errors as services
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import BlockNotFound
from memory_app.text import edits
from memory_app.text.fuzzy_match import Differences, Nearest, Why, nearest
from memory_app.text.fuzzy_match.search import without_line_numbers

#: What `explain` has an answer for.
REFUSALS = (BlockNotFound, edits.EditError, services.Refused)

#: Characters of a passage or a call in the text for the model; longer ones are in `details` only.
_SHOWN = 4_000
#: Line numbers in the text; all (up to this many times ten) in `details`.
_LINES_SHOWN = 20
_PENDING_RETRY = 3_600

#: Words that differ are shown when there are no more places than this, and none is longer in characters.
_WORDS_SHOWN = 3
_WORD_SHOWN = 60

_WHY: dict[Why | Literal["words"], str] = {
    "whitespace": "in white space",
    "case": "in case",
    "quotes": "in its quotation marks (typographic or straight)",
    "line_numbers": "by the line numbers before its lines",
    "unicode": "in the Unicode form of its characters",
    "words": "in its words",
}


@dataclass(frozen=True)
class Subject:
    """What was asked for.

    Args:
        corrected: the arguments of a call that would work, from an edit's index and its right old_string
            and new_string; None where there is no such call.
    """

    call: Call
    label: str
    edits: Sequence[edits.Edit]
    corrected: Callable[[int, str, str], dict[str, Any]] | None = None


#: Seconds until a proposal that another call makes is made.
_MADE_BY_THEN = 2

#: What is wrong with the call itself, whatever the block says.
_OF_THE_CALL = (edits.IdenticalStrings, edits.EmptyOldString, edits.ForbiddenCharacter)
#: Refusals of the service that depend on what the block says.
_OF_THE_TEXT = (services.NoChange, services.OverLimit, services.PreconditionFailed)


def explain(error: Exception, subject: Subject) -> ApiError:
    """The answer to a refusal of `approvals.services.propose` or of `memory_app.text.edits.check`."""
    if not subject.call.may_read and (
        isinstance(error, _OF_THE_TEXT) or (isinstance(error, edits.EditError) and not isinstance(error, _OF_THE_CALL))
    ):
        return _refused_unread(subject.label)
    match error:
        case BlockNotFound():
            return _block_missing(subject)
        case edits.EditError():
            return _edit_refused(error, subject)
        case services.NoChange():
            message = f"The result equals the present text of block '{subject.label}'; there is nothing to propose."
            return ApiError(ErrorCode.NO_CHANGE, message, details={"block_label": subject.label})
        case services.OverLimit():
            return _over_limit(subject.label, error.used, error.limit)
        case services.BlockReadOnly():
            message = f"Memory block '{subject.label}' is read-only for agents."
            return ApiError(ErrorCode.BLOCK_READ_ONLY, message, details={"block_label": subject.label})
        case services.PreconditionFailed():
            return ApiError(
                ErrorCode.PRECONDITION_FAILED,
                f"Memory block '{subject.label}' changed since you read it.",
                help=[f"Its sha256 is now {error.current_sha256}. Read it again before you propose."],
                details={"content_sha256": error.current_sha256},
            )
        case services.TooManyPending():
            return too_many_pending(error, may_read=subject.call.may_read)
        case services.MemoryFull():
            return memory_full()
        case services.BeingMade():
            return being_made()
        case services.AlreadyDecided():
            return already_decided(error)
    raise error


def already_decided(error: services.AlreadyDecided) -> ApiError:
    """What became of the proposal, for a call that comes too late or back after its texts were removed."""
    return ApiError(
        ErrorCode.ALREADY_DECIDED,
        representations.told(error.proposal),
        details={"proposal": representations.proposal(error.proposal)},
    )


def being_decided(proposal: Proposal, *, shown: dict[str, Any]) -> ApiError:
    """For a call about a proposal that a person decides about this moment."""
    return ApiError(
        ErrorCode.BEING_DECIDED,
        f"Proposal {proposal.pk} is being decided this moment.",
        details={"proposal": shown},
        retry_after=2,
    )


def being_made() -> ApiError:
    """For a call that came a second time while the first is under way, and took longer than it waits."""
    return ApiError(
        ErrorCode.BEING_MADE,
        "Another call is making the same proposal. Make the same call again shortly.",
        details={"retry_after": _MADE_BY_THEN},
        retry_after=_MADE_BY_THEN,
    )


# -- an edit that cannot be made ------------------------------------------------------------------


def _edit_refused(error: edits.EditError, subject: Subject) -> ApiError:
    details: dict[str, Any] = {"block_label": subject.label}
    help = []
    if len(subject.edits) > 1:
        details["edit"] = error.index
        help.append(f"This is about edit {error.index + 1} of {len(subject.edits)}; none was made.")
    match error:
        case edits.IdenticalStrings():
            return ApiError(
                ErrorCode.IDENTICAL_STRINGS,
                "old_string and new_string must be different.",
                help=help,
                details=details,
            )
        case edits.EmptyOldString():
            return ApiError(ErrorCode.EMPTY_OLD_STRING, "old_string cannot be empty.", help=help, details=details)
        case edits.ForbiddenCharacter():
            reason = f"contains the character {error.code} at position {error.offset}"
            return ApiError(
                ErrorCode.FORBIDDEN_CHARACTER,
                f"{error.field} {reason}, which cannot be stored.",
                help=help,
                details=details | {"fields": {error.field: reason}},
            )
        case edits.OldStringRepeated():
            return _repeated(error, subject, help, details)
        case edits.WrongCount():
            return ApiError(
                ErrorCode.WRONG_COUNT,
                f"old_string appears {_times(error.found)} in block '{subject.label}', "
                f"not {_times(error.expected)} as expected_replacements says.",
                help=help,
                details=details | {"expected": error.expected, "count": error.found},
            )
        case edits.OldStringNotFound():
            return _not_found(error, subject, help, details)
        case edits.TextTooLong():
            block = reads.find_block(subject.call.owner, subject.label)
            return _over_limit(subject.label, error.length, block.limit if block else edits.LARGEST_TEXT)
    raise error


def _refused_unread(label: str) -> ApiError:
    return ApiError(
        ErrorCode.EDIT_REFUSED,
        f"The edit cannot be made in block '{label}' as it is now. Ask the user for the exact text, which has to "
        "occur once (or as often as expected_replacements says), or use a token with the scope memory:read, which is "
        "told more.",
        details={"block_label": label},
    )


def _repeated(error: edits.OldStringRepeated, subject: Subject, help: list[str], details: dict[str, Any]) -> ApiError:
    shown = ", ".join(str(line) for line in error.lines[:_LINES_SHOWN])
    more = f" and {len(error.lines) - _LINES_SHOWN} more" if len(error.lines) > _LINES_SHOWN else ""
    where = "on line" if len(error.lines) == 1 else "on lines"
    return ApiError(
        ErrorCode.OLD_STRING_REPEATED,
        f"old_string appears {error.count} times in block '{subject.label}'. Provide a larger unique string "
        "with more surrounding context, or set replace_all=True to replace all occurrences.",
        help=[*help, f"It begins {where} {shown}{more}."],
        details=details | {"count": error.count, "lines": list(error.lines[: 10 * _LINES_SHOWN])},
    )


def _not_found(error: edits.OldStringNotFound, subject: Subject, help: list[str], details: dict[str, Any]) -> ApiError:
    block = reads.find_block(subject.call.owner, subject.label)
    if block is None:
        return _block_missing(subject)
    edit = subject.edits[error.index]
    if not isinstance(edit, edits.Replace):
        raise error
    text = made_before.applied(block.body, subject.edits[: error.index])
    details["content_sha256"] = block.body_sha256
    code = ErrorCode.OLD_STRING_NOT_FOUND
    near = nearest(text, edit.old_string)
    if isinstance(error, edits.AlreadyTrue):
        line = made_before.line_of(block, subject.edits, error.index, text)
        if line is not None:
            code, near = ErrorCode.ALREADY_TRUE, None
            help.append(f"This change is made already: an earlier version had old_string where line {line} is now.")
        elif near is None or not _shortens(edit, near):
            line = text.count("\n", 0, text.find(edit.new_string)) + 1
            help.append(f"new_string is in the block already (line {line}).")
        if line is not None:
            details["line"] = line
    if waiting := _own_proposal_with(edit.old_string, subject):
        details["in_proposal"] = waiting.pk
        help.append(
            f"The text is in your own open proposal {waiting.pk}, which nobody has approved yet: wait for the "
            "decision, or withdraw that proposal and propose the whole change anew."
        )
    elif near is not None:
        help += _nearest_help(near, edit, error.index, subject, details)
    help.append(f"The block's sha256 is {block.body_sha256}.")
    return ApiError(
        code,
        f"old_string not found in block '{subject.label}'. Make sure you've read the block first and the text "
        "matches exactly (including whitespace and newlines).",
        help=help,
        details=details,
    )


def _shortens(edit: edits.Replace, near: Nearest) -> bool:
    """Whether new_string is a part of the passage that old_string means, which says nothing about the change."""
    return edit.new_string in near.passage and len(edit.new_string) < len(near.passage)


def _nearest_help(
    near: Nearest, edit: edits.Replace, index: int, subject: Subject, details: dict[str, Any]
) -> list[str]:
    lines = f"line {near.first_line}"
    if near.last_line > near.first_line:
        lines = f"lines {near.first_line}-{near.last_line}"
    details["nearest"] = {
        "first_line": near.first_line,
        "last_line": near.last_line,
        "similarity": round(near.similarity, 3),
        "why": near.why,
        "passage": near.passage,
        "differs": list(near.differences.forms) if near.differences else [near.why] if near.why else [],
    }
    help = [f"The nearest passage is {lines} ({near.similarity:.0%} similar):"]
    help.append(near.passage if len(near.passage) <= _SHOWN else "(too long to show here; see error.details)")
    if near.why:
        help.append(f"Your old_string differs from it only {_WHY[near.why]}.")
    elif near.differences is not None:
        help.append(_said(near.differences))
    if subject.corrected is not None and near.corrected is not None:
        replacement = without_line_numbers(edit.new_string) if near.why == "line_numbers" else edit.new_string
        replacement = near.lead + replacement + near.trail
        if replacement == near.corrected:
            return help  # what the agent wants to write is what the passage says
        call = subject.corrected(index, near.corrected, replacement)
        details["corrected_call"] = call
        shown = json.dumps(call, ensure_ascii=False)
        if len(shown) <= _SHOWN:
            help += ["If you meant that passage, call again with:", shown]
    return help


def _said(differences: Differences) -> str:
    """All that differs, with the words when they are few."""
    forms = [_WHY[form] for form in differences.forms]
    told = f"Your old_string differs from it {' and '.join([', '.join(forms[:-1])] * (len(forms) > 1) + forms[-1:])}"
    words = differences.words
    if not words or len(words) > _WORDS_SHOWN or any(len(side) > _WORD_SHOWN for pair in words for side in pair):
        return f"{told}."
    pairs = [f'"{ours}" instead of "{theirs}"' for ours, theirs in words]
    return f"{told}: {', '.join(pairs)}."


def _own_proposal_with(old_string: str, subject: Subject) -> Proposal | None:
    """The agent's newest open proposal on this block that adds `old_string` to the text."""
    waiting = grants.visible_proposals(subject.call.caller.token, subject.call.owner).open()
    newest = waiting.filter(target_kind=TargetKind.BLOCK, target=subject.label).order_by("-pk")
    revisions = Revision.objects.filter(proposal__in=newest).select_related("proposal").order_by("-proposal_id")
    for revision in revisions:
        is_added = old_string in revision.result_text and old_string not in revision.base_text
        if is_added and revision.number == revision.proposal.current_revision_number:
            return revision.proposal
    return None


# -- others ---------------------------------------------------------------------------------------


def _block_missing(subject: Subject) -> ApiError:
    text = f"Error: Memory block '{subject.label}' not found."
    error = block_not_found(subject.call.owner, subject.label, text=text)
    if not subject.call.may_read:
        error.details = {"block_label": subject.label}
        return error
    available = error.details["available"]
    error.text += "\n" + (f"There are: {', '.join(available)}." if available else "There are no memory blocks yet.")
    return error


def _over_limit(label: str, used: int, limit: int) -> ApiError:
    return ApiError(
        ErrorCode.OVER_LIMIT,
        f"The result would have {used:,} characters; the limit of block '{label}' is {limit:,}, "
        f"so it is over by {used - limit:,}.",
        help=["Shorten the text, or propose to remove something first."],
        details={"block_label": label, "used": used, "limit": limit, "over_by": used - limit},
    )


def memory_full() -> ApiError:
    return ApiError(
        ErrorCode.MEMORY_FULL,
        "Too many proposals are waiting for a decision in this installation. Try again later.",
        retry_after=_PENDING_RETRY,
    )


def too_many_pending(error: services.TooManyPending, *, may_read: bool) -> ApiError:
    numbers = [proposal.pk for proposal in error.proposals]
    return ApiError(
        ErrorCode.TOO_MANY_PENDING,
        f"{len(numbers)} of your proposals for this user wait for a decision, and no more than {error.cap} may.",
        help=[f"They are: {', '.join(map(str, numbers))}. Wait for decisions, or withdraw those no longer needed."],
        details={
            "cap": error.cap,
            "proposals": representations.open_proposals(error.proposals, may_read=may_read),
            "retry_after": _PENDING_RETRY,
        },
        retry_after=_PENDING_RETRY,
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
