"""What a call costs does not grow with the notes of an owner: statements, and notes that are passed over."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from approvals.models import User
from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app.reads.catalogue import NoteListCache, NoteSummary, catalogue
from memory_app.search import store
from tests.agent_tools.calls.test_statements import statements
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call, Machine
from tests.support.fixtures import ClientOf

#: More than a receipt names of those that are left out, and than are followed one by one.
FEW, MANY = 600, 1_800


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of notes that were passed over."""
    ids: list[str] = []
    newest = NoteListCache.newest

    def noting(self: NoteListCache, *more: Any) -> Iterator[NoteSummary]:
        for entry in newest(self, *more):
            ids.append(entry.id)
            yield entry

    monkeypatch.setattr(NoteListCache, "newest", noting)
    return ids


@pytest.mark.slow
def test_no_call_passes_over_all_notes(
    call: Call, api: Machine, alice: User, client_of: ClientOf, passed: list[str]
) -> None:
    """With 20,000 notes, prime_memories read 11,040 of them in 111 statements for a text of 2,000 tokens."""
    page, by = client_of(alice), ChangeContext(actor=alice)
    # Of texts that are alike in length the next one nearly fits in what is left, for some budgets and not for others.
    calls: dict[str, Callable[[], object]] = {
        f"prime {budget}": lambda budget=budget: answered(call("prime_memories", budget=budget))  # type: ignore[misc]
        for budget in range(500, 530, 3)
    }
    calls |= {
        "prime json": lambda: answered(call("prime_memories", format="json", budget=600)),
        "context": lambda: answered(api.get("/api/v1/users/alice/context/")),
        "context in a budget": lambda: answered(api.get("/api/v1/users/alice/context/?budget=4000")),
        "a question about everything": lambda: answered(call("memory_search", query="What do you know about me?")),
        "recall": lambda: answered(call("recall")),
        "list": lambda: answered(api.get("/api/v1/users/alice/notes/?limit=20")),
        "page": lambda: page.get("/memory/alice/notes/").content,
        "page of a tag": lambda: page.get("/memory/alice/notes/?tag=odd&type=fact").content,
    }
    costs: dict[str, list[tuple[int, int]]] = {name: [] for name in calls}
    have = 0
    for size in (FEW, MANY):
        numbers = range(10_000 + have, 10_000 + size)
        text = "".join(f"### mem-{number}-aaaa\n> She noted {number}.\n<!-- tags: odd -->\n" for number in numbers)
        import_memories(by=by, owner="alice", parsed=memories_md.parse(f"## Facts\n{text}"))
        have = size
        for ask in calls.values():
            ask()
        store.settle()
        last = next(catalogue("alice").newest())
        notes.update(by=by, owner="alice", note_id=last.id, content=f"She noted {size}, 1.")
        answered(call("memory_search", query="noted"))
        store.settle()
        store.reindex("alice")  # as a worker does on servers
        answered(call("memory_search", query="noted"))
        for name, ask in calls.items():
            cache.set("approvals.recover", 1, timeout=60)
            passed.clear()
            with statements() as asked:
                ask()
            costs[name].append((len(asked), len(passed)))
    assert {name: few for name, (few, _many) in costs.items()} == {name: many for name, (_few, many) in costs.items()}
    assert max(notes for _few, (_statements, notes) in costs.values()) < FEW
