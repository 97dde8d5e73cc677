"""The messages endpoint: kept once, bounded, deletable, forgotten after their time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from approvals.models import Agent, User
from memory_app import conversations, reads
from memory_app.models import Message
from memory_app.tasks import purge_conversations
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import ClientOf

PATH = "/api/v1/users/alice/conversations/monday/messages/"
HELLO = {"id": "m1", "role": "user", "content": "Hello!", "author": "Alice", "at": "2026-03-01T12:00:00"}


def test_messages_are_kept_once(api: Machine, alice: User) -> None:
    reply = {"id": "m2", "role": "assistant", "content": "Hi."}
    first = answered(api.post(PATH, {"messages": [HELLO]}))["data"]
    second = answered(api.post(PATH, {"messages": [HELLO | {"content": "Changed"}, reply]}))["data"]
    assert first == {"session_id": "monday", "new": ["m1"], "known": []}
    assert second == {"session_id": "monday", "new": ["m2"], "known": ["m1"]}
    kept = Message.objects.get(message_id="m1")
    assert (kept.owner, kept.session_id, kept.content, kept.author) == ("alice", "monday", "Hello!", "Alice")
    assert kept.at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_messages_without_an_id_get_one(api: Machine, alice: User) -> None:
    turn = {"role": "tool", "content": "{}"}
    data = answered(api.post(PATH, {"messages": [turn, turn]}))["data"]
    assert len(set(data["new"])) == 2


def test_messages_are_never_versioned(api: Machine, alice: User) -> None:
    before = reads.head()
    answered(api.post(PATH, {"messages": [HELLO]}))
    assert reads.head() == before


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([HELLO | {"role": "robot"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([HELLO, HELLO | {"content": "x" * 20_001}], "messages[1].content"),
        ([HELLO | {"at": "yesterday"}], "messages[0].at"),
        ([HELLO | {"id": ""}], "messages[0].id"),
        ([HELLO | {"id": "x" * 129}], "messages[0].id"),
        ([HELLO | {"mood": "good"}], "messages[0].mood"),
        ([], "messages"),
        ([HELLO] * 501, "messages"),
        ("Hello", "messages"),
    ],
)
def test_a_bad_message_is_named_and_none_is_kept(api: Machine, alice: User, messages: Any, field: str) -> None:
    error = refused(api.post(PATH, {"messages": messages}), 400, "invalid_arguments")
    assert field in error["details"]["fields"]
    assert not Message.objects.exists()


def test_they_are_counted_in_words(api: Machine, alice: User) -> None:
    def text(answer: Any) -> str:
        return str(answered(answer)["text"])

    assert text(api.post(PATH, {"messages": [HELLO]})) == "1 message kept."
    assert text(api.post(PATH, {"messages": [HELLO]})) == "0 messages kept."
    assert text(api.post(PATH, {"messages": [HELLO | {"id": "m2"}, HELLO | {"id": "m3"}]})) == "2 messages kept."
    assert text(api.http.delete(f"{PATH}m1/")) == "1 message deleted."
    assert text(api.http.delete(PATH)) == "2 messages deleted."


def test_the_roles_are_listed(api: Machine, alice: User) -> None:
    error = refused(api.post(PATH, {"messages": [HELLO | {"role": "robot"}]}), 400, "invalid_arguments")
    assert error["details"]["fields"]["messages[0].role"] == "must be one of user, assistant, system, tool"


def test_a_message_a_conversation_and_nothing_else_is_deleted(api: Machine, alice: User) -> None:
    answered(api.post(PATH, {"messages": [HELLO, HELLO | {"id": "m2"}, HELLO | {"id": "m3"}]}))
    answered(api.post(PATH.replace("monday", "tuesday"), {"messages": [HELLO]}))
    assert answered(api.http.delete(f"{PATH}m2/"))["data"] == {"session_id": "monday", "deleted": 1, "left": 0}
    assert answered(api.http.delete(f"{PATH}m2/"))["data"]["deleted"] == 0
    assert answered(api.http.delete(PATH))["data"]["deleted"] == 2
    assert Message.objects.get().session_id == "tuesday"


def test_an_agent_deletes_only_what_it_handed_in(api: Machine, machine: MachineOf, issue: Issue, alice: User) -> None:
    answered(api.post(PATH, {"messages": [HELLO, HELLO | {"id": "m2", "content": "I moved to Kiel."}]}))
    rival = machine(issue(alice, agent=Agent.objects.create(name="rival")))
    # Sending what is there already makes it nobody else's.
    assert answered(rival.post(PATH, {"messages": [HELLO, HELLO | {"id": "m3"}]}))["data"]["known"] == ["m1"]

    assert answered(rival.http.delete(f"{PATH}m1/"))["data"] == {"session_id": "monday", "deleted": 0, "left": 1}
    answer = answered(rival.http.delete(PATH))
    assert answer["data"] == {"session_id": "monday", "deleted": 1, "left": 2}
    assert answer["text"].splitlines() == [
        "1 message deleted.",
        "2 messages handed in by another agent stayed: only that agent or a person deletes them.",
    ]
    found = answered(rival.call("memory_search", query="Kiel", sources=["conversation"]))["data"]["results"]
    assert [hit["message_id"] for hit in found] == ["m2"]
    # Another token of the same agent is the same agent.
    assert answered(machine(issue(alice)).http.delete(PATH))["data"]["deleted"] == 2
    assert answered(rival.call("memory_search", query="Kiel", sources=["conversation"]))["data"]["results"] == []


def test_people_delete_any_message_and_search_forgets_it(
    api: Machine, call: Call, admin: User, alice: User, client_of: ClientOf
) -> None:
    turns = [HELLO | {"id": f"m{number}", "content": f"I moved to Kiel {number}."} for number in range(3)]
    answered(api.post(PATH, {"messages": turns}))

    def found() -> set[str]:
        hits = answered(call("memory_search", query="Kiel", sources=["conversation"]))["data"]["results"]
        return {hit["message_id"] for hit in hits}

    assert found() == {"m0", "m1", "m2"}
    desk = client_of(admin)
    one, *others = Message.objects.order_by("message_id")
    desk.post(reverse("admin:memory_app_message_delete", args=[one.pk]), {"post": "yes"})
    assert found() == {"m1", "m2"}
    desk.post(
        reverse("admin:memory_app_message_changelist"),
        {"action": "delete_selected", "_selected_action": [each.pk for each in others], "post": "yes"},
    )
    assert found() == set()
    assert not Message.objects.exists()


def test_an_agent_hands_in_for_owners_it_serves(
    api: Machine, machine: MachineOf, issue: Issue, alice: User, ben: User
) -> None:
    refused(api.post(PATH.replace("alice", "ben"), {"messages": [HELLO]}), 403, "owner_not_granted")
    reader = machine(issue(alice, scopes=["memory:read"]))
    refused(reader.post(PATH, {"messages": [HELLO]}), 403, "missing_scope")
    refused(reader.http.delete(PATH), 403, "missing_scope")


def test_messages_are_forgotten_after_their_time(api: Machine, alice: User) -> None:
    answered(api.post(PATH, {"messages": [HELLO, HELLO | {"id": "m2"}]}))
    assert purge_conversations() == 0
    old = timezone.now() - timedelta(days=settings.CONVERSATION_DAYS, minutes=1)
    Message.objects.filter(message_id="m1").update(received_at=old)
    with override_settings(CONVERSATION_DAYS=0):
        assert conversations.purge() == 0
    assert purge_conversations() == 1
    assert Message.objects.get().message_id == "m2"
    assert "memory_app.purge_conversations" in {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
