"""The edit an agent meant when its old_string is not in the text: its own change, carried over to the passage it meant.

An agent that quotes with a slip (other quotation marks, spaces for tabs, a word too few) has the same slip in its
new_string. What it wants is the difference of its two strings. That is a merge of three texts: the base is its
old_string, ours is the passage, theirs its new_string. What only the agent changed is changed; all else keeps its
bytes; what both changed is not merged, and no edit is offered.

Not here: finding passages (`fuzzy_match`), how an edit is made (`edits`), and the wording of answers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_app.text import edits
from memory_app.text.edits import EditError, Replace
from memory_app.text.fuzzy_match import (
    WORTH_OFFERING,
    Nearest,
    is_elided,
    likeness,
    passages,
    without_line_numbers,
)
from memory_app.text.merge.carry import carried

# -- what is put around a quotation ---------------------------------------------------------------

# At most nine characters of a fence count: `\1` is compared at every place.
_FENCED = re.compile(r"(`{3,9}+|~{3,9}+)[^\n`]*+\n(.*)\1", re.DOTALL)
_IN_MARKS = re.compile(r"\"(.+)\"|'(.+)'|`++(.*[^`])`++|“(.+)”|‘(.+)’|„(.+)[“”]|«(.+)»|「(.+)」", re.DOTALL)
_HEADED = re.compile(r"\s*+#[^\S\n]++(\S.*)\n(?:[^\S\n]*+\n)*+(?=[^\S\n]*+\S)")
_ESCAPED = {r"\r\n": "\r\n", r"\n": "\n", r"\t": "\t", r"\"": '"'}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPED)))


def _without_fence(text: str) -> str:
    found = _FENCED.fullmatch(text.strip())
    return found[2].rstrip(" \t").removesuffix("\n").removesuffix("\r") if found else text


def _without_quotation_marks(text: str) -> str:
    found = _IN_MARKS.fullmatch(text.strip())
    return next(filter(None, found.groups())) if found else text


def _without_heading(text: str, heading: str) -> str:
    above = _HEADED.match(text)
    return text[above.end() :] if above and above[1].rstrip() == heading else text


def _steps(heading: str) -> dict[str, Callable[[str], str]]:
    """Return what may be taken off, by name: of both strings, where the old_string fits better without it."""
    return {
        "code_fence": _without_fence,
        "quotation_marks": _without_quotation_marks,
        "heading": lambda text: _without_heading(text, heading),
        "escapes": lambda text: _ESCAPE.sub(lambda found: _ESCAPED[found[0]], text),
        "line_numbers": without_line_numbers,
    }


def _fit(text: str, needle: str) -> float:
    """Return how well a needle fits: above 1 where it is there as it is."""
    return 2.0 if needle in text else likeness(text, needle)


def _bare(text: str, edit: Replace, heading: str) -> tuple[Replace, tuple[str, ...]]:
    """Return the edit without what was put around both strings, and the names of that."""
    taken_off: list[str] = []
    steps = _steps(heading)
    fit: float | None = None
    for name, step in [*steps.items()] * 2:
        old = step(edit.old_string)
        if name in taken_off or old == edit.old_string or not old.strip():
            continue
        fit = _fit(text, edit.old_string) if fit is None else fit
        if (better := _fit(text, old)) > fit:
            new = step(edit.new_string)
            if name == "line_numbers":
                new = without_line_numbers(edit.new_string, is_listing=True)
            edit, fit = replace(edit, old_string=old, new_string=new), better
            taken_off.append(name)
    return edit, tuple(taken_off)


# -- repairs --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repair:
    """What can be said of an edit whose old_string is not in the text.

    Attributes:
        old_string: it, without what is taken off.
        places: the passage that was meant; all that fit equally well, where there are several.
        taken_off: what both strings had around them that is not of the text: `code_fence`, `quotation_marks`,
            `heading` (the title, as it is shown above the text), `escapes`, `line_numbers`.
        is_elided: the old_string leaves text out, with "..." for it.
        edit: the edit that makes the caller's own change and nothing else; None where that is not certain.
        is_of_form: the old_string differs from the passage only in white space, line ends or the form of quotation
            marks, so that the edit may be made without asking again.
        is_made: the passage says already what the caller wants it to say.
    """

    old_string: str
    places: tuple[Nearest, ...] = ()
    taken_off: tuple[str, ...] = ()
    is_elided: bool = False
    edit: Replace | None = None
    is_of_form: bool = False
    is_made: bool = False


def repair(text: str, edit: Replace, *, heading: str = "") -> Repair:
    """Return what was meant by an edit whose old_string is not in the text.

    Args:
        heading: the title of the text, which readers see above it as `# title`.
    """
    bare, taken_off = _bare(text, edit, heading)
    places = passages(text, bare.old_string)
    found = Repair(bare.old_string, tuple(places), taken_off)
    if not places or places[0].similarity < WORTH_OFFERING:
        return found
    passage = places[0].passage
    if is_elided(bare.old_string, passage):
        return replace(found, is_elided=True)
    is_all = bare.replace_all and all(each.passage == passage for each in places)
    if len(places) > 1 and not (is_all and text.count(passage) == len(places)):
        return found
    new = carried(bare.old_string, passage, bare.new_string, line_end=edits.line_end_of(text))
    if new is None or new == passage:
        return replace(found, is_made=new is not None)
    made = Replace(passage, new, replace_all=bare.replace_all)
    if len(places) == 1 and text.count(passage) > 1:  # a part of other words too
        line = places[0].with_lines(text)
        if text.count(line) > 1:
            return found
        made = replace(made, old_string=line, new_string=line.replace(passage, new, 1))
        if line.count(passage) > 1:
            return found
    is_of_form = not taken_off and len(places) == 1 and _plain(bare.old_string) == _plain(passage)
    return replace(found, edit=made, is_of_form=is_of_form)


_QUOTES = {**dict.fromkeys(map(ord, "‘’‚‛"), "'"), **dict.fromkeys(map(ord, "“”„‟"), '"')}


def _plain(text: str) -> str:
    return "".join(text.translate(_QUOTES).split())


def differing(asked: Sequence[edits.Edit], made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return which replacements were made on a passage written otherwise than their old_string, and how.

    Args:
        made: as `edits.to_json` has them, one for each that was asked for.
    """
    return [
        {"edit": index, "old_string": done["old_string"], "new_string": done["new_string"]}
        for index, (edit, done) in enumerate(zip(asked, made, strict=True))
        if isinstance(edit, Replace) and done.get("old_string", edit.old_string) != edit.old_string
    ]


def apply(text: str, wanted: Sequence[edits.Edit], *, heading: str = "") -> edits.Applied:
    """Apply edits as `edits.apply` does, those that differ from the text in form only as they are meant.

    The edits returned are the ones that were made: exact ones, which can be made again.

    Raises what `edits.apply` raises.
    """
    made = list(wanted)
    while True:
        try:
            return edits.apply(text, made)
        except EditError as error:
            edit = made[error.index]
            if error.code != "old_string_not_found" or not isinstance(edit, Replace):
                raise
            before = edits.apply(text, made[: error.index]).text
            found = repair(before, edit, heading=heading)
            if found.edit is None or not found.is_of_form:
                raise
            made[error.index] = replace(found.edit, expected_replacements=edit.expected_replacements)
