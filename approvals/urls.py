"""The addresses of people's pages."""

from allauth.account import views as account_views
from django.conf import settings
from django.contrib.auth import views as django_views
from django.urls import include, path
from django.views.generic import RedirectView

from approvals.accounts import invitations, sign_in
from approvals.notifications import feed, unsubscribe
from approvals.statistics import board
from approvals.views import (
    approving,
    block_forms,
    block_views,
    conversations,
    decide,
    erase,
    exchange,
    inbox,
    note_pages,
    proposal,
    settings_page,
    several,
)

_BLOCK = "memory/<str:owner>/blocks/<str:label>/"
_NOTES = "memory/<str:owner>/notes/"
_NOTE = f"{_NOTES}<str:note_id>/"
_CONVERSATIONS = "memory/<str:owner>/conversations/"
# An agent may call a session "..", which alone between two slashes no browser would ask for.
_CONVERSATION = f"{_CONVERSATIONS}session-<str:session_id>/"

# Its views need packages that only sites with SAML have.
_SAML = [path("sign-in/with/", include("allauth.socialaccount.providers.saml.urls"))] if settings.SAML_ENTITY_ID else []

urlpatterns = [
    *_SAML,
    path("", inbox.inbox, name="inbox"),
    path("proposals/<int:pk>/", proposal.proposal, name="proposal"),
    path("proposals/<int:pk>/approve/", decide.approve, name="approve"),
    path("proposals/<int:pk>/ticks/", approving.ticks, name="ticks"),
    path("proposals/<int:pk>/edit/", approving.reword, name="edit"),
    path("proposals/<int:pk>/resolve/", approving.reword, {"resolves": True}, name="resolve"),
    path("proposals/<int:pk>/reject/", decide.reject, name="reject"),
    path("proposals/<int:pk>/request-changes/", decide.request_changes, name="request_changes"),
    path("proposals/<int:pk>/remove-texts/", decide.redact, name="redact"),
    path("proposals/<int:pk>/undo/", decide.undo, name="undo"),
    path("welcome/dismiss/", inbox.dismiss_welcome, name="welcome_dismiss"),
    path("filters/", inbox.save_filter, name="filter_save"),
    path("filters/<int:pk>/delete/", inbox.delete_filter, name="filter_delete"),
    path("several/", several.several, name="several"),
    path("several/<str:batch>/", several.batch, name="batch"),
    path("several/<str:batch>/undo/", several.undo_several, name="undo_several"),
    path("several/<str:batch>/dismiss/", several.dismiss_batch, name="batch_dismiss"),
    path("together/<int:pk>/", several.together, name="together"),
    path("proposals/<int:pk>/comment/", decide.comment, name="comment"),
    path("proposals/<int:pk>/assign/", decide.assign, name="assign"),
    path("memory/", board.memories, name="memories"),
    path("memory/<str:owner>/", block_views.memory, name="memory"),
    path("memory/<str:owner>/erase/", erase.erase, name="erase"),
    path("memory/<str:owner>/new/", block_forms.BlockNew.as_view(), name="block_new"),
    path(_BLOCK, block_views.block, name="block"),
    path(f"{_BLOCK}history/", block_views.block_history, name="block_history"),
    path(f"{_BLOCK}blame/", block_views.block_blame, name="block_blame"),
    path(f"{_BLOCK}restore/<str:commit>/", block_forms.BlockRestore.as_view(), name="block_restore"),
    path(f"{_BLOCK}edit/", block_forms.BlockEdit.as_view(), name="block_edit"),
    path(f"{_BLOCK}delete/", block_forms.BlockDelete.as_view(), name="block_delete"),
    path(_NOTES, note_pages.note_list, name="notes"),
    path(f"{_NOTES}new/", note_pages.NoteNew.as_view(), name="note_new"),
    path(f"{_NOTES}import/", exchange.import_markdown, name="note_import"),
    path(f"{_NOTES}change/", note_pages.NotesChange.as_view(), name="notes_change"),
    path(f"{_NOTES}changes/<str:commit>/", note_pages.notes_changed, name="notes_changed"),
    path(_NOTE, note_pages.note_page, name="note"),
    path(f"{_NOTE}edit/", note_pages.NoteEdit.as_view(), name="note_edit"),
    path(f"{_NOTE}delete/", note_pages.NoteDelete.as_view(), name="note_delete"),
    path(f"{_NOTE}supersede/", note_pages.NoteSupersede.as_view(), name="note_supersede"),
    path(f"{_NOTE}reinstate/", note_pages.NoteReinstate.as_view(), name="note_reinstate"),
    path(_CONVERSATIONS, conversations.conversations, name="conversations"),
    path(_CONVERSATION, conversations.conversation, name="conversation"),
    path(f"{_CONVERSATION}delete/", conversations.conversation_delete, name="conversation_delete"),
    path(f"{_CONVERSATION}messages/<int:number>/delete/", conversations.conversation_delete, name="message_delete"),
    path("memory/<str:owner>/search/", block_views.search, name="memory_search"),
    path("memory/<str:owner>/export/memories.md", exchange.export_markdown, name="export_markdown"),
    path("memory/<str:owner>/export/memory.json", exchange.export_json, name="export_json"),
    path("settings/feed/", settings_page.feed_address, name="feed_address"),
    # Mails sent before the two pages were one have this address.
    path("settings/notifications/", RedirectView.as_view(pattern_name="settings", permanent=True)),
    path("manifest.webmanifest", feed.manifest, name="manifest"),
    path("feed/<str:feed_key>/", feed.feed, name="feed"),
    path("unsubscribe/<str:signed>/", unsubscribe.unsubscribe, name="unsubscribe"),
    path("settings/sessions/end/", settings_page.sessions_end, name="sessions_end"),
    path("settings/data/", settings_page.download, name="own_data"),
    path("settings/policies/", settings_page.policies, name="policies"),
    path("settings/policies/rules/", settings_page.create_rule, name="rule_create"),
    path("settings/policies/rules/<int:pk>/", settings_page.change_rule, name="rule_change"),
    path("settings/policies/rules/<int:pk>/delete/", settings_page.change_rule, {"deletes": True}, name="rule_delete"),
    path("settings/", settings_page.account, name="settings"),
    path("sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    # With what was typed before, which may be a whole block: the first one takes less.
    path("sign-in/and-go-on/", sign_in.SignIn.as_view(), name="sign_in_and_go_on"),
    path("sign-in/confirm/", account_views.reauthenticate, name="account_reauthenticate"),
    path("sign-in/with/", include("allauth.socialaccount.urls")),
    path("sign-in/with/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("settings/second-factor/", include("allauth.mfa.urls")),
    path("sign-out/", django_views.LogoutView.as_view(), name="sign_out"),
    # The names by which allauth knows our own pages.
    path("sign-in/", sign_in.SignIn.as_view(), name="account_login"),
    path("sign-out/", django_views.LogoutView.as_view(), name="account_logout"),
    path(
        "password/",
        django_views.PasswordChangeView.as_view(template_name="registration/password_change.html"),
        name="password_change",
    ),
    path(
        "password/changed/",
        django_views.PasswordChangeDoneView.as_view(template_name="registration/password_changed.html"),
        name="password_change_done",
    ),
    path("invitation/<uidb64>/<token>/", invitations.AcceptInvitation.as_view(), name="invitation"),
    path("password/reset/", sign_in.PasswordReset.as_view(), name="password_reset"),
    # Their templates have the names that Django's views look for.
    path("password/reset/sent/", django_views.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path(
        "password/reset/<uidb64>/<token>/",
        django_views.PasswordResetConfirmView.as_view(),
        name="password_reset_confirm",
    ),
    path("password/reset/done/", django_views.PasswordResetCompleteView.as_view(), name="password_reset_complete"),
]
