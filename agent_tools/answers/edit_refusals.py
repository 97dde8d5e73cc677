"""What is wrong with an edit, or with the block it is for: the exact sentence of the contract, then help on new lines.

An agent that gets the help right is done in one more call: the passage it meant, why its text differs from it, the call
that would work, the lines of several matches, its own proposal that has the text. Nothing here changes what an edit
does.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import F

from agent_tools import auth
from agent_tools.answers import representations
from agent_tools.answers.representations import Subject
from agent_tools.calls.registry import for_list, in_list, is_listed
from agent_tools.errors import ApiError, ErrorCode
from approvals.models import Kind, Proposal, Revision
from approvals.review.targets import made_of, new_block_of
from approvals.services.errors import Refusal
from assent_client.text import invisible
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound, RevisionNotFound
from memory_app.text import edits
from memory_app.text.fuzzy_match import WORTH_OFFERING, Nearest
from memory_app.text.lines import common, with_ends
from memory_app.text.repairs import Repair, repair

#: Characters of a passage or a call in the text for the model; longer ones are in `details` only.
_SHOWN = 4_000
#: Line numbers in the text; all (up to this many times ten) in `details`.
_LINES_SHOWN = 20

#: Words that differ are shown when there are no more places than this, and none is longer in characters.
_WORDS_SHOWN = 3
_WORD_SHOWN = 60

_WHY = {
    "whitespace": "in white space",
    "case": "in case",
    "quotes": "in its quotation marks (typographic or straight)",
    "line_numbers": "by the line numbers before its lines",
    "unicode": "in the Unicode form of its characters",
    "words": "in its words",
    "heading": "by the heading, which is shown above the text and is not part of it",
    "code_fence": "by the code fence around it",
    "quotation_marks": "by the quotation marks around it",
    "escapes": "by line ends and tabs written as \\n and \\t",
    "quote_prefix": "by the > before its lines",
}


def edit_row(code: ErrorCode, message: str) -> Callable[[edits.EditError, Subject], ApiError]:
    """Return a row of the error table for an edit about which there is no more to say."""
    return lambda error, subject: _about_edit(error, subject, code, message)


def forbidden_character(error: edits.ForbiddenCharacter, subject: Subject) -> ApiError:
    reason = f"contains the character {error.character} at position {error.offset}"
    message = f"{error.field} {reason}, which cannot be stored."
    return _about_edit(error, subject, ErrorCode.FORBIDDEN_CHARACTER, message, fields={error.field: reason})


def wrong_count(error: edits.EditError, subject: Subject) -> ApiError:
    found, expected = error.details["found"], error.details["expected"]
    message = (
        f"old_string appears {_times(found)} in block '{subject.label}', "
        f"not {_times(expected)} as expected_replacements says."
    )
    return _about_edit(error, subject, ErrorCode.WRONG_COUNT, message, expected=expected, count=found)


def repeated(error: edits.EditError, subject: Subject) -> ApiError:
    count, lines = error.details["count"], error.details["lines"]
    shown = ", ".join(str(line) for line in lines[:_LINES_SHOWN])
    more = f" and {len(lines) - _LINES_SHOWN} more" if len(lines) > _LINES_SHOWN else ""
    where = "on line" if len(lines) == 1 else "on lines"
    made = ", counted after the edits before it" if error.index else ""
    message = (
        f"old_string appears {count} times in block '{subject.label}'. Provide a larger unique string "
        "with more surrounding context, or set replace_all=True to replace all occurrences."
    )
    help, details = f"It begins {where} {shown}{more}{made}.", {"count": count, "lines": lines[: 10 * _LINES_SHOWN]}
    return _about_edit(error, subject, ErrorCode.OLD_STRING_REPEATED, message, help, **details)


def _about_edit(
    error: edits.EditError, subject: Subject, code: ErrorCode, message: str, *help: str, **details: Any
) -> ApiError:
    """Return the refusal of an edit, with which block and which edit of several it is about."""
    about: dict[str, Any] = {"block_label": subject.label} if subject.label else {}
    if len(subject.edits) > 1:
        help = (f"This is about edit {error.index + 1} of {len(subject.edits)}; none was made.", *help)
        about["edit"] = error.index
    return ApiError(code, message, help=help, details=about | details)


def over_limit(error: Refusal, subject: Subject) -> ApiError:
    return _over_limit(subject, error.details["used"], error.details["limit"])


def text_too_long(error: edits.TextTooLong, subject: Subject) -> ApiError:
    block = reads.find_block(subject.call.owner, subject.label)
    return _over_limit(subject, error.length, block.limit if block else edits.LARGEST_TEXT)


#: Labels in the text; all in `details`.
_LABELS_SHOWN = 30
_NONE = "There are no memory blocks yet."


def block_not_found(error: BlockNotFound, subject: Subject) -> ApiError:
    """Return the refusal, with the labels there are. The contract words reading and proposing differently."""
    label = subject.label
    message = f"Memory block '{label}' not found."
    blocks = reads.blocks(subject.call.owner)
    available = [block.label for block in blocks]
    named = {name.lower(): block.label for block in blocks for name in (block.display_title, block.label)}
    near = [named[name] for name in difflib.get_close_matches(label.lower(), named, n=1, cutoff=0.6)]
    details: dict[str, Any] = {"block_label": label, "available": available, "nearest": near[0] if near else None}
    waiting = own_waiting(subject)
    if waiting:
        details["waiting"] = representations.proposal(waiting)
    more = f" and more{for_list(', which list_memory_blocks names')}" if len(available) > _LABELS_SHOWN else ""
    there = f"There are: {', '.join(available[:_LABELS_SHOWN])}{more}." if available else _NONE
    help = [there, *(f"The nearest is {name}." for name in near)]
    if waiting:
        help.append(waits(waiting))
    elif subject.edits:
        again = "again " if subject.call.name == "propose_memory_append" else ""
        help.append(for_list(f"To begin it, call propose_memory_append {again}with title: that proposes a new block."))
    text = None if subject.proposes else message
    return ApiError(ErrorCode.BLOCK_NOT_FOUND, message, text=text, help=help, details=details)


def own_waiting(subject: Subject) -> Proposal | None:
    """Return the caller's own undecided proposal of the block that was asked for, which is not in the memory yet."""
    if subject.as_of is not None or not subject.call.owner:
        return None
    waiting = auth.visible_proposals(subject.call.caller.token, subject.call.owner).decidable()
    return waiting.filter(kind=Kind.CREATE_BLOCK, target=subject.label).order_by("-pk").first()


