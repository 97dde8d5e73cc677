"""The addresses of machines: the agent API, its description, health; and the settings page of agents."""

from __future__ import annotations

from django.urls import path, re_path

from agent_tools.views import agents, api, conversations, health, memory, notes, schema, tools

_USER = "api/v1/users/<str:user_id>/"
_BLOCKS = f"{_USER}blocks/"
_MESSAGES = f"{_USER}conversations/<str:session_id>/messages/"

urlpatterns = [
    path("api/v1/token/", tools.TokenDetail.as_view(), name="api_token"),
    path("api/v1/tools/", tools.ToolList.as_view(), name="api_tools"),
    path("api/v1/tools/<str:name>/", tools.ToolRun.as_view(), name="api_tool"),
    path(_BLOCKS, memory.BlockList.as_view(), name="api_blocks"),
    path(f"{_BLOCKS}<str:label>/", memory.BlockDetail.as_view(), name="api_block"),
    path(f"{_BLOCKS}<str:label>/history/", memory.BlockHistory.as_view(), name="api_block_history"),
    path(f"{_BLOCKS}<str:label>/propose/", memory.BlockPropose.as_view(), name="api_block_propose"),
    path(f"{_USER}notes/", notes.NoteList.as_view(), name="api_notes"),
    path(f"{_USER}notes/<str:note_id>/", notes.NoteDetail.as_view(), name="api_note"),
    path(f"{_USER}search/", notes.Search.as_view(), name="api_search"),
    path(f"{_USER}context/", notes.ContextDetail.as_view(), name="api_context"),
    path(f"{_USER}memories.md", notes.MemoriesFile.as_view(), name="api_memories_file"),
    path(f"{_USER}imports/<str:key>/", notes.ImportProgress.as_view(), name="api_import_progress"),
    path(f"{_USER}conversations/", conversations.Sessions.as_view(), name="api_sessions"),
    path(_MESSAGES, conversations.Messages.as_view(), name="api_messages"),
    path(f"{_MESSAGES}<str:message_id>/", conversations.MessageDetail.as_view(), name="api_message"),
    path("api/v1/proposals/", memory.ProposalList.as_view(), name="api_proposals"),
    path("api/v1/proposals/<int:proposal_id>/", memory.ProposalDetail.as_view(), name="api_proposal"),
    path(
        "api/v1/proposals/<int:proposal_id>/withdraw/",
        memory.ProposalWithdraw.as_view(),
        name="api_proposal_withdraw",
    ),
    path("api/schema/", schema.Schema.as_view(), name="api_schema"),
    path("api/docs/", schema.Docs.as_view(), name="api_docs"),
    re_path(r"^api/", api.unknown_endpoint),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("settings/agents/", agents.agents, name="agents"),
    path("settings/agents/<int:pk>/revoke/", agents.revoke, name="agent_token_revoke"),
]
