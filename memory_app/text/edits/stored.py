"""Edits as JSON, stored with a revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memory_app.text.edits.values import Append, Edit, Insert, Prepend, Replace, Rewrite, SectionUpdate


def to_json(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return the edits as plain JSON, to be stored with a revision.

    `expected_replacements` is left out: once an edit has been applied, `occurrences` says the same.
    """
    return [_as_dict(edit) for edit in edits]


def from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Return the edits that `to_json` wrote. Raises ValueError on an unknown operation."""
    return tuple(_from_dict(item) for item in stored)


def _as_dict(edit: Edit) -> dict[str, Any]:
    match edit:
        case Replace():
            return {
                "op": "replace",
                "old_string": edit.old_string,
                "new_string": edit.new_string,
                "replace_all": edit.replace_all,
                "occurrences": edit.occurrences,
            }
        case Rewrite():
            return {"op": "rewrite", "content": edit.content}
        case Append():
            return {"op": "append", "content": edit.content, "own_line": edit.own_line}
        case Prepend():
            return {"op": "prepend", "content": edit.content, "own_line": edit.own_line}
        case Insert():
            return {"op": "insert", "line": edit.line, "content": edit.content}
        case SectionUpdate():
            return {"op": "section", "header": edit.header, "content": edit.content, "line": edit.line}


def _from_dict(item: Mapping[str, Any]) -> Edit:
    match item.get("op"):
        case "replace":
            return Replace(
                old_string=item["old_string"],
                new_string=item["new_string"],
                replace_all=item["replace_all"],
                occurrences=item["occurrences"],
            )
        case "rewrite":
            return Rewrite(content=item["content"])
        case "append":
            return Append(content=item["content"], own_line=item["own_line"])
        case "prepend":
            return Prepend(content=item["content"], own_line=item["own_line"])
        case "insert":
            return Insert(line=item["line"], content=item["content"])
        case "section":
            return SectionUpdate(header=item["header"], content=item["content"], line=item["line"])
        case unknown:
            raise ValueError(f"unknown edit operation {unknown!r}")
