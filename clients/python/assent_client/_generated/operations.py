"""The operations of the server. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from assent_client._generated import answers, arguments
from assent_client.exchange import Operation

BLOCKS_LIST = Operation("list_memory_blocks", answers.BlockList, arguments.BlocksList)
BLOCKS_GET = Operation("read_memory_block", answers.Block, arguments.BlocksGet, defaults={"max_characters": 1000000})
BLOCKS_HISTORY = Operation(
    "block_history", answers.BlockHistory, arguments.PageArguments, "GET", "/api/v1/users/{user_id}/blocks/{block_label}/history/"
)
BLOCKS_PROPOSE_EDIT = Operation("propose_memory_edit", answers.ProposedEdit, arguments.BlocksProposeEdit)
BLOCKS_PROPOSE_EDITS = Operation("propose_memory_edits", answers.ProposedEdit, arguments.BlocksProposeEdits)
BLOCKS_PROPOSE_APPEND = Operation("propose_memory_append", answers.ProposedEdit, arguments.BlocksProposeAppend)
BLOCKS_PROPOSE_PREPEND = Operation("propose_memory_prepend", answers.ProposedEdit, arguments.BlocksProposePrepend)
BLOCKS_PROPOSE_INSERT = Operation("propose_memory_insert", answers.ProposedEdit, arguments.BlocksProposeInsert)
BLOCKS_PROPOSE_SECTION = Operation("propose_section_update", answers.ProposedEdit, arguments.BlocksProposeSection)
BLOCKS_PROPOSE_REWRITE = Operation("propose_memory_rewrite", answers.ProposedEdit, arguments.BlocksProposePrepend)
BLOCKS_PROPOSE = Operation(
    "block_propose", answers.ProposedEdit, arguments.BlocksPropose, "POST", "/api/v1/users/{user_id}/blocks/{block_label}/propose/"
)
BLOCKS_CREATE = Operation("propose_memory_block", answers.ProposedEdit, arguments.BlocksCreate)
BLOCKS_PROPOSE_DELETION = Operation("propose_block_deletion", answers.ProposedEdit, arguments.EditArguments)
NOTES_LIST = Operation("note_list", answers.NoteList, arguments.NotesList, "GET", "/api/v1/users/{user_id}/notes/")
NOTES_GET = Operation("note_read", answers.Note, arguments.NotesGet, "GET", "/api/v1/users/{user_id}/notes/{note_id}/")
NOTES_SEARCH = Operation("memory_search", answers.SearchResults, arguments.NotesSearch)
NOTES_SAVE = Operation("memory_save", answers.ChangedNote, arguments.NotesSave)
NOTES_UPDATE = Operation("memory_update", answers.ChangedNote, arguments.NotesUpdate)
NOTES_DELETE = Operation("memory_delete", answers.ChangedNote, arguments.NoteArguments)
NOTES_REMEMBER = Operation("remember", answers.RememberedNote, arguments.NotesRemember)
NOTES_RECALL = Operation("recall", answers.RecalledNotes, arguments.NotesRecall)
NOTES_FORGET = Operation("forget", answers.ForgottenNote, arguments.NotesForget)
NOTES_PRIME = Operation("prime_memories", answers.PrimedNotes, arguments.NotesPrime)
PROPOSALS_LIST = Operation("list_proposals", answers.ProposalList, arguments.ProposalsList)
PROPOSALS_GET = Operation(
    "get_proposal", answers.Proposal, arguments.ProposalsGet, defaults={"max_characters": 1000000}
)
PROPOSALS_WITHDRAW = Operation("withdraw_proposal", answers.WithdrawnProposal, arguments.ProposalsWithdraw)
PROPOSALS_COMMENT = Operation("comment_on_proposal", answers.PostedComment, arguments.ProposalsComment)
CONTEXT_GET = Operation(
    "context_read", answers.ContextText, arguments.ContextGet, "GET", "/api/v1/users/{user_id}/context/"
)
CONVERSATIONS_LIST = Operation("memory_list_sessions", answers.ConversationList, arguments.BlocksList)
CONVERSATIONS_MESSAGES = Operation("memory_read_session", answers.MessageList, arguments.ConversationsMessages)
CONVERSATIONS_KEEP = Operation(
    "message_keep", answers.KeptMessages, arguments.ConversationsKeep, "POST", "/api/v1/users/{user_id}/conversations/{session_id}/messages/"
)
CONVERSATIONS_DELETE = Operation(
    "message_delete", answers.DeletedMessages, arguments.Options, "DELETE", "/api/v1/users/{user_id}/conversations/{session_id}/messages/"
)
CONVERSATIONS_DELETE_MESSAGE = Operation(
    "message_delete", answers.DeletedMessages, arguments.Options, "DELETE", "/api/v1/users/{user_id}/conversations/{session_id}/messages/{message_id}/"
)
FILES_LIST = Operation("list_files", answers.ListFilesAnswer, arguments.FilesList)
FILES_VIEW = Operation("view_file", answers.ViewFileAnswer, arguments.FilesView)
FILES_EDIT = Operation("edit_file", answers.EditFileAnswer, arguments.FilesEdit)
FILES_APPEND = Operation("append_to_file", answers.EditFileAnswer, arguments.FilesAppend)
FILES_PREPEND = Operation("prepend_to_file", answers.EditFileAnswer, arguments.FilesAppend)
FILES_UPDATE_SECTION = Operation("update_section", answers.EditFileAnswer, arguments.FilesUpdateSection)
FILES_WRITE = Operation("write_file", answers.EditFileAnswer, arguments.FilesAppend)
