"""memory_list_sessions and memory_read_session, and the same by address."""

from datetime import UTC, datetime, timedelta

import pytest

from approvals.models import User
from memory_app import conversations
from memory_app.conversations import Turn
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf

SESSIONS = "/api/v1/users/alice/conversations/"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def say(session: str, *contents: str, owner: str = "alice", at: datetime = NOON, agent: str = "scribe") -> None:
    turns = [
        Turn("assistant" if number % 2 else "user", content, f"{session}-{number}", at=at + timedelta(seconds=number))
        for number, content in enumerate(contents)
    ]
    conversations.keep(owner, session, turns, agent=agent)


@pytest.fixture
def said(alice: User, ben: User) -> None:
    say("monday", "How do limits\nwork?", "Like this.", "Thanks.")
    say("tuesday", "x" * 300, "Yes.", at=NOON + timedelta(days=1))
    say("bens", "A secret of ben's", owner="ben")


def test_the_conversations_are_listed_the_latest_first(said: None, call: Call, api: Machine) -> None:
    answer = answered(call("memory_list_sessions"))
    assert answer["data"]["items"] == [
        {
            "session_id": "tuesday",
            "title": "x" * 79 + "…",
            "count": 2,
            "first_at": "2026-03-02T12:00:00Z",
            "last_at": "2026-03-02T12:00:01Z",
            "agents": ["scribe"],
        },
        {
            "session_id": "monday",
            "title": "How do limits work?",
            "count": 3,
            "first_at": "2026-03-01T12:00:00Z",
            "last_at": "2026-03-01T12:00:02Z",
            "agents": ["scribe"],
        },
    ]
    assert answer["text"].split("\n")[3] == "- monday (2026-03-01T12:00:02Z, 3 messages): How do limits work?"
    assert answered(api.get(SESSIONS)) == answer
    assert "ben" not in str(answer)


def test_the_title_is_what_the_user_said_first(alice: User, call: Call) -> None:
    turns = [Turn("system", "You are helpful.", "a", at=NOON), Turn("user", "Hello!", "b", at=NOON)]
    conversations.keep("alice", "monday", turns)
    conversations.keep("alice", "silent", [Turn("assistant", "Anybody?", "c", at=NOON)])
    titles = {item["session_id"]: item["title"] for item in answered(call("memory_list_sessions"))["data"]["items"]}
    assert titles == {"monday": "Hello!", "silent": "Anybody?"}


def test_the_list_is_paged(said: None, api: Machine) -> None:
    first = answered(api.get(f"{SESSIONS}?limit=1"))["data"]
    second = answered(api.get(f"{SESSIONS}?limit=1&cursor={first['next']}"))["data"]
    assert [item["session_id"] for item in first["items"] + second["items"]] == ["tuesday", "monday"]
    assert second["next"] is None


def test_a_conversation_is_read_in_order_page_by_page(said: None, call: Call, api: Machine) -> None:
    first = answered(call("memory_read_session", session_id="monday", limit=2))
    assert [item["content"] for item in first["data"]["items"]] == ["How do limits\nwork?", "Like this."]
    assert first["data"]["items"][1] == {
        "message_id": "monday-1",
        "role": "assistant",
        "author": "",
        "content": "Like this.",
        "agent": "scribe",
        "at": "2026-03-01T12:00:01Z",
    }
    assert f"cursor={first['data']['next']}" in first["text"]
    rest = answered(api.get(f"{SESSIONS}monday/messages/?cursor={first['data']['next']}"))
    assert [item["content"] for item in rest["data"]["items"]] == ["Thanks."]
    assert rest["data"]["next"] is None
    assert rest["text"] == "[2026-03-01T12:00:02Z] user: Thanks."


def test_a_long_one_is_cut_at_whole_messages(alice: User, call: Call) -> None:
    contents = [str(number) * 9_000 for number in range(5)]
    say("long", *contents)
    read: list[str] = []
    cursor: str | None = None
    sizes = []
    while cursor is not None or not read:
        data = answered(call("memory_read_session", session_id="long", **({"cursor": cursor} if cursor else {})))[
            "data"
        ]
        sizes.append(len(data["items"]))
        read += [item["content"] for item in data["items"]]
        cursor = data["next"]
    assert (read, sizes) == (contents, [2, 2, 1])


def test_what_is_not_there_or_another_owners_is_not_found(said: None, call: Call, api: Machine) -> None:
    for session in ("friday", "bens"):
        error = refused(call("memory_read_session", session_id=session), 404, "session_not_found")
        assert error["message"] == f"No conversation '{session}' is kept."
        refused(api.get(f"{SESSIONS}{session}/messages/"), 404, "session_not_found")


def test_it_takes_an_owner_the_token_serves(said: None, machine: MachineOf, issue: Issue, alice: User) -> None:
    for path in (SESSIONS, f"{SESSIONS}monday/messages/"):
        refused(machine(issue(alice)).get(path.replace("alice", "ben")), 403, "owner_not_granted")
        refused(machine(None).get(path), 401, "not_authenticated")


@pytest.mark.parametrize("cursor", ["x", "WyJtZW1vcnlfcmVhZF9zZXNzaW9uIiwieCJd"])
def test_a_cursor_that_is_none_is_refused(said: None, call: Call, cursor: str) -> None:
    error = refused(call("memory_read_session", session_id="monday", cursor=cursor), 400, "invalid_arguments")
    assert error["details"]["fields"]["cursor"] == "is not a cursor of this list"
