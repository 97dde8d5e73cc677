"""How many statements a call may make, in both databases together: most of its time is theirs.

Transactions begin and end beside them, and are not counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache
from django.db.backends import utils

from memory_app.reads import Block
from memory_app.search import store
from tests.agent_tools.conftest import Call
from tests.agent_tools.mcp.peer import Peer

_TRANSACTIONS = ("BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK")

_PROPOSED = {"block_label": "goals", "reasoning": "She said so."}
_SAID = {"content": "She rows on day {0}, and on {0} she does not."}

#: How many each may make, and how it is called: with another number the second time.
CALLS: dict[str, tuple[int, dict[str, str]]] = {
    "list_memory_blocks": (5, {}),
    "read_memory_block": (5, {"block_label": "goals"}),
    "memory_search": (6, {"query": "which exam"}),
    "memory_save": (17, _SAID),  # one of them where a writer's turn is a statement: with PostgreSQL
    # One asks for the agent's own proposals that change the same lines; with PostgreSQL one locks the agent.
    "propose_memory_edit": (18, _PROPOSED | {"old_string": "math", "new_string": "maths ({})"}),
    "propose_memory_append": (18, _PROPOSED | _SAID),
    "propose_section_update": (18, _PROPOSED | {"section_header": "# Goals", "new_content": "She rows on day {}."}),
    # Two more find out whether it is of an older version of the block, before it is made.
    "propose_memory_rewrite": (20, _PROPOSED | _SAID),
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


@pytest.mark.parametrize("way", ["rest", "mcp"])
@pytest.mark.parametrize("tool", CALLS)
def test_a_call_keeps_to_its_statements(tool: str, way: str, token: str, call: Call, goals: Block) -> None:
    budget, arguments = CALLS[tool]
    peer = Peer(token)

    def ask(number: int) -> bool:
        given = {name: value.format(number) for name, value in arguments.items()}
        if way == "mcp":
            return not peer.call(tool, **given)["isError"]
        return bool(call(tool, **given).json()["ok"])

    assert call("memory_save", content="Her exam is in June.").status_code == 200
    assert call("memory_search", query="exam").json()["data"]["results"]  # a first search makes the owner's index
    assert ask(0)  # sessions are opened, queries put together
    store.settle()
    cache.set("approvals.recover", 1, timeout=60)  # looked after by now and then, by whoever reads
    with statements() as asked:
        assert ask(1)
    assert len(asked) <= budget, "\n".join(asked)