def _proposed_block(subject: Subject) -> Block | None:
    """Return the new block as the waiting proposal makes it that this call amends."""
    waiting = own_waiting(subject) if subject.amends else None
    new = new_block_of(waiting.current_revision) if waiting else None
    return made_of(waiting.current_revision, new) if waiting and new else None


def waits(proposal: Proposal) -> str:
    """Return that a new block waits, and how its agent changes it until then."""
    changing = " or ".join(filter(is_listed, ("propose_memory_append", "propose_memory_edit")))
    return for_list(
        f"Your proposal {proposal.pk} for this new block waits for the user ({proposal.status}): the block cannot be "
        f"read until it is approved. get_proposal with proposal_id={proposal.pk} has its text. To change what it "
        f"proposes, call {changing or 'propose_memory_edit'} with proposal_id={proposal.pk}.",
        or_nearest=True,
    ).rstrip()


def old_string_not_found(error: edits.EditError, subject: Subject) -> ApiError:
    block = reads.find_block(subject.call.owner, subject.label) or _proposed_block(subject)
    if block is None:
        return block_not_found(BlockNotFound(subject.label), subject)
    edit = subject.edits[error.index]
    if not isinstance(edit, edits.Replace):
        raise error
    help: list[str] = []
    details: dict[str, Any] = {"content_sha256": block.body_sha256}
    text = _applied(block.body, subject.edits[: error.index])
    if edit.old_string in block.body:
        help.append("The block has the text, but an edit before this one changes it: quote what that one leaves.")
    code = ErrorCode.OLD_STRING_NOT_FOUND
    found = repair(text, edit, heading=block.display_title)
    if error.details["is_there"]:
        line = _line_of_made(block, subject.edits, error.index, text)
        if line is not None:
            code, found = ErrorCode.ALREADY_TRUE, Repair(edit.old_string)
            help.append(f"This change is made already: an earlier version had old_string where line {line} is now.")
        elif (place := _says_already(text, edit, found)) is not None:
            line = text.count("\n", 0, place) + 1
            help.append(f"new_string is in the block already (line {line}).")
        if line is not None:
            details["line"] = line
    if waiting := _own_proposal_with(edit.old_string, subject):
        number = details["in_proposal"] = waiting.proposal_id
        help.append(
            f"The text is in your own open proposal {number}, which nobody has approved yet: wait for the decision, or "
            f"amend it with proposal_id={number}. Such an edit is made on the block's text as it is now, and takes the "
            "place of what that proposal asks for."
        )
        help += _amending(waiting, block, edit, subject, details)
    else:
        help += passage_help(found, edit, error.index, subject, details)
    message = (
        f"old_string not found in block '{subject.label}'. Make sure you've read the block first and the text "
        "matches exactly (including whitespace and newlines)."
    )
    return _about_edit(error, subject, code, message, *help, **details)


