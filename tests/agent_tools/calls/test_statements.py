"""How many statements a call may make, in both databases together: most of its time is theirs.

Transactions begin and end beside them, and are not counted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache
from django.db.backends import utils

from memory_app.reads import Block
from memory_app.search import store
from tests.agent_tools.conftest import Call
from tests.agent_tools.mcp.peer import Peer

BUDGET = {
    "list_memory_blocks": 5,
    "read_memory_block": 5,
    "memory_search": 6,
    "memory_save": 17,  # one of them where a writer's turn is a statement: with PostgreSQL
    "propose_memory_edit": 17,
    "propose_memory_append": 17,
    "propose_section_update": 17,
    "propose_memory_rewrite": 18,
}

_TRANSACTIONS = ("BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK")

#: The second time: a first search makes the owner's index.
CALLS: dict[str, Callable[[int], dict[str, Any]]] = {
    "list_memory_blocks": lambda _: {},
    "read_memory_block": lambda _: {"block_label": "goals"},
    "memory_search": lambda _: {"query": "which exam"},
    "memory_save": lambda number: {"content": f"She rows on day {number}."},
    "propose_memory_edit": lambda number: {
        "block_label": "goals",
        "old_string": "math",
        "new_string": f"maths ({number})",
        "reasoning": "She said so.",
    },
    "propose_memory_append": lambda number: {
        "block_label": "goals",
        "content": f"She rows on day {number}.",
        "reasoning": "She said so.",
    },
    "propose_section_update": lambda number: {
        "block_label": "goals",
        "section_header": "# Goals",
        "new_content": f"She rows on day {number}.",
        "reasoning": "She said so.",
    },
    "propose_memory_rewrite": lambda number: {
        "block_label": "goals",
        "content": f"She rows on day {number}.",
        "reasoning": "She said so.",
    },
}


@contextmanager
def statements() -> Iterator[list[str]]:
    """What this thread asks of any database, whichever connection it goes through."""
    import threading

    here, asked = threading.get_ident(), list[str]()
    wrapper: Any = utils.CursorWrapper
    execute, execute_many = wrapper._execute, wrapper._executemany

    def noting(original: Any) -> Any:
        def run(self: Any, sql: Any, params: Any, *rest: Any) -> Any:
            if threading.get_ident() == here and not str(sql).startswith(_TRANSACTIONS):
                asked.append(f"{self.db.alias}: {' '.join(str(sql).split())[:150]}")
            return original(self, sql, params, *rest)

        return run

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(utils.CursorWrapper, "_execute", noting(execute))
        patched.setattr(utils.CursorWrapper, "_executemany", noting(execute_many))
        yield asked


@pytest.mark.parametrize("tool", CALLS)
def test_a_call_keeps_to_its_statements(tool: str, call: Call, goals: Block) -> None:
    assert call("memory_save", content="Her exam is in June.").status_code == 200
    assert call("memory_search", query="exam").json()["data"]["results"]
    assert call(tool, **CALLS[tool](0)).status_code == 200  # sessions are opened, queries put together
    store.settle()
    cache.set("approvals.recover", 1, timeout=60)  # looked after by now and then, by whoever reads
    with statements() as asked:
        answer = call(tool, **CALLS[tool](1))
    assert answer.json()["ok"], answer.json()["text"]
    assert len(asked) <= BUDGET[tool], "\n".join(asked)


@pytest.mark.parametrize("tool", CALLS)
def test_by_mcp_it_takes_no_more(tool: str, token: str, call: Call, goals: Block) -> None:
    peer = Peer(token)
    assert call("memory_save", content="Her exam is in June.").status_code == 200
    assert call("memory_search", query="exam").json()["data"]["results"]
    assert not peer.call(tool, **CALLS[tool](0))["isError"]
    store.settle()
    cache.set("approvals.recover", 1, timeout=60)
    with statements() as asked:
        answer = peer.call(tool, **CALLS[tool](1))
    assert not answer["isError"], answer["content"]
    assert len(asked) <= BUDGET[tool], "\n".join(asked)
