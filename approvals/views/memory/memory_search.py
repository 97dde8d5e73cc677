"""The search box over one memory."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.accounts.sign_in import signed_in
from approvals.pages.memory_search import find
from approvals.views.memory.owners import about, readable_owner

LONGEST_QUERY = 500


@signed_in()
@require_safe
def search(request: HttpRequest, owner: str) -> HttpResponse:
    """Show what matches `?q=` in a memory: blocks, notes and open proposals."""
    person = readable_owner(request, owner)
    query = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_QUERY]
    context = {
        **about(request, person),
        "query": query,
        "found": find(owner, query) if query else None,
    }
    return render(request, "memory/memory_search.html", context)
