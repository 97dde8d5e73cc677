"""Arguments that several proposing tools take."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_tools.calls.arguments import ProposeArguments, Strict
from memory_app.text import edits

BlockLabel = Annotated[
    str,
    Field(description='The label of the block to edit (e.g., "student", "goals").', min_length=1, max_length=200),
]
OldString = Annotated[
    str, Field(description="The exact text to find and replace. Must be unique unless replace_all=True.")
]
NewString = Annotated[str, Field(description="The text to replace it with. Must be different from old_string.")]
ReplaceAll = Annotated[
    bool,
    Field(description="If True, replace all occurrences. If False (default), old_string must be unique."),
]
ExpectedReplacements = Annotated[
    int | None,
    Field(
        description="How many occurrences you count on replacing; refused when there are more or fewer.",
        ge=1,
        le=100_000,
    ),
]


class BlockEditArguments(ProposeArguments):
    block_label: BlockLabel


class EditArguments(BlockEditArguments):
    old_string: OldString
    new_string: NewString
    replace_all: ReplaceAll = False
    expected_replacements: ExpectedReplacements = None


class EditItem(Strict):
    """One replacement of several."""

    old_string: OldString
    new_string: NewString
    replace_all: ReplaceAll = False
    expected_replacements: ExpectedReplacements = None


EditItems = Annotated[
    list[EditItem],
    Field(
        description="Replacements, made in this order, each on what the one before left: all or none.",
        min_length=1,
        max_length=100,
    ),
]


def as_edit(item: EditArguments | EditItem) -> edits.Replace:
    return edits.Replace(
        old_string=item.old_string,
        new_string=item.new_string,
        replace_all=item.replace_all,
        expected_replacements=item.expected_replacements,
    )
