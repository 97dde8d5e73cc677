"""The error table of the memory: what each refusal of the services, of an edit or of a reader is answered with.

A row is a code, which has the HTTP status, and a text; where the answer is more than that, a function here, or in
`edits` for what is wrong with an edit.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agent_tools.answers import edit_refusals, representations, withholding
from agent_tools.answers.representations import Subject
from agent_tools.calls.arguments import invalid
from agent_tools.calls.registry import Call, for_list
from agent_tools.errors import ApiError, ErrorCode, ErrorRow, ErrorTable, find_row
from approvals.models import Proposal, Status
from approvals.review.turn import change_request
from approvals.services.errors import DecisionRefused, NoteWithdrawn, Refusal, ReplacementNotFound
from assent_client.text import memories_md
from memory_app import reads
from memory_app.models import LABEL, TargetKind
from memory_app.reads import BlockNotFound, Note, NoteNotFound, RevisionNotFound
from memory_app.sealing import TextErased
from memory_app.text import edits
from memory_app.text.lines import first_words


def note_invalid(error: Refusal, subject: Subject) -> ApiError:
    message = error.message[:1].lower() + error.message[1:].rstrip(".")
    argument = subject.argument(error.details["field"])
    if (index := error.details.get("index")) is not None:
        argument = f"{argument}[{index}]"
    return invalid({argument: f"is refused: {message}"}, called=subject.call.called)


def note_waits(error: Refusal, subject: Subject) -> ApiError:
    waiting, id_, argument = error.details["proposal"], error.details["id"], error.details["argument"]
    decides = f"The user, or a tutor of theirs, decides about it at {representations.review_url(waiting)}; "
    meanwhile = "It is part of an import, which is decided as a whole. withdraw_proposal takes all of it back."
    if waiting.target_kind == TargetKind.NOTE:
        meanwhile = "Until then memory_update changes what it proposes, and memory_delete takes it back."
    help = [f"{decides}{representations.how_to_follow()}".removesuffix("; "), for_list(meanwhile)]
    message = f"Note '{id_}' is not in the memory yet: it waits as your proposal {waiting.pk}."
    proposal = representations.open_proposals([waiting])[0]
    details = {"argument": subject.argument(argument), "note_id": id_, "proposal": proposal}
    return ApiError(ErrorCode.NOTE_WAITS, message, help=help, details=details)


def note_superseded(error: Refusal, subject: Subject) -> ApiError:
    note: Note = error.details["note"]
    # The end of the chain of replacements, unless that was forgotten or deleted; in a circle none holds.
    holds = next((following.id for following in reads.replacements(note) if not following.is_superseded), None)
    why = (
        "it was forgotten, and nothing took its place. "
        "Save a new note if there is something to remember; only the user can put this one back."
    )
    if holds is not None:
        why = f"note '{holds}' took its place. If that one has to change, name it."
    details = {
        "note_id": note.id,
        "superseded_at": representations.time(note.superseded_at) if note.superseded_at else None,
        "superseded_reason": note.superseded_reason,
        "superseded_by": note.superseded_by,
        "holds": holds,
    }
    return ApiError(ErrorCode.NOTE_SUPERSEDED, f"Note '{note.id}' is superseded: {why}", details=details)


_RULES = "lower-case letters, digits, dash and underscore, at most 64, beginning with a letter or a digit"


def label_invalid(error: Refusal, subject: Subject) -> ApiError:
    """Return the rules of labels, with the nearest one that keeps to them."""
    nearest = _nearest_label(subject.label)
    message = f"label '{subject.label[:100]}' is not a label: it has to be {_RULES}."
    help = [f"'{nearest}' would be one."] if nearest else []
    details = {"fields": {"label": f"has to be {_RULES}"}, "nearest": nearest}
    return ApiError(ErrorCode.LABEL_INVALID, message, help=help, details=details)


def block_exists(error: Refusal, subject: Subject) -> ApiError:
    """Return which block is there, and which tools change it."""
    label = subject.label
    block = error.details["block"]
    change = "Read it with read_memory_block, then change it with propose_memory_edit; or choose another label."
    help = for_list(change, or_nearest=True) or "Choose another label."
    if block.read_only:
        help = "It is read-only for agents: choose another label."
    message = f"There is a memory block '{label}' already: \"{block.display_title}\"."
    details = {"block_label": label, "block": representations.block(block)}
    return ApiError(ErrorCode.LABEL_TAKEN, message, help=[help], details=details)


def block_waits(error: Refusal, subject: Subject) -> ApiError:
    proposal = error.details["proposal"]
    message = f"You have proposed block '{proposal.target}' already, with other words: proposal {proposal.pk} waits."
    details = {"block_label": proposal.target, "proposal": representations.proposal(proposal)}
    return ApiError(ErrorCode.BLOCK_WAITS, message, help=[edit_refusals.waits(proposal)], details=details)


_NOT_IN_LABELS = re.compile(r"[^a-z0-9_-]+")


def _nearest_label(text: str) -> str | None:
    """Return the label that a text comes nearest to, as `My Goals` to `my_goals`; None where nothing is left of it."""
    cleaned = _NOT_IN_LABELS.sub("_", text.strip().lower()).lstrip("_-").rstrip("_-")[:64]
    return cleaned if LABEL.fullmatch(cleaned) else None


#: Seconds after which to try again: a proposal that another call makes, an import of a thousand memories, a decision of
#: a person.
_MADE_BY_THEN, _NEXT_TURN, _PENDING_RETRY = 2, 5, 3_600

#: Characters of a passage that a refusal quotes in its text.
_QUOTED = 200

#: What to do about a decided proposal that was to be amended.
_ANEW = (
    "A decided proposal cannot be amended. Propose the change anew, without proposal_id: of a rejected one, people see "
    "what the new one answers."
)


def shown(call: Call, proposal: Proposal) -> dict[str, Any]:
    """Return a proposal as the caller may see it."""
    is_gone = proposal.pk in withholding.about_deleted(call, [proposal])
    return representations.proposal(proposal, is_gone=is_gone, asked=change_request(proposal))


@contextmanager
def explained(subject: Subject) -> Iterator[None]:
    """Raise ApiError for what is refused inside."""
    try:
        yield
    except _REFUSED as error:
        raise explain(error, subject) from error


def explain(error: Exception, subject: Subject) -> ApiError:
    """Return the answer to a refusal; raise any other exception again."""
    row = TABLE.get(error.code) if isinstance(error, Refusal | edits.EditError) else find_row(TABLE, error)
    if row is None:
        raise error
    if isinstance(row, ErrorRow):
        row = replace(row, help=tuple(map(for_list, row.help)))
    return row(error, subject)


def _no_change(error: Refusal, subject: Subject) -> ApiError:
    if "proposal" in error.details:
        return _nothing_amended(error.details["proposal"])
    if not subject.label:
        return ApiError(ErrorCode.NO_CHANGE, "The memory says exactly this already; there is nothing to change.")
    message = f"The result equals the present text of block '{subject.label}'; there is nothing to propose."
    return ApiError(ErrorCode.NO_CHANGE, message, details={"block_label": subject.label})


def _already_decided(error: DecisionRefused, subject: Subject) -> ApiError:
    """Return what became of the proposal: the call comes too late, or back after its texts were removed."""
    message = representations.told(error.proposal)
    help = [_ANEW] if subject.amends and not error.proposal.is_redacted else []
    return ApiError(ErrorCode.ALREADY_DECIDED, message, help=help, details=_proposal(error, subject))


def _rejected_before(error: Refusal, subject: Subject) -> ApiError:
    """Return why people rejected the same, and what to do where something has changed since."""
    repeated = error.details["repeated"]
    before = repeated.earlier
    # A call that is answered under an idempotency key is kept with its answer, and these texts were removed.
    passages = [] if before.is_redacted else list(repeated.passages)
    quoted = "; ".join(f"“{first_words(each, _QUOTED)}”" for each in passages)
    help = [f"What was rejected is: {quoted}"] if quoted else []
    help.append("Nothing was made, and the user is not asked. Do not propose it again unless something has changed.")
    needs = None
    if repeated.is_forced:
        needs = "new_reasoning" if repeated.has_reasoning else "reasoning"
        help.append("force needs a reasoning that you have not given before: say what has changed since.")
    else:
        help.append("If it has, make the call with force=true, a reasoning that says what, and a key of its own.")
    decision = representations.decision(before)
    details = {
        "proposal_id": before.pk,
        "reason": decision["reason"],
        "comment": decision["comment"],
        "decided_by": decision["by"],
        "decided_at": decision["at"],
        "passages": passages,
        "force_needs": needs,
    }
    message = f"The user rejected this before. {representations.told(before)}"
    return ApiError(ErrorCode.REJECTED_BEFORE, message, help=help, details=details)


def _proposal(error: DecisionRefused, subject: Subject) -> dict[str, Any]:
    return {"proposal": shown(subject.call, error.proposal)}


def _being_decided(error: DecisionRefused, subject: Subject) -> ApiError:
    proposal = error.proposal
    done = "decided" if proposal.status == Status.MERGING else "changed by another call"
    message = f"Proposal {proposal.pk} is being {done} this moment."
    return ApiError(ErrorCode.BEING_DECIDED, message, details=_proposal(error, subject), retry_after=2)


def _other_target(error: Refusal, subject: Subject) -> ApiError:
    proposal = error.details["proposal"]
    message = f"Proposal {proposal.pk} is about {representations.target(proposal)}, not about what this call changes."
    help = ["Amend it with a change of that, or leave proposal_id out to propose this anew."]
    details = {"proposal_id": proposal.pk, **representations.about(proposal)}
    return ApiError(ErrorCode.OTHER_TARGET, message, help=help, details=details)


def _nothing_amended(proposal: Proposal) -> ApiError:
    asked = change_request(proposal)
    message = f"Proposal {proposal.pk} asks for exactly this already; it is not changed."
    help = [representations.told(proposal, asked)] if asked else []
    details = {"proposal_id": proposal.pk, "revision": proposal.current_revision_number}
    return ApiError(ErrorCode.NO_CHANGE, message, help=help, details=details)


def _too_many_pending(error: Refusal, subject: Subject) -> ApiError:
    proposals, cap = error.details["proposals"], error.details["cap"]
    numbers = [proposal.pk for proposal in proposals]
    message = f"{len(numbers)} of your proposals for this user wait for a decision, and no more than {cap} may."
    help = [f"They are: {', '.join(map(str, numbers))}. Wait for decisions, or withdraw those no longer needed."]
    details = {"cap": cap, "proposals": representations.open_proposals(proposals)}
    return ApiError(ErrorCode.TOO_MANY_PENDING, message, help=help, details=details, retry_after=_PENDING_RETRY)


TABLE: ErrorTable = {
    # Edits of a block.
    "identical_strings": edit_refusals.edit_row(
        ErrorCode.IDENTICAL_STRINGS, "old_string and new_string must be different."
    ),
    "empty_old_string": edit_refusals.edit_row(ErrorCode.EMPTY_OLD_STRING, "old_string cannot be empty."),
    "forbidden_character": edit_refusals.forbidden_character,
    "old_string_not_found": edit_refusals.old_string_not_found,
    "old_string_repeated": edit_refusals.repeated,
    "wrong_count": edit_refusals.wrong_count,
    "line_out_of_range": edit_refusals.line_out_of_range,
    "section_not_found": edit_refusals.section_not_found,
    "section_repeated": edit_refusals.section_repeated,
    "section_unclosed": edit_refusals.section_unclosed,
    "text_too_long": edit_refusals.text_too_long,
    # Blocks.
    BlockNotFound: edit_refusals.block_not_found,
    "block_read_only": ErrorRow(
        ErrorCode.BLOCK_READ_ONLY,
        "Memory block '{about.label}' is read-only for agents.",
        help=("Only people change it, on its page: tell the user what should be in it.",),
        details=lambda error, about: {"block_label": about.label},
    ),
    "label_invalid": label_invalid,
    "label_taken": block_exists,
    "block_waits": block_waits,
    "invalid_arguments": lambda error, about: invalid(error.details["fields"], called=about.call.called),
    "over_limit": edit_refusals.over_limit,
    "precondition_failed": ErrorRow(
        ErrorCode.PRECONDITION_FAILED,
        "Memory block '{about.label}' changed since you read it.",
        help=("Read it again before you propose.",),
        details=lambda error, about: {"content_sha256": error.details["block"].body_sha256},
    ),
    # Notes.
    NoteNotFound: ErrorRow(
        ErrorCode.NOTE_NOT_FOUND,
        "Note '{error.id}' not found.",
        help=("memory_search has the ids of the notes there are; what was deleted can be saved again.",),
        details=lambda error, about: {"note_id": error.id},
    ),
    NoteWithdrawn: ErrorRow(
        ErrorCode.NOTE_NOT_FOUND,
        "Note '{error.id}' not found.",
        help=("Your proposal {error.proposal.pk}, which was to make it, is withdrawn already.",),
        details=lambda error, about: {"note_id": error.id, "proposal_id": error.proposal.pk},
    ),
    ReplacementNotFound: ErrorRow(
        ErrorCode.REPLACEMENT_NOT_FOUND,
        "replacement_id: note '{error.id}' not found.",
        details=lambda error, about: {"replacement_id": error.id},
    ),
    "note_invalid": note_invalid,
    "note_superseded": note_superseded,
    "note_waits": note_waits,
    "notes_changed": ErrorRow(
        ErrorCode.NOTES_CHANGED,
        "A note changed while this call was made; nothing was written. Read it again, then try again.",
        details=lambda error, about: {"note_ids": list(error.details["ids"][:50])},
    ),
    # Files.
    memories_md.FileTooLarge: ErrorRow(
        ErrorCode.BODY_TOO_LARGE,
        "Nothing was imported: {error}.",
        details=lambda error, about: {"limit": memories_md.LARGEST_FILE},
    ),
    memories_md.Unreadable: ErrorRow(ErrorCode.MALFORMED_FILE, "Nothing was imported: {error}."),
    "import_under_way": ErrorRow(
        ErrorCode.IMPORT_UNDER_WAY,
        "Another import of this user's, or of this agent's, is under way; nothing was taken. "
        "Send the file again when it is over.",
        retry_after=_NEXT_TURN,
    ),
    # Proposals, and what blocks and notes have in common.
    RevisionNotFound: ErrorRow(
        ErrorCode.REVISION_NOT_FOUND,
        "as_of '{about.as_of}' is neither a commit of this memory nor a date or time it covers.",
        details=lambda error, about: {"as_of": about.as_of},
    ),
    TextErased: ErrorRow(
        ErrorCode.TEXT_ERASED,
        "This text was erased for good on {error.at:%Y-%m-%d}: nobody can read it any more. Do not write it again.",
        details=lambda error, about: {"as_of": about.as_of, "erased_at": representations.time(error.at)},
    ),
    "no_change": _no_change,
    "proposal_not_found": ErrorRow(
        ErrorCode.PROPOSAL_NOT_FOUND,
        "Proposal {about.proposal_id} not found.",
        help=("list_proposals has the numbers of yours.",),
        details=lambda error, about: {"proposal_id": about.proposal_id},
    ),
    "other_target": _other_target,
    "too_many_revisions": ErrorRow(
        ErrorCode.TOO_MANY_REVISIONS,
        "Proposal {error.details[proposal].pk} has been amended too often: it has {error.details[most]} revisions.",
        help=("Withdraw it and propose the change anew.",),
        details=lambda error, about: {"proposal_id": error.details["proposal"].pk, "revisions": error.details["most"]},
    ),
    "already_decided": _already_decided,
    "rejected_before": _rejected_before,
    "being_decided": _being_decided,
    "comment_invalid": ErrorRow(ErrorCode.INVALID_ARGUMENTS, "Invalid arguments: comment is empty or too long."),
    "talk_closed": ErrorRow(
        ErrorCode.ALREADY_DECIDED,
        "Proposal {error.proposal.pk} takes no more comments: it was decided long ago, or has as many as it can have.",
        details=_proposal,
    ),
    "too_many_pending": _too_many_pending,
    "memory_full": ErrorRow(
        ErrorCode.MEMORY_FULL,
        "Too many proposals are waiting for a decision in this installation. Try again later.",
        retry_after=_PENDING_RETRY,
    ),
    "being_made": ErrorRow(
        ErrorCode.BEING_MADE,
        "Another call is making the same proposal. Make the same call again shortly.",
        retry_after=_MADE_BY_THEN,
    ),
}

#: What `explained` looks up in the table.
_REFUSED: tuple[type[Exception], ...] = (Refusal, edits.EditError, *(key for key in TABLE if isinstance(key, type)))