#: Letters of a new_string of which it says something that they are in the text, as words.
_FEWEST_LETTERS = 4
_LETTER = re.compile(r"\w")


def _says_already(text: str, edit: edits.Replace, found: Repair) -> int | None:
    """Return where the text has new_string, if that may mean that the change is made.

    It does not where new_string is a part of the passage that old_string means, or so short that it is there by chance.
    """
    new = edit.new_string
    is_shorter = any(new in near.passage and len(new) < len(near.passage) for near in found.places)
    at = text.find(new)
    while at >= 0 and _LETTER.search(text[max(at - 1, 0) : at] + text[at + len(new) : at + len(new) + 1]):
        at = text.find(new, at + 1)
    return at if at >= 0 and not is_shorter and len(new.strip()) >= _FEWEST_LETTERS else None


def passage_help(
    found: Repair, edit: edits.Replace, index: int, subject: Subject, details: dict[str, Any]
) -> list[str]:
    """Return which passage an edit meant, or all that it may have meant, and the call that makes its change there."""
    if not found.places:
        return []
    if len(found.places) > 1:
        return _several(found, edit, index, subject, details)
    near = found.places[0]
    told = near.differences if near.passage != found.old_string else None
    forms = [*found.taken_off, *(told.forms if told else ())]
    why = forms[0] if len(forms) == 1 and forms != ["words"] else None
    details["nearest"] = _place(near) | {"why": why, "differs": forms}
    help = [f"The nearest passage is {_lines_of(near)} ({near.similarity:.0%} similar):"]
    help.append(near.passage if len(near.passage) <= _SHOWN else "(too long to show here; see error.details)")
    if found.is_elided:
        help.append('Your old_string has "..." for a part of it: quote all of the passage, or only what you change.')
    elif forms:
        help.append(_said(forms, told.words if told else ()))
    if found.is_made:
        help.append("It says already what your edit would make of it.")
    elif found.edit:
        help += _corrected(found.edit, "If you meant that passage", index, subject, details)
    elif not found.is_elided and near.similarity >= WORTH_OFFERING:
        help.append("Where your change belongs in it is not certain: quote the passage as it stands, with your change.")
    return help


