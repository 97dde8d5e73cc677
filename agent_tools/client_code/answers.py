"""The classes of answers, and the Python types of what a method takes and is answered.

Arguments have a JSON Schema. The registry says of an answer's field what it means, not its type, so these types are
listed here. A field that is in no list is `Any`, which is never wrong; what is in one is compared with real answers by
tests/clients.
"""

import re
import textwrap
from collections import defaultdict
from typing import Any

from agent_tools.client_code.methods import client_methods

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
        if "anyOf" in schema:
            return " | ".join(self.annotation(name, form) for form in schema["anyOf"])
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


#: Names for people; an answer that is in no row is named for its operation.
_NAMES = {
    "list_memory_blocks": "BlockList",
    "read_memory_block": "Block",
    "block_history": "BlockHistory",
    "propose_memory_edit": "ProposedEdit",
    "list_proposals": "ProposalList",
    "get_proposal": "Proposal",
    "withdraw_proposal": "WithdrawnProposal",
    "comment_on_proposal": "PostedComment",
    "memory_search": "SearchResults",
    "memory_save": "ChangedNote",
    "remember": "RememberedNote",
    "recall": "RecalledNotes",
    "forget": "ForgottenNote",
    "prime_memories": "PrimedNotes",
    "note_list": "NoteList",
    "note_read": "Note",
    "context_read": "ContextText",
    "memory_list_sessions": "ConversationList",
    "memory_read_session": "MessageList",
    "message_keep": "KeptMessages",
    "message_delete": "DeletedMessages",
}
_ITEMS = {
    "BlockList.items": "BlockSummary",
    "BlockHistory.items": "BlockChange",
    "ProposalList.items": "ProposalSummary",
    "NoteList.items": "NoteItem",
    "ConversationList.items": "Conversation",
    "MessageList.items": "Message",
    "SearchResults.results": "SearchResult",
    "RecalledNotes.memories": "RecalledNote",
    "ContextText.blocks": "ContextBlock",
}
#: Attributes of every answer: a field of that name is in `data` alone.
_TAKEN = frozenset({"text", "data", "request_id", "decisions"})

_HEAD = '''\
"""The answers of the server, as its registry describes them. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from typing import Any

from assent_client.answers import Answer, ListAnswer, Record, absent
'''


class AnswerClasses:
    """The classes of all answers; operations with equal fields share one."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.item_of: dict[str, str] = {}
        self._named: dict[tuple[tuple[str, str], ...], str] = {}
        self._source: list[str] = [_HEAD]
        for method in client_methods():
            if method.operation not in self.of:
                self.of[method.operation] = self._answer(method.operation, method.asked.returns)

    @property
    def source(self) -> str:
        return "\n".join(self._source)

    def _answer(self, operation: str, returns: dict[str, str]) -> str:
        key = tuple(returns.items())
        if key in self._named:
            name = self._named[key]
            if name in self.item_of:
                self.item_of[operation] = self.item_of[name]
            return name
        name = _NAMES.get(operation) or "".join(word.title() for word in operation.split("_")) + "Answer"
        plain, nested = _split(returns)
        lists = {field: self._item(name, field, fields) for field, fields in nested.items()}
        if "items" in lists and "next" in plain:
            del plain["next"]
            self.item_of[operation] = self.item_of[name] = lists["items"]
            base = f"ListAnswer[{lists.pop('items')}]"
        else:
            base = "Answer"
        fields = {field: (of_field(field, means), means) for field, means in plain.items() if field not in _TAKEN}
        fields |= {field: (f"list[{item}]", "") for field, item in lists.items()}
        self._write(name, base, fields)
        self._named[key] = name
        return name

    def _item(self, owner: str, field: str, returns: dict[str, str]) -> str:
        key = ("item", ""), *returns.items()
        if key in self._named:
            return self._named[key]
        singular = "".join(word.title() for word in field.removesuffix("s").split("_"))
        name = _ITEMS.get(f"{owner}.{field}") or f"{owner}{singular}"
        self._write(name, "Record", {each: (of_field(each, means), means) for each, means in returns.items()})
        self._named[key] = name
        return name

    def _write(self, name: str, base: str, fields: dict[str, tuple[str, str]]) -> None:
        lines = ["", f"class {name}({base}):"]
        for field, (annotation, means) in fields.items():
            lines += textwrap.wrap(means, 113, initial_indent="    #: ", subsequent_indent="    #: ")
            lines.append(f"    {field}: {annotation} = absent()")
        if not fields:
            lines.append("    pass")
        self._source.append("\n".join([*lines, ""]))


def _split(returns: dict[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the plain fields, and those of each list of objects."""
    plain: dict[str, str] = {}
    nested: dict[str, dict[str, str]] = defaultdict(dict)
    for field, means in returns.items():
        where, dot, inner = field.partition("[].")
        if dot:
            nested[where][inner] = means
        else:
            plain[field] = means
    return plain, dict(nested)
