"""A deleted conversation: nothing of what was said is left in `default` but what the page says stays."""

import pytest

from approvals import services
from approvals.models import User
from memory_app import conversations
from memory_app.models import Chunk
from memory_app.reads import Block
from memory_app.search import service, store
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine
from tests.support.fixtures import Propose
from tests.support.traces import tables_with

SAID = "zebrafinch"
SESSION = "session-goldcrest"
MESSAGES = [
    {"role": "user", "content": f"My {SAID} sings.", "author": f"Alice {SAID}", "id": f"m-{SAID}"},
    {"role": "assistant", "content": f"What does the {SAID} sing?"},
]


@pytest.fixture
def api(alice: User, token: str) -> Machine:
    """Handed in by an agent, and searched once, so that there is an index."""
    api = Machine(token)
    path = f"/api/v1/users/alice/conversations/{SESSION}/messages/"
    answered(api.post(path, {"messages": MESSAGES}))
    service.search("alice", SAID, sources=("conversation",))
    assert tables_with(SAID)
    assert Chunk.objects.filter(session_id=SESSION).exists()
    return api


def test_nothing_of_what_was_said_is_left(api: Machine, alice: User) -> None:
    assert services.delete_messages(actor=alice, owner="alice", session_id=SESSION) == 2
    assert tables_with(SAID) == []
    assert tables_with(SESSION) == ["agent_tools_toolcall"]  # names, sizes and outcomes, for ninety days


def test_nothing_of_one_message_is_left(api: Machine, alice: User) -> None:
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION, message_id=f"m-{SAID}")
    (other,) = conversations.messages("alice", SESSION, start=0, limit=10)
    assert other.content == f"What does the {SAID} sing?"
    assert "memory_app_message" in tables_with(SAID)
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION, message_id=other.message_id)
    assert tables_with(SAID) == []


def test_what_an_agent_quoted_in_a_proposal_stays_until_that_is_redacted(
    api: Machine, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(
        goals, "math", "maths", session_id=SESSION, evidence=[{"role": "user", "content": f"My {SAID} sings."}]
    )
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION)
    assert tables_with(SAID) == ["approvals_proposal"]
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="too_private")
    assert tables_with(SAID) == tables_with(SESSION) == []


def test_a_note_that_was_deleted_leaves_nothing_in_the_index(api: Machine, alice: User) -> None:
    by = services.notes.ChangeContext(actor=alice)
    id_ = services.notes.save(by=by, owner="alice", content="A goldfinch.", tags=["goldfinch"], category="finches")
    store.reindex("alice")
    services.notes.delete(by=by, owner="alice", note_id=id_.note_id)
    store.reindex("alice")
    assert [table for table in tables_with("finch") if "chunk" in table] == ["memory_app_chunk"]  # the conversation
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION)
    assert "memory_app_chunk" not in tables_with("finch")