def _several(found: Repair, edit: edits.Replace, index: int, subject: Subject, details: dict[str, Any]) -> list[str]:
    """Return the passages that fit equally well. None is chosen, but replace_all may mean them all."""
    details["places"] = [_place(near) for near in found.places[: 10 * _LINES_SHOWN]]
    shown = found.places[:_LINES_SHOWN]
    help = [f"{len(found.places)} passages fit equally well; none is chosen:"]
    help += [f"{_lines_of(near).capitalize()}: {_cut(near.passage)}" for near in shown]
    if found.edit:
        return help + _corrected(found.edit, "If you meant all of them", index, subject, details)
    if not edit.replace_all:
        return [*help, "Quote the one you mean with more of the text around it."]
    return [*help, "They are not written alike, or not all may be meant: quote each as it stands, one edit for each."]


def _place(near: Nearest) -> dict[str, Any]:
    return {
        "first_line": near.first_line,
        "last_line": near.last_line,
        "similarity": round(near.similarity, 3),
        "passage": near.passage,
    }


def _lines_of(near: Nearest) -> str:
    is_one = near.last_line == near.first_line
    return f"line {near.first_line}" if is_one else f"lines {near.first_line}-{near.last_line}"


def _corrected(edit: edits.Replace, if_meant: str, index: int, subject: Subject, details: dict[str, Any]) -> list[str]:
    changed = {"old_string": edit.old_string, "new_string": edit.new_string}
    return corrected_call(if_meant, changed, index, subject, details)


def corrected_call(
    if_meant: str, changed: dict[str, Any], index: int, subject: Subject, details: dict[str, Any]
) -> list[str]:
    """Return the lines with the call that would work, and put it into the details.

    Args:
        if_meant: under which condition it is the right one, in words.
        changed: the arguments that are other than in the failed call.
    """
    call = subject.corrected(index, changed)
    details["corrected_call"] = call
    shown = json.dumps(call, ensure_ascii=False)
    for unseen in {each.char for each in invisible.find(shown) if each.kind not in invisible.HARMLESS}:
        shown = shown.replace(unseen, json.dumps(unseen)[1:-1])  # a model copies an escape, and not what it cannot see
    return [f"{if_meant}, call again with:", shown] if len(shown) <= _SHOWN else []


def _said(forms: Sequence[str], words: Sequence[tuple[str, str]]) -> str:
    """Return all that differs, with the words when they are few."""
    *first, last = [_WHY[form] for form in forms]
    only = "only " if not first and not words else ""
    told = f"Your old_string differs from it {only}{', '.join(first)}{' and ' if first else ''}{last}"
    if not words or len(words) > _WORDS_SHOWN or any(len(side) > _WORD_SHOWN for pair in words for side in pair):
        return f"{told}."
    pairs = [" instead of ".join(f'"{side}"' if side else "nothing" for side in pair) for pair in words]
    return f"{told}: {', '.join(pairs)}."


def _amending(
    waiting: Revision, block: Block, edit: edits.Replace, subject: Subject, details: dict[str, Any]
) -> list[str]:
    """Return the call that makes an edit in what a proposal asks for; nothing where its lines are not certain."""
    asked, arguments = waiting.result_text, subject.arguments
    if arguments is None or len(subject.edits) > 1 or asked.count(edit.old_string) != 1:
        return []
    before, after = (with_ends(text) for text in (waiting.base_text, asked.replace(edit.old_string, edit.new_string)))
    head, tail = common(before, after)
    if head + tail == len(before):  # it only adds: after the line before, or before the first one
        head, tail = (head - 1, tail) if head else (head, max(tail - 1, 0))
    old, new = ("".join(lines[head : len(lines) - tail]) for lines in (before, after))
    if old == new or block.body.count(old) != 1:
        return []
    amends = replace(subject, arguments=arguments.model_copy(update={"proposal_id": waiting.proposal_id}))
    return corrected_call("To change what it asks for", {"old_string": old, "new_string": new}, 0, amends, details)


