"""Which operation of the registry is which method of the client.

A tool that is not in this table becomes a method of `client.tools`, under its own name: nothing is left out in silence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry

#: Characters of a whole block or proposal: programs have room for it, and one cut short is no block.
WHOLE = 1_000_000
_USER = "/api/v1/users/{user_id}/"
_MESSAGES = f"{_USER}conversations/{{session_id}}/messages/"


#: An argument in an address.
_IN_PATH = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class ClientMethod:
    """One method of a resource.

    Args:
        operation: its name in the registry. One that is not there (yet) is passed over.
        called: `blocks.get`.
        method, path: where it has an address; a tool is run by its name otherwise.
        leave_out: arguments this method does not take.
        defaults: values of arguments, where the server's own default is meant for models.
    """

    operation: str
    called: str
    method: str = "POST"
    path: str = ""
    leave_out: frozenset[str] = frozenset()
    defaults: tuple[tuple[str, int], ...] = ()

    @property
    def resource(self) -> str:
        return self.called.split(".")[0]

    @property
    def name(self) -> str:
        return self.called.split(".")[1]

    @property
    def asked(self) -> registry.ApiOperation[Any]:
        return registry.TOOLS.get(self.operation) or registry.ENDPOINTS[self.operation]

    @property
    def in_path(self) -> list[str]:
        """Return the arguments that are part of the address."""
        return [name for name in _IN_PATH.findall(self.path) if name != "user_id"]


_TABLE = (
    ClientMethod("list_memory_blocks", "blocks.list"),
    ClientMethod("read_memory_block", "blocks.get", defaults=(("max_characters", WHOLE),)),
    ClientMethod("block_history", "blocks.history", "GET", f"{_USER}blocks/{{block_label}}/history/"),
    ClientMethod("propose_memory_edit", "blocks.propose_edit"),
    ClientMethod("propose_memory_edits", "blocks.propose_edits"),
    ClientMethod("propose_memory_append", "blocks.propose_append"),
    ClientMethod("propose_memory_prepend", "blocks.propose_prepend"),
    ClientMethod("propose_memory_insert", "blocks.propose_insert"),
    ClientMethod("propose_section_update", "blocks.propose_section"),
    ClientMethod("propose_memory_rewrite", "blocks.propose_rewrite"),
    ClientMethod("block_propose", "blocks.propose", path=f"{_USER}blocks/{{block_label}}/propose/"),
    ClientMethod("propose_memory_block", "blocks.create"),
    ClientMethod("propose_block_deletion", "blocks.propose_deletion"),
    ClientMethod("note_list", "notes.list", "GET", f"{_USER}notes/"),
    ClientMethod("note_read", "notes.get", "GET", f"{_USER}notes/{{note_id}}/"),
    ClientMethod("memory_search", "notes.search"),
    ClientMethod("memory_save", "notes.save"),
    ClientMethod("memory_update", "notes.update"),
    ClientMethod("memory_delete", "notes.delete"),
    ClientMethod("remember", "notes.remember"),
    ClientMethod("recall", "notes.recall"),
    ClientMethod("forget", "notes.forget"),
    ClientMethod("prime_memories", "notes.prime"),
    # Its list of decisions has no pages of this kind; `proposals.decisions` is written by hand.
    ClientMethod("list_proposals", "proposals.list", leave_out=frozenset({"decided_since", "wait"})),
    ClientMethod("get_proposal", "proposals.get", defaults=(("max_characters", WHOLE),)),
    ClientMethod("withdraw_proposal", "proposals.withdraw"),
    ClientMethod("comment_on_proposal", "proposals.comment"),
    ClientMethod("context_read", "context.get", "GET", f"{_USER}context/"),
    ClientMethod("memory_list_sessions", "conversations.list"),
    ClientMethod("memory_read_session", "conversations.messages"),
    ClientMethod("message_keep", "conversations.keep", path=_MESSAGES),
    ClientMethod("message_delete", "conversations.delete", "DELETE", _MESSAGES, frozenset({"message_id"})),
    ClientMethod("message_delete", "conversations.delete_message", "DELETE", f"{_MESSAGES}{{message_id}}/"),
    ClientMethod("list_files", "files.list"),
    ClientMethod("view_file", "files.view"),
    ClientMethod("edit_file", "files.edit"),
    ClientMethod("append_to_file", "files.append"),
    ClientMethod("prepend_to_file", "files.prepend"),
    ClientMethod("update_section", "files.update_section"),
    ClientMethod("write_file", "files.write"),
)


def client_methods() -> Iterator[ClientMethod]:
    """Yield the methods of this server, in the table's order; tools that are not in it come last."""
    there = {**registry.TOOLS, **registry.ENDPOINTS}
    yield from (method for method in _TABLE if method.operation in there)
    named = {method.operation for method in _TABLE}
    yield from (ClientMethod(name, f"tools.{name}") for name in registry.TOOLS if name not in named)
