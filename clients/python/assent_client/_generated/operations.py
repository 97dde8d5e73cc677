"""The operations of the server. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from assent_client._generated import answers
from assent_client.exchange import Operation

BLOCKS_LIST = Operation(
    name="list_memory_blocks",
    method="POST",
    path="/api/v1/tools/list_memory_blocks/",
    answer=answers.BlockList,
    writes=False,
)
BLOCKS_GET = Operation(
    name="read_memory_block",
    method="POST",
    path="/api/v1/tools/read_memory_block/",
    answer=answers.Block,
    writes=False,
)
BLOCKS_HISTORY = Operation(
    name="block_history",
    method="GET",
    path="/api/v1/users/{user_id}/blocks/{block_label}/history/",
    answer=answers.BlockHistory,
    writes=False,
)
BLOCKS_PROPOSE_EDIT = Operation(
    name="propose_memory_edit",
    method="POST",
    path="/api/v1/tools/propose_memory_edit/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_EDITS = Operation(
    name="propose_memory_edits",
    method="POST",
    path="/api/v1/tools/propose_memory_edits/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_APPEND = Operation(
    name="propose_memory_append",
    method="POST",
    path="/api/v1/tools/propose_memory_append/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_PREPEND = Operation(
    name="propose_memory_prepend",
    method="POST",
    path="/api/v1/tools/propose_memory_prepend/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_INSERT = Operation(
    name="propose_memory_insert",
    method="POST",
    path="/api/v1/tools/propose_memory_insert/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_SECTION = Operation(
    name="propose_section_update",
    method="POST",
    path="/api/v1/tools/propose_section_update/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_REWRITE = Operation(
    name="propose_memory_rewrite",
    method="POST",
    path="/api/v1/tools/propose_memory_rewrite/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE = Operation(
    name="block_propose",
    method="POST",
    path="/api/v1/users/{user_id}/blocks/{block_label}/propose/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_CREATE = Operation(
    name="propose_memory_block",
    method="POST",
    path="/api/v1/tools/propose_memory_block/",
    answer=answers.ProposedEdit,
    writes=True,
)
BLOCKS_PROPOSE_DELETION = Operation(
    name="propose_block_deletion",
    method="POST",
    path="/api/v1/tools/propose_block_deletion/",
    answer=answers.ProposedEdit,
    writes=True,
)
NOTES_LIST = Operation(
    name="note_list",
    method="GET",
    path="/api/v1/users/{user_id}/notes/",
    answer=answers.NoteList,
    writes=False,
)
NOTES_GET = Operation(
    name="note_read",
    method="GET",
    path="/api/v1/users/{user_id}/notes/{note_id}/",
    answer=answers.Note,
    writes=False,
)
NOTES_SEARCH = Operation(
    name="memory_search",
    method="POST",
    path="/api/v1/tools/memory_search/",
    answer=answers.SearchResults,
    writes=False,
)
NOTES_SAVE = Operation(
    name="memory_save",
    method="POST",
    path="/api/v1/tools/memory_save/",
    answer=answers.ChangedNote,
    writes=True,
)
NOTES_UPDATE = Operation(
    name="memory_update",
    method="POST",
    path="/api/v1/tools/memory_update/",
    answer=answers.ChangedNote,
    writes=True,
)
NOTES_DELETE = Operation(
    name="memory_delete",
    method="POST",
    path="/api/v1/tools/memory_delete/",
    answer=answers.ChangedNote,
    writes=True,
)
NOTES_REMEMBER = Operation(
    name="remember",
    method="POST",
    path="/api/v1/tools/remember/",
    answer=answers.RememberedNote,
    writes=True,
)
NOTES_RECALL = Operation(
    name="recall",
    method="POST",
    path="/api/v1/tools/recall/",
    answer=answers.RecalledNotes,
    writes=False,
)
NOTES_FORGET = Operation(
    name="forget",
    method="POST",
    path="/api/v1/tools/forget/",
    answer=answers.ForgottenNote,
    writes=True,
)
NOTES_PRIME = Operation(
    name="prime_memories",
    method="POST",
    path="/api/v1/tools/prime_memories/",
    answer=answers.PrimedNotes,
    writes=False,
)
PROPOSALS_LIST = Operation(
    name="list_proposals",
    method="POST",
    path="/api/v1/tools/list_proposals/",
    answer=answers.ProposalList,
    writes=False,
)
PROPOSALS_GET = Operation(
    name="get_proposal",
    method="POST",
    path="/api/v1/tools/get_proposal/",
    answer=answers.Proposal,
    writes=False,
)
PROPOSALS_WITHDRAW = Operation(
    name="withdraw_proposal",
    method="POST",
    path="/api/v1/tools/withdraw_proposal/",
    answer=answers.WithdrawnProposal,
    writes=True,
)
PROPOSALS_COMMENT = Operation(
    name="comment_on_proposal",
    method="POST",
    path="/api/v1/tools/comment_on_proposal/",
    answer=answers.PostedComment,
    writes=True,
)
CONTEXT_GET = Operation(
    name="context_read",
    method="GET",
    path="/api/v1/users/{user_id}/context/",
    answer=answers.ContextText,
    writes=False,
)
CONVERSATIONS_LIST = Operation(
    name="memory_list_sessions",
    method="POST",
    path="/api/v1/tools/memory_list_sessions/",
    answer=answers.ConversationList,
    writes=False,
)
CONVERSATIONS_MESSAGES = Operation(
    name="memory_read_session",
    method="POST",
    path="/api/v1/tools/memory_read_session/",
    answer=answers.MessageList,
    writes=False,
)
CONVERSATIONS_KEEP = Operation(
    name="message_keep",
    method="POST",
    path="/api/v1/users/{user_id}/conversations/{session_id}/messages/",
    answer=answers.KeptMessages,
    writes=True,
)
CONVERSATIONS_DELETE = Operation(
    name="message_delete",
    method="DELETE",
    path="/api/v1/users/{user_id}/conversations/{session_id}/messages/",
    answer=answers.DeletedMessages,
    writes=False,
)
CONVERSATIONS_DELETE_MESSAGE = Operation(
    name="message_delete",
    method="DELETE",
    path="/api/v1/users/{user_id}/conversations/{session_id}/messages/{message_id}/",
    answer=answers.DeletedMessages,
    writes=False,
)
FILES_LIST = Operation(
    name="list_files",
    method="POST",
    path="/api/v1/tools/list_files/",
    answer=answers.ListFilesAnswer,
    writes=False,
)
FILES_VIEW = Operation(
    name="view_file",
    method="POST",
    path="/api/v1/tools/view_file/",
    answer=answers.ViewFileAnswer,
    writes=False,
)
FILES_EDIT = Operation(
    name="edit_file",
    method="POST",
    path="/api/v1/tools/edit_file/",
    answer=answers.EditFileAnswer,
    writes=True,
)
FILES_APPEND = Operation(
    name="append_to_file",
    method="POST",
    path="/api/v1/tools/append_to_file/",
    answer=answers.EditFileAnswer,
    writes=True,
)
FILES_PREPEND = Operation(
    name="prepend_to_file",
    method="POST",
    path="/api/v1/tools/prepend_to_file/",
    answer=answers.EditFileAnswer,
    writes=True,
)
FILES_UPDATE_SECTION = Operation(
    name="update_section",
    method="POST",
    path="/api/v1/tools/update_section/",
    answer=answers.EditFileAnswer,
    writes=True,
)
FILES_WRITE = Operation(
    name="write_file",
    method="POST",
    path="/api/v1/tools/write_file/",
    answer=answers.EditFileAnswer,
    writes=True,
)

#: Tools that change nothing, and so need no idempotency key.
READ_ONLY_TOOLS = frozenset(
    {
        "list_memory_blocks",
        "read_memory_block",
        "memory_search",
        "recall",
        "prime_memories",
        "list_proposals",
        "get_proposal",
        "memory_list_sessions",
        "memory_read_session",
        "list_files",
        "view_file",
    }
)
