"""Making a client: where it finds address and token, what it refuses, and what its copies share."""

import asyncio
import importlib.util
from typing import Any

import httpx2
import pytest
from conftest import TOKEN, URL, Script, refusal, success

from assent_client import Assent, AssentError, AsyncAssent, BadRequestError
from assent_client.core import OwnerNotKnown


def test_making_a_client_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MEMORY_TOKEN", TOKEN)
    with Assent() as memory:
        assert memory.core.base_url == "http://127.0.0.1:1"
    asyncio.run(AsyncAssent().close())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "MEMORY_URL"),
        ({"base_url": URL}, "MEMORY_TOKEN"),
        ({"base_url": "memory.example", "token": TOKEN}, "http://"),
        ({"base_url": f"{URL}/mcp", "token": TOKEN}, "leave out /mcp"),
        ({"base_url": f"{URL}/api/v1/", "token": TOKEN}, "leave out /mcp and /api/"),
        ({"base_url": URL}, "/settings/agents/"),
        ({"base_url": URL, "token": "line\nend"}, "no token"),
        ({"base_url": URL, "token": "tokén"}, "no token"),
        ({"base_url": URL, "token": ""}, "no token"),
    ],
)
def test_what_is_missing_or_wrong_is_named(arguments: dict[str, Any], says: str) -> None:
    for kind in (Assent, AsyncAssent):
        with pytest.raises(AssentError, match=says):
            kind(**arguments)


def test_a_client_of_the_wrong_library_or_kind_is_refused() -> None:
    with pytest.raises(TypeError, match=r"has to be an httpx2.Client, not httpx2.AsyncClient"):
        Assent(URL, TOKEN, http_client=httpx2.AsyncClient())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"has to be an httpx2.AsyncClient, not httpx2.Client"):
        AsyncAssent(URL, TOKEN, http_client=httpx2.Client())  # type: ignore[arg-type]


@pytest.mark.skipif(not importlib.util.find_spec("httpx"), reason="httpx is not installed beside the client")
def test_an_httpx_client_is_refused_with_the_reason() -> None:
    import httpx

    with pytest.raises(TypeError, match="httpx and httpx2 are two libraries"):
        Assent(URL, TOKEN, http_client=httpx.Client())  # type: ignore[arg-type]


def test_the_token_is_in_no_representation(memory: Assent) -> None:
    assert TOKEN not in repr(memory) + repr(memory.core) + str(vars(memory))


def test_a_given_client_keeps_its_address_headers_and_is_not_closed(script: Script) -> None:
    script.answers = [success(label="goals")]
    http = httpx2.Client(
        base_url="https://proxied.example/memory/",
        headers={"Authorization": "Bearer of_its_own", "X-Team": "tutors"},
        transport=httpx2.MockTransport(script),
    )
    with Assent(http_client=http, user="alice") as memory:
        memory.blocks.get("goals")
    (request,) = script.requests
    assert str(request.url) == "https://proxied.example/memory/api/v1/tools/read_memory_block/"
    assert (request.headers["Authorization"], request.headers["X-Team"]) == ("Bearer of_its_own", "tutors")
    assert not http.is_closed


def test_for_user_asks_about_somebody_else_on_the_same_connections(memory: Assent, script: Script) -> None:
    script.answers = [success()]
    memory.for_user("ben").blocks.get("goals")
    memory.blocks.get("goals")
    memory.blocks.get("goals", user_id="carol")
    assert [script.body(number)["user_id"] for number in range(3)] == ["ben", "alice", "carol"]
    memory.for_user("ben").close()
    memory.blocks.get("goals")


