"""The classes of answers, from the fields each operation says it returns."""

from __future__ import annotations

import textwrap
from collections import defaultdict

from agent_tools.client_code import types
from agent_tools.client_code.methods import client_methods

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
        fields = {field: (types.of_field(field, means), means) for field, means in plain.items() if field not in _TAKEN}
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
        self._write(name, "Record", {each: (types.of_field(each, means), means) for each, means in returns.items()})
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