def _own_proposal_with(old_string: str, subject: Subject) -> Revision | None:
    """Return what the agent's newest open proposal on this block asks for that adds `old_string` to the text."""
    waiting = auth.visible_proposals(subject.call.caller.token, subject.call.owner).decidable()
    newest = waiting.filter(target_kind=TargetKind.BLOCK, target=subject.label).order_by("-pk")
    current = Revision.objects.filter(proposal__in=newest, number=F("proposal__current_revision_number"))
    revisions = current.order_by("-proposal_id")
    added = (each for each in revisions if old_string in each.result_text and old_string not in each.base_text)
    return next(added, None)


def _over_limit(subject: Subject, used: int, limit: int) -> ApiError:
    label, edits_tool = subject.label, in_list("propose_memory_edits")
    help = f"Shorten what you add, or remove something in the same call: {edits_tool}."
    if subject.is_of_whole_block:
        help = "Shorten it, or propose two blocks, each with a part of it."
    over = used - limit
    message = f"The result would have {used:,} characters; the limit of block '{label}' is {limit:,}, so it is over by"
    help += " Otherwise tell the user: a person can raise a block's limit."
    details = {"block_label": label, "used": used, "limit": limit, "over_by": over}
    return ApiError(ErrorCode.OVER_LIMIT, f"{message} {over:,}.", help=[help], details=details)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


#: Characters of a header or a path in the text.
_LENGTH = 200


def line_out_of_range(error: edits.EditError, subject: Subject) -> ApiError:
    line, last = error.details["line"], error.details["last"]
    lines = "1 line" if last == 1 else f"{last} lines" if last else "no lines"
    details: dict[str, Any] = {"insert_line": line, "first": 0, "last": last}
    help = [f"0 puts the content at the start, {last} at the end."]
    if line > last:
        help += corrected_call("If you meant the end", {"insert_line": last}, error.index, subject, details)
    message = (
        f"insert_line {line} is out of range: block '{subject.label}' has {lines}, so it must be between 0 and {last}."
    )
    return _about_edit(error, subject, ErrorCode.LINE_OUT_OF_RANGE, message, *help, **details)


def section_not_found(error: edits.EditError, subject: Subject) -> ApiError:
    said = error.details
    headers, count, nearest, lines = list(said["headers"]), said["count"], said["nearest"], said["lines"]
    details = {"nearest": nearest, "headers": headers, "count": count}
    help = ["It has no headers."]
    if headers:
        more = f" and {count - len(headers)} more" if count > len(headers) else ""
        help = [f"Its headers are: {'; '.join(map(_cut, headers))}{more}."]
    block = reads.find_block(subject.call.owner, subject.label)
    if block and said["header"].strip("# ") == block.display_title:
        above = for_list(", which read_memory_block shows above the text")
        help.insert(0, f"That is the block's title{above}: it is no part of it.")
        help.append(for_list("To replace the whole text, use propose_memory_rewrite."))
    elif nearest:
        help.append(f"The nearest is: {_cut(nearest)}")
        changed: dict[str, Any] = {"section_header": nearest}
        edit = subject.edits[error.index]
        asked_line = edit.line if isinstance(edit, edits.SectionUpdate) else None
        if asked_line is not None and len(lines) == 1:
            changed["section_line"] = lines[0]
        # Where it occurs more than once, the call works with the line of one of them alone.
        if len(lines) == 1 or asked_line in lines:
            help += corrected_call("If you meant that section", changed, error.index, subject, details)
        else:
            shown = ", ".join(map(str, lines[:_LINES_SHOWN]))
            help.append(f"It is there {len(lines)} times, on lines {shown}: set section_line to the one you mean.")
    help.append(for_list("To add a section, use propose_memory_append with a content that begins with its header."))
    message = f"section_header '{_cut(said['header'])}' not found in block '{subject.label}'."
    return _about_edit(error, subject, ErrorCode.SECTION_NOT_FOUND, message, *help, **details)


