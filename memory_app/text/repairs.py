"""The edit an agent meant when its old_string is not in the text: its own change, carried over to the passage it meant.

An agent that quotes with a slip (other quotation marks, spaces for tabs, a word too few) has the same slip in its
new_string. What it wants is the difference of its two strings. That is a merge of three texts: the base is its
old_string, ours is the passage, theirs its new_string. What only the agent changed is changed; all else keeps its
bytes; what both changed is not merged, and no edit is offered.

Not here: finding passages (`fuzzy_match`), how an edit is made (`edits`), and the wording of answers.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz.distance import Indel

from memory_app.text import edits
from memory_app.text.edits import EditError, Replace
from memory_app.text.folding import QUOTES
from memory_app.text.fuzzy_match import WORTH_OFFERING, Nearest, is_elided, likeness, passages, without_line_numbers
from memory_app.text.lines import occurrences
from memory_app.text.merge.carry import carried, corrects
from memory_app.text.worddiff.compare import is_spaced

# -- what is put around a quotation ---------------------------------------------------------------

# At most nine characters of a fence count: `\1` is compared at every place.
_FENCED = re.compile(r"(`{3,9}+|~{3,9}+)[^\n`]*+\n(.*)\1", re.DOTALL)
_IN_MARKS = re.compile(r"\"(.+)\"|'(.+)'|`++(.*[^`])`++|“(.+)”|‘(.+)’|„(.+)[“”]|«(.+)»|「(.+)」", re.DOTALL)
_HEADED = re.compile(r"\s*+#[^\S\n]++(\S.*)\n(?:[^\S\n]*+\n)*+(?=[^\S\n]*+\S)")
_ESCAPE = re.compile(r'(?:\\[rnt"\'\\]|\\u[0-9a-fA-F]{4})+')
_BACKSLASHED = re.compile(r"\\.")
_QUOTED = re.compile(r"^[^\S\n]*+> ?", re.MULTILINE)


def _without_fence(text: str) -> str:
    found = _FENCED.fullmatch(text.strip())
    return found[2].rstrip(" \t").removesuffix("\n").removesuffix("\r") if found else text


def _without_marks(text: str) -> str:
    found = _IN_MARKS.fullmatch(text.strip())
    return next(filter(None, found.groups())) if found else text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: str(json.loads('"' + found[0].replace("\\'", "'") + '"')), text)


def _without_heading(text: str, heading: str) -> str:
    above = _HEADED.match(text)
    return text[above.end() :] if above and above[1].rstrip() == heading else text


_Strings = tuple[str, str]


def _without_quotation_marks(old: str, new: str) -> _Strings:
    bare, changed = _without_marks(old), _without_marks(new)
    is_json = '"' in old and "\\" not in bare  # so is the new string, and only what is new has something to escape
    return bare, _unescaped(changed) if is_json else changed


def _without_escapes(old: str, new: str) -> _Strings:
    is_shared = not {*_BACKSLASHED.findall(old)}.isdisjoint(_BACKSLASHED.findall(new))
    return _unescaped(old), _unescaped(new) if is_shared else new


def _without_prefix(old: str, new: str) -> _Strings:
    if not all(map(_QUOTED.match, old.split("\n"))):
        return old, new
    return _QUOTED.sub("", old), _QUOTED.sub("", new) if _QUOTED.match(new) else new


def _steps(heading: str) -> dict[str, Callable[[str, str], _Strings]]:
    """Return what may be taken off the old_string and the new_string, by name."""
    return {
        "code_fence": lambda old, new: (_without_fence(old), _without_fence(new)),
        "quotation_marks": _without_quotation_marks,
        "heading": lambda old, new: (_without_heading(old, heading), _without_heading(new, heading)),
        "escapes": _without_escapes,
        "quote_prefix": _without_prefix,
        "line_numbers": lambda old, new: (without_line_numbers(old), without_line_numbers(new, is_listing=True)),
    }


def _fit(text: str, needle: str) -> float:
    """Return how well a needle fits: above 1 where it is there as it is."""
    return 2.0 if needle in text else likeness(text, needle)


def _bare(text: str, edit: Replace, heading: str) -> tuple[Replace, tuple[str, ...]]:
    """Return the edit without what was put around its strings, where the old_string fits better without it, and the
    names of that."""
    taken_off: list[str] = []
    fit: float | None = None
    for name, step in [*_steps(heading).items()] * 2:
        old, new = step(edit.old_string, edit.new_string)
        if name in taken_off or old == edit.old_string or not old.strip():
            continue
        fit = _fit(text, edit.old_string) if fit is None else fit
        if (better := _fit(text, old)) > fit:
            if Indel.distance(old, new) > Indel.distance(old, edit.new_string):
                new = edit.new_string  # only the old_string had it
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
            `heading` (the title, as it is shown above the text), `escapes`, `quote_prefix` (`> ` before each line),
            `line_numbers`.
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
    line = places[0].with_lines(text)
    if len(places) == 1 and passage in line and corrects(bare.old_string, line, bare.new_string):
        passage = line  # the new_string has all of it, of which the old_string is a part
    new = carried(bare.old_string, passage, bare.new_string, line_end=edits.line_end_of(text))
    if new is None or new == passage:
        return replace(found, is_made=new is not None)
    made = Replace(passage, new, replace_all=bare.replace_all)
    if len(places) == 1 and text.count(passage) > 1:  # a part of other words too
        line += passage[len(passage.rstrip("\r\n")) :]
        if text.count(line) > 1 or line.count(passage) > 1:
            return found
        made = replace(made, old_string=line, new_string=line.replace(passage, new))
    if not all(_fits(text[:at], made, text[at + len(made.old_string) :]) for at in occurrences(text, made.old_string)):
        return found
    is_as_asked = _put_in(passage, new) == _put_in(bare.old_string, bare.new_string)
    is_of_form = is_as_asked and not taken_off and len(places) == 1 and _plain(bare.old_string) == _plain(passage)
    return replace(found, edit=made, is_of_form=is_of_form)


def _fits(before: str, made: Replace, after: str) -> bool:
    """Whether an edit joins no lines and divides none, ends in no word, and repeats nothing of what is around it."""
    old, new = made.old_string, made.new_string
    is_start, is_end = old[0] in "\r\n", old[-1] == "\n"
    if new.strip():
        is_joined = (is_start and new[0] not in "\r\n") or (is_end and new[-1] != "\n" and after)
    else:
        is_joined = is_start and is_end and "\n" not in new
    rest = after.partition("\n")[0]
    if old.split()[-1:] != new.split()[-1:] and rest.strip() and not is_end:
        is_in_word = rest[0].isalnum() and is_spaced(rest[0])
        is_joined = is_joined or is_in_word or new.count("\n") > old.count("\n")
    first, last = new.split()[:1], new.split()[-1:]
    is_repeated = first != old.split()[:1] and before.rsplit(maxsplit=1)[-1:] == first != []
    is_repeated = is_repeated or (last != old.split()[-1:] and after.lstrip().startswith(tuple(last)))
    is_escaped = not {*_ESCAPE.findall(new)} <= {*_ESCAPE.findall(old)}
    return not (is_joined or is_repeated or is_escaped)


def _plain(text: str) -> str:
    return "".join(text.translate(QUOTES).split())


def _put_in(old: str, new: str) -> Counter[str]:
    """Return the words that one has more than the other, whatever is between them."""
    words = Counter(new.translate(QUOTES).split())
    words.subtract(old.translate(QUOTES).split())
    return words


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
