"""What other systems call what our tools do, for the answer to an unknown name.

Models have learnt the names of other memories and of editors. The table only suggests: nothing is run under such a
name, since its arguments mean something else there. The order of words does not count: `list_memory`, `memory_list`.
"""

import re
from collections.abc import Collection

from rapidfuzz import fuzz, process

#: Ours, and the names others have for it. In lower case, words joined by underscores.
_OTHERS: dict[str, str] = {
    "list_memory_blocks": (
        "list_blocks list_files ls list_memory list_labels get_blocks list_core_memory list_directory "
        "get_memory_blocks show_blocks glob list_resources"
    ),
    "read_memory_block": (
        "view view_file read read_file cat open open_file read_block get_block get_memory_block core_memory_read "
        "view_block get_core_memory retrieve_block show_block read_resource fetch get_memory get_memories memory_view "
        "read_memory show_memory"
    ),
    "propose_memory_edit": (
        "edit edit_file str_replace str_replace_based_edit_tool replace replace_text find_and_replace search_replace "
        "core_memory_replace edit_block edit_memory update_block update_memory_block apply_patch apply_diff patch "
        "modify modify_block replace_in_file memory_str_replace propose_edit edit_memory_block"
    ),
    "propose_memory_edits": (
        "multi_edit multiedit multi_replace batch_edit edit_files edit_many apply_edits propose_edits"
    ),
    "propose_memory_append": (
        "append append_to_file memory_append append_block append_memory add_to_block add_to_memory_block append_note "
        "core_memory_add"
    ),
    "propose_memory_prepend": "prepend prepend_to_file prepend_block prepend_memory add_to_start",
    "propose_memory_insert": (
        "insert insert_text insert_line memory_insert insert_block insert_content insert_into_file insert_after"
    ),
    "propose_section_update": (
        "update_section replace_section edit_section set_section write_section update_markdown_section section_update"
    ),
    "propose_memory_rewrite": (
        "write write_file overwrite save_file put_file memory_rethink rethink_memory replace_block set_block "
        "write_block set_memory rewrite_memory update_file core_memory_set"
    ),
    "propose_memory_block": (
        "create create_file new_file create_block new_block add_block create_memory_block memory_create make_block"
    ),
    "propose_block_deletion": "delete_block delete_file remove_file remove_block rm unlink delete_memory_block",
    "memory_search": (
        "archival_memory_search search_memory find_memory query query_memory semantic_search retrieve retrieve_memory "
        "search_nodes knowledge_search grep lookup conversation_search search_files recall_memory_search search_facts"
    ),
    "memory_save": (
        "archival_memory_insert add_memories create_memory save_memory save_note store_memory store write_memory "
        "insert_memory put_memory add_note create_note new_memory memorize bio create_entities add_observations "
        "add_fact save_fact manage_memory memory_store undo_delete undelete restore_note restore_memory"
    ),
    "memory_update": "update_memory modify_memory update_note edit_note change_memory correct_memory",
    "memory_delete": (
        "delete_memory remove_memory delete_note remove_note delete_entities delete erase_memory "
        "archival_memory_delete forget_memory forget_note"
    ),
    "forget": "supersede supersede_memory invalidate invalidate_memory retire_memory mark_outdated",
    "recall": "recall_memory list_memories get_all_memories get_all list_notes",
    "prime_memories": "prime get_context load_memories load_context memory_context",
    "memory_list_sessions": "list_conversations get_sessions recent_chats list_chats",
    "memory_read_session": "read_session get_session get_conversation get_messages read_chat",
    "withdraw_proposal": "undo_edit undo revert cancel cancel_proposal cancel_edit retract delete_proposal rollback",
    "list_proposals": "list_edits list_pending get_proposals list_changes",
    "get_proposal": "read_proposal show_proposal proposal_status check_proposal",
}
#: Where a list has no such tool, the one that comes nearest; followed until there is one.
_OTHERWISE = {
    **dict.fromkeys(
        ("propose_memory_edits", "propose_memory_insert", "propose_section_update", "write_file"),
        "propose_memory_edit",
    ),
    **dict.fromkeys(("propose_memory_prepend", "propose_memory_block", "memory_save"), "propose_memory_append"),
    **dict.fromkeys(("recall", "prime_memories", "memory_list_sessions", "memory_read_session"), "memory_search"),
    "memory_update": "propose_memory_edit",
    "memory_search": "list_memory_blocks",
    "list_memory_blocks": "list_files",
    "read_memory_block": "view_file",
    "propose_memory_rewrite": "write_file",
    "propose_memory_edit": "edit_file",
    "propose_memory_append": "append_to_file",
    "remember": "memory_save",
    "forget": "memory_delete",
    "get_proposal": "list_proposals",
}

#: Whose names come with the name of their server or namespace before them.
_PREFIX = re.compile(r"^(?:mcp__[a-z0-9-]+?__|mcp_[a-z0-9]+_|functions?[._]|tools?[._]|[a-z0-9-]+[.:/])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART = re.compile(r"[^a-z0-9.:/]+")
#: Per cent of likeness from which a name may be a slip of the pen, and characters of a name that can be one: at 65 %,
#: `greet` was `retract` and `nope` was `open`.
_LIKELY, _LONG_ENOUGH = 80, 6


def nearest(name: str, there: Collection[str]) -> str | None:
    """Return the tool that is likely meant by a name that is none; None where that cannot be said.

    Args:
        there: the tools of this installation, in the order agents meet them.
    """
    asked = _HUMP.sub("_", name[:200]).lower()
    # A prefix is one of somebody's; without it the name may be ours.
    for plain in dict.fromkeys((_plain(asked), _plain(_PREFIX.sub("", asked)))):
        if ours := plain if plain in there else _OURS.get(_in_order(plain)):
            return stand_in(ours, there)
    found = None
    if len(plain) >= _LONG_ENOUGH:
        found = process.extractOne(_in_order(plain), list(_OURS), scorer=fuzz.ratio, score_cutoff=_LIKELY)
    return stand_in(_OURS[found[0]], there) if found else None


def stand_in(ours: str, there: Collection[str]) -> str | None:
    """Return a tool of ours, or the one that comes nearest of those that are there; None where none does."""
    wanted: str | None = ours
    while wanted is not None and wanted not in there:
        wanted = _OTHERWISE.get(wanted)
    return wanted


def _in_order(name: str) -> str:
    return "_".join(sorted(name.split("_")))


def _plain(name: str) -> str:
    return _APART.sub("_", name).strip("_")


#: Our name by each of the others, and by itself.
_OURS = {_in_order(other): ours for ours, others in _OTHERS.items() for other in (*others.split(), ours)}
