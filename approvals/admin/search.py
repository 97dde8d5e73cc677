"""The search index: how far it follows the memory, and what is in it. `manage.py reindex` rebuilds it."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from approvals.admin.read_only import ReadOnlyAdmin, values_filter
from memory_app.models import Chunk, SearchIndex

SOURCES = ("user_memory", "memory_block", "conversation")


@admin.register(SearchIndex)
class SearchIndexAdmin(ReadOnlyAdmin[SearchIndex]):
    list_display = ["owner", "embedder", "change_id", "message_id", "version", "updated_at"]
    search_fields = ["owner"]


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin[Chunk]):
    exclude = ["vector"]
    list_display = ["owner", "source", "document_id", "title", "type", "at", "removed"]
    list_filter = [values_filter("source", _("source"), list(SOURCES)), "removed"]
    search_fields = ["owner", "document_id", "text"]
