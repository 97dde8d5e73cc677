"""The classes of answers, and the Python types of what a method takes and is answered.

Arguments have a JSON Schema, and the fields of answers a type in the registry.
"""

import textwrap
from typing import Any

from agent_tools.answers import fields
from agent_tools.client_code.methods import client_methods

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def of_field(text: str) -> str:
    """Return the annotation of a field of an answer, from its row in the registry."""
    kind, may_be_absent, _ = fields.read(text)
    options = [_annotated(each) for each in kind.split(" | ")]
    if len(set(options) - {"None"}) > 1:
        return "Any"
    return " | ".join(dict.fromkeys([*options, *(["None"] if may_be_absent else [])]))


def _annotated(kind: str) -> str:
    """Return the annotation of a type as `answers.fields` writes it; objects are plain dicts."""
    if kind.endswith("[]"):
        return f"list[{_annotated(kind.removesuffix('[]'))}]"
    if kind.endswith("{}"):
        return f"dict[str, {_annotated(kind.removesuffix('{}'))}]"
    return "None" if kind == "null" else _SIMPLE.get(kind, "dict[str, Any]")


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
    "BlockList.waiting": "BriefProposal",
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


_Typed = dict[str, tuple[str, str]]


class AnswerClasses:
    """The classes of all answers; operations with equal fields share one.

    What has every field of an item inherits them: a proposal in full is one of a list, and more.
    """

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.item_of: dict[str, str] = {}
        self._named: dict[tuple[tuple[str, str], ...], str] = {}
        self._records: dict[str, _Typed] = {}
        self._source: list[str] = [_HEAD]
        self._write("WrittenChange", "Record", _typed(fields.WRITTEN), "What became of a change.")
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
        plain, nested = fields.split(returns)
        lists = {field: self._item(name, field, inner) for field, inner in nested.items()}
        if "items" in lists and "next" in plain:
            del plain["next"]
            self.item_of[operation] = self.item_of[name] = lists["items"]
            base = f"ListAnswer[{lists.pop('items')}]"
        else:
            base = "Answer"
        typed = _typed({field: text for field, text in plain.items() if field not in _TAKEN})
        typed |= {field: (f"list[{item}]", "") for field, item in lists.items()}
        self._write(name, base, typed, f"What `{operation}` answers.")
        self._named[key] = name
        return name

    def _item(self, owner: str, field: str, returns: dict[str, str]) -> str:
        key = ("item", ""), *returns.items()
        if key in self._named:
            return self._named[key]
        singular = "".join(word.title() for word in field.removesuffix("s").split("_"))
        name = _ITEMS.get(f"{owner}.{field}") or f"{owner}{singular}"
        self._write(name, "Record", _typed(returns), f"An item of `{owner}.{field}`.")
        self._named[key] = name
        return name

    def _write(self, name: str, base: str, typed: _Typed, says: str) -> None:
        is_item = base == "Record"
        kinds = {(field, kind) for field, (kind, _) in typed.items()}
        parts = [
            record
            for record, inner in self._records.items()
            if {(field, kind) for field, (kind, _) in inner.items() if is_item or field not in _TAKEN} <= kinds
        ]
        inherited: _Typed = {}
        if parts:
            record = max(parts, key=lambda each: len(self._records[each]))
            base, inherited = record if is_item else f"{base}, {record}", self._records[record]
        own = {field: each for field, each in typed.items() if inherited.get(field) != each}
        lines = ["", f"class {name}({base}):", f'    """{says}"""']
        for field, (annotation, means) in own.items():
            lines += textwrap.wrap(means, 113, initial_indent="    #: ", subsequent_indent="    #: ")
            lines.append(f"    {field}: {annotation} = absent()")
        if is_item:
            self._records[name] = typed
        self._source.append("\n".join([*lines, ""]))


def _typed(returns: fields.Fields) -> _Typed:
    """Return the annotation of each field, and what it means."""
    return {field: (of_field(text), fields.read(text)[2]) for field, text in returns.items()}
