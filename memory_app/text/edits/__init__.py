"""Edits of one text: what an agent asks for, applied exactly or refused by name.

Belongs here: the edit operations (`values`), what is refused (`refused`), applying them (`applying`) and applying them
again on a text that has changed since (`remaking`), what no stored text may contain, and edits as JSON (`stored`).
Pure functions over `str`. Not here: finding the passage the agent meant (`fuzzy_match`), what a section is
(`sections`), showing a change (`worddiff`), merging two changed texts, and a block's own character limit (the caller
checks the result).

Matching is exact, always: no change of case, white space, line ends or Unicode form.
"""

from memory_app.text.edits.applying import (
    apply,
    check,
    check_text,
    gap,
    line_before,
    occurs_as_lines,
    reapply,
    sha256_of,
)
from memory_app.text.edits.values import (
    LARGEST_TEXT,
    AlreadyTrue,
    Append,
    Applied,
    DoesNotFit,
    Edit,
    EditError,
    EmptyOldString,
    ForbiddenCharacter,
    IdenticalStrings,
    Insert,
    LineOutOfRange,
    MadeAlready,
    OldStringNotFound,
    OldStringRepeated,
    Prepend,
    Replace,
    Rewrite,
    SectionRefused,
    SectionUpdate,
    TextTooLong,
    WrongCount,
    from_json,
    to_json,
)

__all__ = [
    "LARGEST_TEXT",
    "AlreadyTrue",
    "Append",
    "Applied",
    "DoesNotFit",
    "Edit",
    "EditError",
    "EmptyOldString",
    "ForbiddenCharacter",
    "IdenticalStrings",
    "Insert",
    "LineOutOfRange",
    "MadeAlready",
    "OldStringNotFound",
    "OldStringRepeated",
    "Prepend",
    "Replace",
    "Rewrite",
    "SectionRefused",
    "SectionUpdate",
    "TextTooLong",
    "WrongCount",
    "apply",
    "check",
    "check_text",
    "from_json",
    "gap",
    "line_before",
    "occurs_as_lines",
    "reapply",
    "sha256_of",
    "to_json",
]
