"""What is wrong with an edit that names a place: a line to insert after, or a section by its header."""

from __future__ import annotations

from typing import Any

from agent_tools.answers.refusals.edits import corrected_call, details_of, which_edit
from agent_tools.answers.subject import Subject
from agent_tools.errors import ApiError, ErrorCode
from memory_app.text import edits
from memory_app.text.sections import SectionNotFound, SectionRepeated, SectionUnclosed

#: Places of one header in the text; all (up to this many times ten) in `details`.
_SHOWN = 20
#: Characters of a header or a path in the text.
_LENGTH = 200


def line_out_of_range(error: edits.LineOutOfRange, subject: Subject) -> ApiError:
    lines = "1 line" if error.last == 1 else f"{error.last} lines" if error.last else "no lines"
    details = details_of(error, subject) | {"insert_line": error.line, "first": 0, "last": error.last}
    help = [*which_edit(error, subject), f"0 puts the content at the start, {error.last} at the end."]
    if error.line > error.last:
        help += corrected_call("If you meant the end", {"insert_line": error.last}, error.index, subject, details)
    return ApiError(
        ErrorCode.LINE_OUT_OF_RANGE,
        f"insert_line {error.line} is out of range: block '{subject.label}' has {lines}, so it must be between 0 and "
        f"{error.last}.",
        help=help,
        details=details,
    )


def section_refused(error: edits.SectionRefused, subject: Subject) -> ApiError:
    match error.why:
        case SectionNotFound() as why:
            return _not_found(why, error, subject)
        case SectionRepeated() as why:
            return _repeated(why, error, subject)
        case SectionUnclosed() as why:
            return _unclosed(why, error, subject)
    raise error


def _not_found(why: SectionNotFound, error: edits.SectionRefused, subject: Subject) -> ApiError:
    details = details_of(error, subject) | {"nearest": why.nearest, "headers": list(why.headers), "count": why.count}
    help = which_edit(error, subject)
    if why.headers:
        more = f" and {why.count - len(why.headers)} more" if why.count > len(why.headers) else ""
        help.append(f"Its headers are: {'; '.join(map(_cut, why.headers))}{more}.")
    else:
        help.append("It has no headers.")
    if why.nearest:
        help.append(f"The nearest is: {_cut(why.nearest)}")
        changed: dict[str, Any] = {"section_header": why.nearest}
        edit = subject.edits[error.index]
        asked_line = edit.line if isinstance(edit, edits.SectionUpdate) else None
        if asked_line is not None and len(why.lines) == 1:
            changed["section_line"] = why.lines[0]
        # Where it occurs more than once, the call works with the line of one of them alone.
        if len(why.lines) == 1 or asked_line in why.lines:
            help += corrected_call("If you meant that section", changed, error.index, subject, details)
        else:
            shown = ", ".join(map(str, why.lines[:_SHOWN]))
            help.append(f"It is there {len(why.lines)} times, on lines {shown}: set section_line to the one you mean.")
    help.append("To add a section, use propose_memory_append with a content that begins with its header.")
    return ApiError(
        ErrorCode.SECTION_NOT_FOUND,
        f"section_header '{_cut(why.header)}' not found in block '{subject.label}'.",
        help=help,
        details=details,
    )


def _repeated(why: SectionRepeated, error: edits.SectionRefused, subject: Subject) -> ApiError:
    details: dict[str, Any] = details_of(error, subject)
    details |= {"lines": list(why.lines[: 10 * _SHOWN]), "paths": list(why.paths[: 10 * _SHOWN])}
    help = which_edit(error, subject)
    help += [f"Line {line}: {_cut(path)}" for line, path in list(zip(why.lines, why.paths, strict=True))[:_SHOWN]]
    if len(why.lines) > _SHOWN:
        help.append(f"And {len(why.lines) - _SHOWN} more.")
    if why.asked_line is None:
        message = f"section_header '{_cut(why.header)}' appears {len(why.lines)} times in block '{subject.label}'. "
        message += "Set section_line to the line of the one you mean."
    else:
        message = f"section_line {why.asked_line} is not the line of a header '{_cut(why.header)}' in block "
        message += f"'{subject.label}'."
        if len(why.lines) == 1:
            changed = {"section_line": why.lines[0]}
            help += corrected_call("If you meant that one", changed, error.index, subject, details)
    return ApiError(ErrorCode.SECTION_REPEATED, message, help=help, details=details)


def _unclosed(why: SectionUnclosed, error: edits.SectionRefused, subject: Subject) -> ApiError:
    return ApiError(
        ErrorCode.SECTION_UNCLOSED,
        f"With this new_content, the header '{_cut(why.swallowed)}' in block '{subject.label}' would no longer be one.",
        help=[
            *which_edit(error, subject),
            "It leaves a code fence, a comment or an HTML block open: close it, and call again.",
        ],
        details=details_of(error, subject) | {"swallowed": why.swallowed},
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
