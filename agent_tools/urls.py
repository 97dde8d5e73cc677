"""The addresses of machines: the agent API, its description, health; and people's pages about agents and webhooks."""

from allauth.idp.oidc import views as idp_views
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from agent_tools.console import agents_page, connections, webhooks_page
from agent_tools.views import api, mcp, metrics

_USER = "api/v1/users/<str:user_id>/"
_BLOCKS = f"{_USER}blocks/"
_MESSAGES = f"{_USER}conversations/<str:session_id>/messages/"
_WEBHOOK = "settings/webhooks/<int:pk>/"

# By these names allauth finds its own.
_OAUTH = [
    path("authorize/", connections.Connect.as_view(), name="authorization"),
    path("token/", connections.limited(connections.GiveTokens.as_view()), name="token"),
    path("revoke/", connections.limited(connections.Revoke.as_view()), name="revoke"),
    path("register/", connections.limited(idp_views.client_registration), name="client_registration"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("oauth/", include(([path("", include((_OAUTH, "oidc")))], "idp"))),
    re_path(r"^\.well-known/oauth-protected-resource(?:/mcp)?$", connections.resource_metadata),
    path(".well-known/oauth-authorization-server", connections.server_metadata),
    path("api/v1/token/", api.TokenDetail.as_view(), name="api_token"),
    path("api/v1/tools/", api.ToolList.as_view(), name="api_tools"),
    path("api/v1/tools/<str:name>/", api.ToolRun.as_view(), name="api_tool"),
    path(_BLOCKS, api.BlockList.as_view(), name="api_blocks"),
    path(f"{_BLOCKS}<str:label>/", api.BlockDetail.as_view(), name="api_block"),
    path(f"{_BLOCKS}<str:label>/history/", api.BlockHistory.as_view(), name="api_block_history"),
    path(f"{_BLOCKS}<str:label>/propose/", api.BlockPropose.as_view(), name="api_block_propose"),
    path(f"{_USER}notes/", api.NoteList.as_view(), name="api_notes"),
    path(f"{_USER}notes/<str:note_id>/", api.NoteDetail.as_view(), name="api_note"),
    path(f"{_USER}search/", api.Search.as_view(), name="api_search"),
    path(f"{_USER}context/", api.ContextDetail.as_view(), name="api_context"),
    path(f"{_USER}memories.md", api.MemoriesFile.as_view(), name="api_memories_file"),
    path(f"{_USER}conversations/", api.Sessions.as_view(), name="api_sessions"),
    path(_MESSAGES, api.Messages.as_view(), name="api_messages"),
    path(f"{_MESSAGES}<str:message_id>/", api.MessageDetail.as_view(), name="api_message"),
    path("api/v1/proposals/", api.ProposalList.as_view(), name="api_proposals"),
    path("api/v1/proposals/decisions/", api.DecisionList.as_view(), name="api_decisions"),
    path("api/v1/proposals/<int:proposal_id>/", api.ProposalDetail.as_view(), name="api_proposal"),
    path(
        "api/v1/proposals/<int:proposal_id>/withdraw/",
        api.ProposalWithdraw.as_view(),
        name="api_proposal_withdraw",
    ),
    path("api/schema/", api.Schema.as_view(), name="api_schema"),
    path("api/docs/", api.Docs.as_view(), name="api_docs"),
    re_path(r"^api(?:/|$)", api.unknown_endpoint),
    path("mcp", mcp.mcp, name="mcp"),
    re_path(r"^mcp/", mcp.mcp, name="mcp_below"),
    path("llms.txt", api.llms, name="llms"),
    path("healthz", api.healthz, name="healthz"),
    path("readyz", api.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("agents/", agents_page.agents, name="agents"),
    path("agents/tokens/<int:pk>/revoke/", agents_page.revoke, name="agent_token_revoke"),
    path("agents/tokens/<int:pk>/rotate/", agents_page.rotate, name="agent_token_rotate"),
    path("agents/<str:agent>/", agents_page.activity, name="agent"),
    path("agents/<str:agent>/calls/", agents_page.calls, name="agent_calls"),
    path("agents/<str:agent>/webhooks/", webhooks_page.webhooks, name="agent_webhooks"),
    # The guides of earlier versions have this address.
    path("settings/agents/", RedirectView.as_view(pattern_name="agents", permanent=True)),
    path(_WEBHOOK, webhooks_page.webhook, name="webhook"),
    path(f"{_WEBHOOK}rotate/", webhooks_page.rotate, name="webhook_rotate"),
    path(f"{_WEBHOOK}overlap/end/", webhooks_page.end_overlap, name="webhook_end_overlap"),
    path(f"{_WEBHOOK}state/", webhooks_page.switch, name="webhook_switch"),
    path(f"{_WEBHOOK}test/", webhooks_page.send_test, name="webhook_test"),
    path(f"{_WEBHOOK}delete/", webhooks_page.delete, name="webhook_delete"),
    path(f"{_WEBHOOK}deliveries/<int:delivery>/", webhooks_page.delivery, name="webhook_delivery"),
    path(f"{_WEBHOOK}deliveries/<int:delivery>/again/", webhooks_page.send_again, name="webhook_send_again"),
]
