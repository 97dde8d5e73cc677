"""The Python types of what a method takes (from its JSON Schema) and of what is answered (by the field's name).

The registry says of an answer's field what it means, not its type, so the types are listed here. A field that is in no
list is `Any`, which is never wrong; what is in one is compared with real answers by tests/clients.
"""

from __future__ import annotations

import re
from typing import Any

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

_BOOLEANS = frozenset(
    "amended asks_you broad created forgotten index_behind propose_again read_only redacted remembered reverted weak "
    "words_only".split()
)
_WHOLE_NUMBERS = frozenset(
    "access_count comment_count count deleted left length limit lines note_count "
    "occurrences_replaced open_proposals_left_out proposal_id retry_after revision".split()
)
_NUMBERS = frozenset("importance score".split())
_TEXTS = frozenset(
    "action actor agent as_of approval at author base_commit block_label body branch by by_kind category change "
    "comment commit content content_sha256 created_at description effect expires_at final_text final_title "
    "first_at head_commit id inject instructions kind label last_access last_at memory_id memory_type "
    "merge_commit mergeability message message_id next note_id other_first rationale reason reasoning "
    "review_url role session_id sha256 skill source status superseded_at superseded_by superseded_reason "
    "target_kind text timestamp title type updated_at user_id waits_because".split()
)
_LISTS = {
    "agents": "list[str]",
    "difference": "list[dict[str, Any]]",
    "edits": "list[dict[str, Any]]",
    "known": "list[str]",
    "new": "list[str]",
    "next_range": "list[int]",
    "not_accepted": "list[dict[str, Any]]",
    "tags": "list[str]",
    "view_range": "list[int]",
    "warnings": "list[str]",
}
_OBJECTS = frozenset("blocks_receipt changes_requested decision receipt undone".split())
#: Where the word alone does not tell: a number beside notes, a word beside proposals.
_BY_MEANING = {"confidence": ("0 to 1", "float", "str")}
_MAY_BE_ABSENT = re.compile(r"\bnull\b|\bnot there\b|where there is one|none of")


def of_field(name: str, meaning: str) -> str:
    """Return the annotation of a field of an answer."""
    kind = _kind(name, meaning)
    return f"{kind} | None" if kind != "Any" and _MAY_BE_ABSENT.search(meaning) else kind


def _kind(name: str, meaning: str) -> str:
    if name in _BY_MEANING:
        beginning, then, otherwise = _BY_MEANING[name]
        return then if meaning.startswith(beginning) else otherwise
    if name in _LISTS:
        return _LISTS[name]
    for kind, names in (
        ("bool", _BOOLEANS),
        ("int", _WHOLE_NUMBERS),
        ("float", _NUMBERS),
        ("str", _TEXTS),
        ("dict[str, Any]", _OBJECTS),
    ):
        if name in names:
            return kind
    return "Any"


class ObjectArguments:
    """The annotations of arguments; objects among them become typed dicts, collected in `classes`."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[str, Any]] = {}

    def annotation(self, name: str, schema: dict[str, Any]) -> str:
        """Return the type of an argument."""
        if "enum" in schema:
            return f"Literal[{', '.join(map(_literal, schema['enum']))}]"
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items", {})
            return f"Sequence[{self.annotation(name.removesuffix('s'), items)}]"
        if kind == "object":
            return self._object(name, schema)
        return _SIMPLE.get(str(kind), "Any")

    def _object(self, name: str, schema: dict[str, Any]) -> str:
        if not schema.get("properties"):
            return "Mapping[str, Any]"
        base = "".join(word.title() for word in name.split("_"))
        for called in (f"{base}Param", *(f"{base}{number}Param" for number in range(2, 9))):
            if self.classes.setdefault(called, schema) == schema:
                return called
        raise ValueError(f"nine kinds of {name}")


def _literal(text: object) -> str:
    return f'"{text}"' if isinstance(text, str) else repr(text)
