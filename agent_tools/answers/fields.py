"""The fields of `data`: of which type they are, and what they mean.

Those of blocks, notes and proposals, and of what came of a change, are in fields.toml; those of one tool are in
`calls/registry.toml`. The OpenAPI document and the classes of the client are made from these tables, and tests compare
them with every answer they get. A field is written `string | null: what it means`. Types are those of JSON Schema and
the names in `OBJECTS`; `integer[]` is a list, `integer{}` an object with values of that type, and what begins with
`optional` may not be there. Of a list of objects, each field has a row: `items[].label`.
"""

import tomllib
from pathlib import Path
from string import Template
from typing import Any

from assent_client.text.notes import TYPES

Fields = dict[str, str]


def read(text: str) -> tuple[str, bool, str]:
    """Return a field's type, whether it may be missing, and what it means. Raise ValueError where it has no type."""
    kind, colon, meaning = text.partition(": ")
    if not colon:
        raise ValueError(f"{text!r} has no type")
    return kind.removeprefix("optional "), kind.startswith("optional "), meaning


def split(returns: Fields) -> tuple[Fields, dict[str, Fields]]:
    """Return the plain fields, and those of each list of objects."""
    plain: Fields = {}
    nested: dict[str, Fields] = {}
    for field, text in returns.items():
        where, dot, inner = field.partition("[].")
        if dot:
            nested.setdefault(where, {})[inner] = text
        else:
            plain[field] = text
    return plain, nested


def of_either(one: Fields, other: Fields) -> Fields:
    """Return the fields of an answer that is about one thing or another: what only one has is null for the other."""
    found = {}
    for name, text in (one | other).items():
        kind, _, meaning = read(text)
        is_in_both = all(name in each and "null" not in read(each[name])[0] for each in (one, other))
        found[name] = text if is_in_both or "null" in kind else f"{kind} | null: {meaning}"
    return found


def listed(name: str, item: Fields) -> Fields:
    """Return the fields of a list of objects, as rows beside the plain fields of an answer."""
    return {f"{name}[].{field}": text for field, text in item.items()}


def _some(table: Fields, names: str) -> Fields:
    return {name: table[name] for name in names.split()}


INDEX_BEHIND = "boolean: true while the search does not know the newest changes yet; the text says so too"
#: Of a call that was to wait.
RETRY_AFTER = "integer | null: null; where the call was to wait and could not, the seconds after which to ask again"

#: Notes of a proposal in an answer; an import may have thousands.
NOTES_SHOWN = 50


def _tables() -> dict[str, Any]:
    """Return the tables of fields.toml, with what code decides put in."""
    reasons = "wrong, outdated, too_private, duplicate, badly_worded or other"
    written = Template(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    decided = {"types": ", ".join(TYPES), "notes": NOTES_SHOWN, "reasons": reasons, "index_behind": INDEX_BEHIND}
    return tomllib.loads(written.substitute(decided))


_TABLES = _tables()

BLOCK: Fields = _TABLES["block"]
PART: Fields = _TABLES["part"]
CHANGE: Fields = _TABLES["change"]
NOTE: Fields = _TABLES["note"]
COMMENT: Fields = _TABLES["comment"]
SESSION: Fields = _TABLES["session"]
MESSAGE: Fields = _TABLES["message"]
FILE: Fields = _TABLES["file"]
RESULTS: Fields = _TABLES["results"]
RECALLED: Fields = _TABLES["recalled"]
TOKEN: Fields = _TABLES["token"]
PROPOSAL: Fields = _TABLES["proposal"]
PROPOSAL_IN_FULL = PROPOSAL | _TABLES["proposal_in_full"]
OPEN_PROPOSAL = _some(PROPOSAL, "proposal_id block_label note_id status mergeability reasoning created_at review_url")
WRITTEN: Fields = _TABLES["written"]
_NEVER_NULL = _some(WRITTEN, "proposal_id base_commit head_commit revision review_url")
PROPOSED: Fields = {
    **{name: text.replace(" | null", "") for name, text in _NEVER_NULL.items()},
    **_some(WRITTEN, "commit branch created amended"),
    **_TABLES["proposed"],
}
_DECISION = _some(PROPOSAL, "proposal_id user_id target_kind block_label note_id title") | _TABLES["decision"]

#: The thread of a proposal, newest first.
COMMENTS = listed("comments", COMMENT)
COLLISIONS = listed("collides_with", _TABLES["collision"])
DECISIONS: Fields = {
    **listed("items", _DECISION),
    "next": "string: where to go on: `since`, or `decided_since`, of the next call; always given",
    "more": "boolean: true when there is more already",
    "retry_after": RETRY_AFTER + "; also where somebody is deciding this moment",
}


def paged(item: Fields) -> Fields:
    """Return the fields of a list's `data`."""
    return listed("items", item) | {"next": "string | null: the `cursor` of the next page, or null"}


#: What several of the objects have, by the table that has it.
_SHARED = {
    **dict.fromkeys(("Decision", "ChangeRequest", "Undone"), "said"),
    **dict.fromkeys(("Difference", "NotAccepted"), "moved"),
    **dict.fromkeys(("Receipt", "BlocksReceipt"), "counted"),
}
#: Objects with a name in the OpenAPI document: what the type of a field may name, and what lists have.
OBJECTS: dict[str, Fields] = {
    "Block": BLOCK,
    "BlockChange": CHANGE,
    "Comment": COMMENT,
    "DecidedProposal": _DECISION,
    "Note": NOTE,
    "OpenProposal": OPEN_PROPOSAL,
    "Proposal": PROPOSAL,
    "StoredNote": {name: text for name, text in NOTE.items() if name not in ("access_count", "last_access")}
    | {"owner": "string: whose it is"},
    **{name: own | _TABLES.get(_SHARED.get(name, ""), {}) for name, own in _TABLES["objects"].items()},
}