def section_repeated(error: edits.EditError, subject: Subject) -> ApiError:
    said = error.details
    header, lines, paths, asked_line = _cut(said["header"]), said["lines"], said["paths"], said["asked_line"]
    details: dict[str, Any] = {"lines": list(lines[: 10 * _LINES_SHOWN]), "paths": list(paths[: 10 * _LINES_SHOWN])}
    places = list(zip(lines, paths, strict=True))
    help = [f"Line {line}: {_cut(path)}" for line, path in places[:_LINES_SHOWN]]
    if len(places) > _LINES_SHOWN:
        help.append(f"And {len(places) - _LINES_SHOWN} more.")
    if asked_line is None:
        message = f"section_header '{header}' appears {len(lines)} times in block '{subject.label}'. "
        message += "Set section_line to the line of the one you mean."
    else:
        message = f"section_line {asked_line} is not the line of a header '{header}' in block '{subject.label}'."
        if len(lines) == 1:
            changed = {"section_line": lines[0]}
            help += corrected_call("If you meant that one", changed, error.index, subject, details)
    return _about_edit(error, subject, ErrorCode.SECTION_REPEATED, message, *help, **details)


def section_unclosed(error: edits.EditError, subject: Subject) -> ApiError:
    swallowed = error.details["swallowed"]
    message = (
        f"With this new_content, the header '{_cut(swallowed)}' in block '{subject.label}' would no longer be one."
    )
    help = "It leaves a code fence, a comment or an HTML block open: close it, and call again."
    return _about_edit(error, subject, ErrorCode.SECTION_UNCLOSED, message, help, swallowed=swallowed)


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"


# -- Whether an edit that does not fit was made already, by an approval or by the owner.

#: Changes of the block that are looked at, newest first: each version is one read.
_VERSIONS = 20
#: Characters of context on each side of a place to compare; the text further away may have changed.
_AROUND = 16


def _line_of_made(block: Block, asked: Sequence[edits.Edit], index: int, text: str) -> int | None:
    """Return the line on which `text` has what edit `index` makes of an earlier version; None when none shows it.

    That new_string is in the block proves nothing: an edit that shortens a passage always finds it there. The proof is
    an earlier version which the edit turns into today's text at that place. Versions of a deleted block of the same
    label do not count.

    Args:
        asked: all edits of the call.
        text: the block's text with the edits before that one.
    """
    edit = asked[index]
    if not isinstance(edit, edits.Replace) or not edit.new_string:
        return None
    for earlier in _earlier(block):
        before = _applied(earlier, asked[:index])
        if edit.old_string in before and (place := _made_at(edit, before, text)) is not None:
            return text.count("\n", 0, place) + 1
    return None


def _applied(body: str, earlier: Sequence[edits.Edit]) -> str:
    """Return `body` with the edits made, or unchanged where they do not fit."""
    try:
        return edits.apply(body, earlier).text
    except edits.EditError:
        return body


def _earlier(block: Block) -> Iterator[str]:
    for change in reads.history(block.owner, TargetKind.BLOCK, block.label, limit=_VERSIONS):
        try:
            version = reads.block_at(block.owner, block.label, change.commit)
        except (BlockNotFound, RevisionNotFound):  # deleted then, or cleared from the history
            return
        if version.created_at != block.created_at:
            return
        yield version.body


def _made_at(edit: edits.Replace, before: str, text: str) -> int | None:
    """Return where `text` has the first of the places that the edit makes in `before`, if it has them all."""
    try:
        edits.apply(before, [edit])
    except edits.EditError:
        return None
    # The ends of a text count as ends of lines, or "Alice" at the end would be found in "Alice Marlowe".
    before, text = f"\n{before}\n", f"\n{text}\n"
    first, at = None, before.find(edit.old_string)
    while at >= 0:
        end = at + len(edit.old_string)
        head = before[max(at - _AROUND, 0) : at]
        place = text.find(head + edit.new_string + before[end : end + _AROUND])
        if place < 0:
            return None
        # Of the text without the end of line that was put before it.
        first = place + len(head) - 1 if first is None else first
        at = before.find(edit.old_string, end)
    return first
