"""Conversations: handed in, kept once, bounded; listed and read; deleted, and forgotten after their time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from approvals.models import User
from memory_app import conversations, reads
from memory_app.conversations import Turn
from memory_app.models import Message
from memory_app.tasks import purge_conversations
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.fixtures import ClientOf

SESSIONS = "/api/v1/users/alice/conversations/"
PATH = f"{SESSIONS}monday/messages/"
HELLO = {"id": "m1", "role": "user", "content": "Hello!", "author": "Alice", "at": "2026-03-01T12:00:00"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def send(api: Machine, *messages: dict[str, str], path: str = PATH) -> Any:
    return api.post(path, {"messages": list(messages)})


def about_kiel(call: Call) -> set[str]:
    """The messages about Kiel that are found."""
    hits = answered(call("memory_search", query="Kiel", sources=["conversation"]))["data"]["results"]
    return {hit["message_id"] for hit in hits}


# -- handing in -----------------------------------------------------------------------------------


def test_messages_are_kept_once_and_never_versioned(api: Machine) -> None:
    before = reads.head("alice")
    reply = {"id": "m2", "role": "assistant", "content": "Hi."}
    first = answered(send(api, HELLO))
    second = answered(send(api, HELLO | {"content": "Changed"}, reply))
    assert first["data"] == {"session_id": "monday", "new": ["m1"], "known": []}
    assert second["data"] == {"session_id": "monday", "new": ["m2"], "known": ["m1"]}
    assert (first["text"], answered(send(api, HELLO))["text"]) == ("1 message kept.", "0 messages kept.")
    kept = Message.objects.get(message_id="m1")
    assert (kept.owner, kept.session_id, kept.content, kept.author) == ("alice", "monday", "Hello!", "Alice")
    assert kept.at == NOON
    assert reads.head("alice") == before


def test_messages_without_an_id_get_one(api: Machine) -> None:
    turn = {"role": "tool", "content": "{}"}
    answer = answered(send(api, turn, turn))
    assert len(set(answer["data"]["new"])) == 2
    assert answer["text"] == "2 messages kept."


def test_a_bad_message_is_named_and_none_is_kept(api: Machine) -> None:
    error = refused(send(api, HELLO, HELLO | {"content": "x" * 20_001}), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"messages[1].content": "must have at most 20,000 characters"}
    assert not Message.objects.exists()


def test_an_agent_hands_in_and_reads_for_owners_it_serves(api: Machine, reader: Machine, ben: User) -> None:
    for path in (SESSIONS, PATH):
        refused(api.get(path.replace("alice", "ben")), 403, "owner_not_granted")
        refused(Machine(None).get(path), 401, "not_authenticated")
    refused(send(api, HELLO, path=PATH.replace("alice", "ben")), 403, "owner_not_granted")
    refused(send(reader, HELLO), 403, "missing_scope")
    refused(reader.http.delete(PATH), 403, "missing_scope")


# -- reading --------------------------------------------------------------------------------------


def say(session: str, *contents: str, owner: str = "alice", at: datetime = NOON) -> None:
    turns = [
        Turn("assistant" if number % 2 else "user", content, f"{session}-{number}", at=at + timedelta(seconds=number))
        for number, content in enumerate(contents)
    ]
    conversations.keep(owner, session, turns, agent="scribe")


@pytest.fixture
def said(alice: User, ben: User) -> None:
    say("monday", "How do limits\nwork?", "Like this.", "Thanks.")
    say("tuesday", "x" * 300, "Yes.", at=NOON + timedelta(days=1))
    say("bens", "A secret of ben's", owner="ben")


def test_the_conversations_are_listed_the_latest_first_in_pages(said: None, call: Call, api: Machine) -> None:
    answer = answered(call("memory_list_sessions"))
    tuesday, monday = answer["data"]["items"]
    assert (tuesday["session_id"], tuesday["title"], tuesday["count"]) == ("tuesday", "x" * 79 + "…", 2)
    assert monday == {
        "session_id": "monday",
        "title": "How do limits work?",
        "count": 3,
        "first_at": "2026-03-01T12:00:00Z",
        "last_at": "2026-03-01T12:00:02Z",
        "agents": ["scribe"],
    }
    assert answer["text"].split("\n")[3] == "- monday (2026-03-01T12:00:02Z, 3 messages): How do limits work?"
    assert answered(api.get(SESSIONS)) == answer
    assert "ben" not in str(answer)
    first = answered(api.get(f"{SESSIONS}?limit=1"))["data"]
    second = answered(api.get(f"{SESSIONS}?limit=1&cursor={first['next']}"))["data"]
    assert (first["items"], second["items"], second["next"]) == ([tuesday], [monday], None)


def test_the_title_is_what_the_user_said_first(call: Call) -> None:
    turns = [Turn("system", "You are helpful.", "a", at=NOON), Turn("user", "Hello!", "b", at=NOON)]
    conversations.keep("alice", "monday", turns)
    conversations.keep("alice", "silent", [Turn("assistant", "Anybody?", "c", at=NOON)])
    titles = {item["session_id"]: item["title"] for item in answered(call("memory_list_sessions"))["data"]["items"]}
    assert titles == {"monday": "Hello!", "silent": "Anybody?"}


def test_a_conversation_is_read_in_order_page_by_page(said: None, call: Call, api: Machine) -> None:
    first = answered(call("memory_read_session", session_id="monday", limit=2))
    assert first["data"]["items"][0]["content"] == "How do limits\nwork?"
    assert first["data"]["items"][1] == {
        "message_id": "monday-1",
        "role": "assistant",
        "author": "",
        "content": "Like this.",
        "agent": "scribe",
        "at": "2026-03-01T12:00:01Z",
    }
    assert f"call again with cursor {first['data']['next']}.)" in first["text"]
    rest = answered(api.get(f"{PATH}?cursor={first['data']['next']}"))
    assert ([item["content"] for item in rest["data"]["items"]], rest["data"]["next"]) == (["Thanks."], None)
    assert rest["text"] == "[2026-03-01T12:00:02Z] user: Thanks."
    for cursor in ("x", "WyJtZW1vcnlfcmVhZF9zZXNzaW9uIiwieCJd"):
        error = refused(call("memory_read_session", session_id="monday", cursor=cursor), 400, "invalid_arguments")
        assert error["details"]["fields"]["cursor"] == "is not a cursor of this list"


def test_a_long_one_is_cut_at_whole_messages(call: Call) -> None:
    contents = [str(number) * 9_000 for number in range(5)]
    say("long", *contents)
    data = answered(call("memory_read_session", session_id="long"))["data"]
    pages = [data["items"]]
    while data["next"]:
        data = answered(call("memory_read_session", session_id="long", cursor=data["next"]))["data"]
        pages.append(data["items"])
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [item["content"] for page in pages for item in page] == contents


def test_what_is_not_there_or_another_owners_is_not_found(said: None, call: Call, api: Machine) -> None:
    for session in ("friday", "bens"):
        error = refused(call("memory_read_session", session_id=session), 404, "session_not_found")
        assert error["message"] == f"No conversation '{session}' is kept."
        refused(api.get(f"{SESSIONS}{session}/messages/"), 404, "session_not_found")


# -- deleting -------------------------------------------------------------------------------------


def test_a_message_a_conversation_and_nothing_else_is_deleted(api: Machine) -> None:
    answered(send(api, HELLO, HELLO | {"id": "m2"}, HELLO | {"id": "m3"}))
    answered(send(api, HELLO, path=PATH.replace("monday", "tuesday")))
    answer = answered(api.http.delete(f"{PATH}m2/"))
    assert answer["data"] == {"session_id": "monday", "deleted": 1, "left": 0}
    assert answer["text"] == "1 message deleted."
    assert answered(api.http.delete(f"{PATH}m2/"))["data"]["deleted"] == 0
    assert answered(api.http.delete(PATH))["text"] == "2 messages deleted."
    assert Message.objects.get().session_id == "tuesday"


def test_an_agent_deletes_only_what_it_handed_in(api: Machine, rival: Machine, issue: Issue, alice: User) -> None:
    answered(send(api, HELLO, HELLO | {"id": "m2", "content": "I moved to Kiel."}))
    # Sending what is there already makes it nobody else's.
    assert answered(send(rival, HELLO, HELLO | {"id": "m3"}))["data"]["known"] == ["m1"]

    assert answered(rival.http.delete(f"{PATH}m1/"))["data"] == {"session_id": "monday", "deleted": 0, "left": 1}
    answer = answered(rival.http.delete(PATH))
    assert answer["data"] == {"session_id": "monday", "deleted": 1, "left": 2}
    assert answer["text"].splitlines() == [
        "1 message deleted.",
        "2 messages handed in by another agent stayed: only that agent or a person deletes them.",
    ]
    assert about_kiel(rival.call) == {"m2"}
    # Another token of the same agent is the same agent.
    assert answered(Machine(issue(alice)).http.delete(PATH))["data"]["deleted"] == 2
    assert about_kiel(rival.call) == set()


def test_people_delete_any_message_and_search_forgets_it(api: Machine, admin: User, client_of: ClientOf) -> None:
    answered(send(api, *(HELLO | {"id": f"m{n}", "content": f"I moved to Kiel {n}."} for n in range(3))))
    assert about_kiel(api.call) == {"m0", "m1", "m2"}
    desk = client_of(admin)
    one, *others = Message.objects.order_by("message_id")
    desk.post(reverse("admin:memory_app_message_delete", args=[one.pk]), {"post": "yes"})
    assert about_kiel(api.call) == {"m1", "m2"}
    chosen = {"action": "delete_selected", "_selected_action": [each.pk for each in others], "post": "yes"}
    desk.post(reverse("admin:memory_app_message_changelist"), chosen)
    assert about_kiel(api.call) == set()
    assert not Message.objects.exists()


def test_messages_are_forgotten_after_their_time(api: Machine) -> None:
    answered(send(api, HELLO, HELLO | {"id": "m2"}))
    assert purge_conversations() == 0
    old = timezone.now() - timedelta(days=settings.CONVERSATION_DAYS, minutes=1)
    Message.objects.filter(message_id="m1").update(received_at=old)
    with override_settings(CONVERSATION_DAYS=0):
        assert conversations.purge() == 0
    assert purge_conversations() == 1
    assert Message.objects.get().message_id == "m2"
    assert "memory_app.purge_conversations" in {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