def test_who_is_served_is_asked_once_for_a_token(script: Script) -> None:
    script.answers = [success(owners=["alice"], all_owners=False), success(items=[], next=None)]
    memory = script.client()
    memory.notes.list()
    memory.with_options(timeout=3).notes.list()
    script.answers = [success(owners=["ben"]), success(items=[], next=None)]
    memory.with_options(token="asn_other").notes.list()
    assert [request.url.path.removeprefix("/api/v1/") for request in script.requests] == [
        "token/",
        "users/alice/notes/",
        "users/alice/notes/",
        "token/",
        "users/ben/notes/",
    ]
    assert script.requests[-1].headers["Authorization"] == "Bearer asn_other"


@pytest.mark.parametrize("served", [{"owners": ["alice", "ben"]}, {"all_owners": True}, {"owners": []}])
def test_whose_memory_has_to_be_said_where_the_token_does_not_tell(served: dict[str, Any], script: Script) -> None:
    script.answers = [success(**served)]
    with pytest.raises(OwnerNotKnown, match="say whose memory"):
        script.client().notes.list()


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("a/b", "a%2Fb"),
        ("../../token", "..%2F..%2Ftoken"),
        ("a?limit=1#x", "a%3Flimit%3D1%23x"),
        ("%2e%2e", "%252e%252e"),
        ("ä b", "%C3%A4%20b"),
    ],
)
def test_a_name_is_one_part_of_the_address(label: str, path: str, memory: Assent, script: Script) -> None:
    script.answers = [success(items=[], next=None)]
    memory.blocks.history(label)
    assert script.requests[0].url.raw_path == f"/api/v1/users/alice/blocks/{path}/history/".encode()


@pytest.mark.parametrize("label", ["", ".", ".."])
def test_a_name_that_would_be_another_address_is_refused(label: str, memory: Assent, script: Script) -> None:
    with pytest.raises(ValueError, match="block_label cannot be"):
        memory.blocks.history(label)
    with pytest.raises(ValueError, match="name cannot be"):
        memory.tools.call(label)
    assert script.requests == []


def test_arguments_left_out_are_not_sent_and_lists_become_queries(memory: Assent, script: Script) -> None:
    script.answers = [success(items=[], next=None)]
    memory.notes.list(tag=["exam", "b2"], include_superseded=True, limit=5)
    query = sorted(script.requests[0].url.query.split(b"&"))
    assert query == [b"include_superseded=true", b"limit=5", b"tag=b2", b"tag=exam"]
    script.answers = [success()]
    memory.notes.save("She sails.")
    assert script.body() == {"content": "She sails.", "user_id": "alice"}


def test_half_of_a_surrogate_pair_reaches_the_server_which_names_the_argument(memory: Assent, script: Script) -> None:
    script.answers = [refusal(400, "forbidden_character")]
    with pytest.raises(BadRequestError):
        memory.notes.save("\ud800")
    assert b"\\ud800" in script.requests[0].content


@pytest.mark.parametrize("wrong", [float("nan"), object(), b"bytes"])
def test_what_json_cannot_say_is_an_error_before_anything_is_sent(
    wrong: object, memory: Assent, script: Script
) -> None:
    with pytest.raises((TypeError, ValueError)):
        memory.tools.call("memory_save", content=wrong)
    assert script.requests == []


def test_an_argument_that_is_unknown_or_missing_is_not_sent(memory: Assent, script: Script) -> None:
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'old'"):
        memory.blocks.propose_edit("goals", old="a", new_string="b", reasoning="c")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'reasoning'"):
        memory.blocks.propose_edit("goals", old_string="a", new_string="b")  # type: ignore[call-arg]
    assert script.requests == []


def test_a_call_names_whose_memory_it_is_about_where_that_is_known(memory: Assent, script: Script) -> None:
    script.answers = [success(note_id="note-1")] * 4
    memory.notes.save("She rows.")
    memory.notes.save("She sails.", user_id="ben")
    memory.notes.save("She runs.", user_id="Zoë\r\nX-Evil: 1")
    assert script.header("X-Assent-User") == ["alice", "ben", "Zo%C3%AB%0D%0AX-Evil%3A%201"]
    script.client(None).notes.save("She swims.")
    assert "X-Assent-User" not in script.requests[-1].headers
