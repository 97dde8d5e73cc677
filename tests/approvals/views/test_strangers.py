"""Who may not read a memory, or not write it, is told that there is nothing: at every page of it and at every form.

That no answer has anything of another's in it is `tests/end_to_end/test_isolation.py`, which asks all addresses.
"""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Proposal, Status, User
from memory_app import conversations, reads
from memory_app.conversations import Turn
from memory_app.models import Change, Message
from memory_app.reads import Block
from tests.support.acts import save
from tests.support.fixtures import ClientOf

_DECISION = {"revision": "1", "seen_sha256": ""}
#: Of each form about a proposal what it has to say to be valid.
_OF_A_PROPOSAL: dict[str, dict[str, str]] = {
    "approve": _DECISION,
    "reject": _DECISION | {"reason": "wrong"},
    "request_changes": _DECISION | {"comment": "Hm."},
    "ticks": {"tick": "none"},
    "edit": _DECISION | {"text": "Mine."},
    "resolve": _DECISION | {"text": "Mine."},
    "undo": {},
    "redact": {},
    "comment": {"said": "Hm", "nonce": "a" * 32},
    "assign": {"to": "mallory"},
}
_READ = ("memory", "notes", "automatic", "conversations", "memory_search", "export_markdown", "export_json")
_READ_OF_BLOCK = ("block", "block_history", "block_blame")
_WRITE = ("block_new", "note_new", "note_import", "notes_change")
_WRITE_OF_BLOCK = ("block_edit", "block_delete")
_WRITE_OF_NOTE = ("note_edit", "note_delete", "note_supersede", "note_reinstate")


@pytest.fixture
def memory(alice: User, goals: Block) -> dict[str, Any]:
    """A block, a note and a conversation of alice's; the arguments of addresses by what they are about."""
    note = save(alice)
    conversations.keep("alice", "monday", [Turn("user", "I moved to Kiel.")], agent="scribe")
    message = Message.objects.get()
    return {
        "block": ["alice", "goals"],
        "version": ["alice", "goals", Change.objects.earliest("id").commit],
        "note": ["alice", note],
        "session": ["alice", "monday"],
        "message": ["alice", "monday", message.pk],
    }


def written() -> list[Any]:
    """Everything of alice's that a form could have changed."""
    return [*reads.blocks("alice"), *reads.notes("alice"), Change.objects.count(), Message.objects.count()]


def test_proposals_of_others_are_not_there(as_mallory: Client, goals: Block, proposal: Proposal) -> None:
    for name in ("proposal", "edit", "resolve", "undo", "redact", "together"):
        assert as_mallory.get(reverse(name, args=[proposal.pk])).status_code == 404, name
    for name, fields in _OF_A_PROPOSAL.items():
        for more in ({}, {"back": "1"}, {"preview": "1"}, {"accepted": "0" * 12, "rest": "agent"}):
            answer = as_mallory.post(reverse(name, args=[proposal.pk]), fields | more)
            assert answer.status_code == 404, (name, more)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.assigned_to) == (Status.OPEN, None)
    assert not proposal.events.filter(what="commented").exists()
    assert reads.block("alice", "goals") == goals


@pytest.mark.parametrize("who", ["mallory", "ben"])
def test_memories_of_others_are_not_there(who: str, client_of: ClientOf, memory: Any, mallory: User, ben: User) -> None:
    client, before = client_of({"mallory": mallory, "ben": ben}[who]), written()
    addresses = [
        *(reverse(name, args=["alice"]) for name in (*_READ, *_WRITE)),
        *(reverse(name, args=memory["block"]) for name in (*_READ_OF_BLOCK, *_WRITE_OF_BLOCK)),
        *(reverse(name, args=memory["note"]) for name in ("note", *_WRITE_OF_NOTE)),
        *(reverse(name, args=memory["session"]) for name in ("conversation", "conversation_delete")),
        reverse("message_delete", args=memory["message"]),
        reverse("block_restore", args=memory["version"]),
        reverse("memory", args=["nobody"]),
    ]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 404, address
        assert b"Kiel" not in answer.content
        sent = {"loaded_sha256": "0" * 64, "body": "Mine.", "label": "stolen", "limit": "50", "content": "Mine."}
        assert client.post(address, sent).status_code in (404, 405), address
    assert written() == before


@pytest.mark.parametrize("who", ["tim", "admin"])
def test_who_may_only_read_a_memory_writes_nothing_in_it(
    who: str, client_of: ClientOf, memory: Any, tim: User, admin: User
) -> None:
    client, before = client_of({"tim": tim, "admin": admin}[who]), written()
    addresses = [
        *(reverse(name, args=["alice"]) for name in _WRITE),
        *(reverse(name, args=memory["block"]) for name in _WRITE_OF_BLOCK),
        *(reverse(name, args=memory["note"]) for name in _WRITE_OF_NOTE),
    ]
    for address in addresses:
        assert address not in client.get(reverse("note", args=memory["note"])).content.decode()
        assert client.get(address).status_code == 404, address
        sent = {"loaded_sha256": "0" * 64, "body": "Mine.", "label": "stolen", "limit": "50", "content": "Mine."}
        assert client.post(address, sent).status_code == 404, address
    assert written() == before


def test_who_is_not_signed_in_is_asked_to(client: Client, memory: Any) -> None:
    before = written()
    for name in ("block_history", "block_blame"):
        assert client.get(reverse(name, args=memory["block"])).headers["Location"].startswith(reverse("sign_in"))
    for address in (reverse("conversations", args=["alice"]), reverse("conversation", args=memory["session"])):
        assert client.get(address).headers["Location"].startswith(reverse("sign_in"))
    assert client.post(reverse("conversation_delete", args=memory["session"])).status_code == 401
    assert written() == before
