"""The endpoints that list notes and show one; memories.md over HTTP; what a token is."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import Proposal, User
from approvals.services import notes
from assent_client.text import memories_md
from memory_app import reads
from memory_app.models import SearchIndex
from memory_app.search import store
from tests.agent_tools.checks import answered, caught_up, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import save

NOTES = "/api/v1/users/alice/notes/"
FILE = "/api/v1/users/alice/memories.md"

MEMORIES = """\
# Memories

## Patterns

### mem-1737372000-a1b2
> Barrel exports for all module boundaries.
<!-- tags: imports, structure | created: 2025-01-20 -->

## Decisions

## Fixes

### mem-1737390000-g7h8
> ECONNREFUSED means start docker.
>
> Then try again.
<!-- tags: docker | created: 2025-01-21 -->

## Context
"""


def listed(api: Machine, query: str = "") -> list[str]:
    """What the notes say, of all pages of a list."""
    data = answered(api.get(f"{NOTES}?{query}"))["data"]
    found = [item["content"] for item in data["items"]]
    while data["next"] is not None:
        data = answered(api.get(f"{NOTES}?{query}&cursor={data['next']}"))["data"]
        found += [item["content"] for item in data["items"]]
    return found


def put(
    api: Machine, text: str | bytes, query: str = "", *, type: str = "text/markdown; charset=utf-8", **headers: str
) -> Any:
    return api.http.post(f"{FILE}{query}", text, content_type=type, headers=headers)


# -- the list, and one note -----------------------------------------------------------------------


def test_notes_are_listed_newest_first_by_page_and_filter(api: Machine, call: Call, alice: User, ben: User) -> None:
    save(ben, "Ben's")
    save(alice, "a", type="fix", tags=["docker"])
    save(alice, "b", tags=["drinks"])
    old = save(alice, "c")
    call("memory_save", content="d")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=old)
    assert listed(api) == listed(api, "limit=1") == ["d", "b", "a"]
    assert listed(api, "type=fix") == ["a"]
    assert listed(api, "tag=docker&tag=drinks") == ["b", "a"]
    assert listed(api, "source=agent") == ["d"]
    assert listed(api, "include_superseded=1") == ["d", "c", "b", "a"]
    for bad in ("?type=rumour", "?include_superseded=yes", "?limit=0", "?limit=201", "?cursor=x", "?source=me", "?x=1"):
        refused(api.get(f"{NOTES}{bad}"), 400, "invalid_arguments")


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00", "2026-01-01", "0001-01-01T00:00:00+23:59", "soon", ""])
def test_a_cursor_somebody_made_up_is_refused_or_a_place_in_the_list(at: str, api: Machine, alice: User) -> None:
    save(alice, "a")
    cursor = base64.urlsafe_b64encode(json.dumps(["note_list", f"{at} x"]).encode()).decode()
    answer = api.get(f"{NOTES}?cursor={cursor}")
    if "+" in at:
        assert answered(answer)["data"]["items"] == []
    else:
        assert "cursor" in refused(answer, 400, "invalid_arguments")["details"]["fields"]


@pytest.mark.slow
def test_a_list_with_a_query_is_ranked_goes_to_the_last_match_and_filters_lose_none(api: Machine, alice: User) -> None:
    put(api, "".join(f"### mem-{number}-aaaa\n> She reads book {number}.\n" for number in range(1_100)))
    save(alice, "She reads and reads in the garden.")
    caught_up(lambda: api.get(f"{NOTES}?q=reads"))
    found = listed(api, "q=reads&limit=200")
    assert len(found) == len(set(found)) == 1_101
    assert listed(api, "q=reads+garden&limit=200")[0] == "She reads and reads in the garden."
    assert listed(api, "q=reads&source=user&limit=5") == ["She reads and reads in the garden."]


def test_a_list_with_a_query_says_when_the_search_does_not_know_all_of_the_notes(
    api: Machine, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(alice, "She reads in the garden.")
    assert len(caught_up(lambda: api.get(f"{NOTES}?q=reads"))["data"]["items"]) == 1
    monkeypatch.setattr("memory_app.search.service.LONGEST_WAIT", 0.0)
    store.settle()  # or the saving process indexes the note after this
    SearchIndex.objects.update(change_id=0, message_id=0, busy_until=timezone.now() + timedelta(hours=1))
    assert answered(api.get(f"{NOTES}?q=reads"))["data"]["index_behind"]
    assert not answered(api.get(NOTES))["data"]["index_behind"], "without a query nothing is searched"


def test_a_note_is_read_now_and_as_of(api: Machine, call: Call) -> None:
    saved = answered(call("memory_save", content="June"))["data"]
    call("memory_update", note_id=saved["note_id"], content="July")
    now = answered(api.get(f"{NOTES}{saved['note_id']}/"))
    assert now["text"] == now["data"]["content"] == "July"
    then = answered(api.get(f"{NOTES}{saved['note_id']}/?as_of={saved['commit']}"))["data"]
    assert (then["content"], then["commit"]) == ("June", saved["commit"])
    refused(api.get(f"{NOTES}{saved['note_id']}/?as_of=1999-01-01"), 404, "revision_not_found")


def test_a_token_says_what_it_is(api: Machine, issue: Issue) -> None:
    data = answered(api.get("/api/v1/token/"))["data"]
    assert data == {
        "agent": "scribe",
        "scopes": ["memory:read", "memory:propose", "notes:write"],
        "all_owners": False,
        "owners": ["alice"],
        "toolset": "core",
    }
    everyone = answered(Machine(issue(all_owners=True)).get("/api/v1/token/"))["data"]
    assert (everyone["all_owners"], everyone["owners"]) == (True, [])


# -- memories.md ----------------------------------------------------------------------------------


def test_a_file_goes_in_and_comes_out_to_the_byte(api: Machine) -> None:
    data = answered(put(api, MEMORIES))["data"]
    assert (data["status"], data["created"], data["updated"], data["unchanged"]) == ("applied", 2, 0, 0)
    assert data["skipped"] == []
    assert api.get(FILE).content.decode() == MEMORIES
    again = answered(put(api, api.get(FILE).content))["data"]
    assert (again["status"], again["proposal_id"], again["unchanged"]) == ("unchanged", None, 2)
    assert reads.note("alice", "mem-1737372000-a1b2").source == "import"


def test_an_import_waits_where_the_owner_wants_to_be_asked(api: Machine, call: Call, ask_first: None) -> None:
    answer = answered(put(api, MEMORIES))
    assert answer["data"]["status"] == "open"
    assert reads.notes("alice") == ()
    assert Proposal.objects.get().target_kind == "import"
    number = answer["data"]["proposal_id"]
    seen = answered(api.get(f"/api/v1/proposals/{number}/"))
    assert seen["text"].startswith(f"Proposal {number} for an import of memories is open: it still applies.\n")
    assert "\nYou asked: note mem-1737372000-a1b2, nothing → " in seen["text"]
    assert (seen["data"]["note_count"], len(seen["data"]["notes"])) == (2, 2)
    assert (seen["data"]["note_id"], seen["data"]["block_label"]) == (None, None)
    listed = answered(call("list_proposals"))["text"]
    assert f"- {number}: an import of memories, open; it still applies\n  You asked: adds " in listed


def test_a_file_of_another_program_says_what_it_has_and_brings_it_in_when_asked(api: Machine, call: Call) -> None:
    other = "# Likes\n- Tea\n- [2026-03-01] - Rowing\n\n## Work\n### Tools\n- Uses uv\n"
    saved = answered(call("memory_save", content="tea"))["data"]["note_id"]
    answer = answered(put(api, other))
    assert "it has 3 list items under 2 headings: send it again with items=true to bring them in" in answer["text"]
    assert answer["data"]["status"] == "unchanged"
    answer = answered(put(api, other, "?items=true"))
    assert (answer["data"]["created"], "items=true" in answer["text"]) == (2, False)
    notes = {note.content: note for note in reads.notes("alice") if note.id != saved}
    assert {content: note.tags for content, note in notes.items()} == {"Rowing": ("Likes",), "Uses uv": ("Tools",)}
    assert str(notes["Rowing"].created_at.date()) == "2026-03-01"
    assert answered(put(api, other, "?items=true"))["data"]["created"] == 0
    assert "no memories.md" not in answered(put(api, "Prose.\n"))["text"]


def test_an_import_keeps_what_the_format_cannot_carry(api: Machine, call: Call) -> None:
    note_id = "mem-1737372000-a1b2"
    call("remember", content="Old.", memory_id=note_id, confidence=0.3, rationale="why", type="pattern", session_id="s")
    data = answered(put(api, MEMORIES))["data"]
    assert (data["created"], data["updated"]) == (1, 1)
    note = reads.note("alice", note_id)
    assert note.content == "Barrel exports for all module boundaries."
    assert (note.confidence, note.rationale, note.source, note.session_id) == (0.3, "why", "agent", "s")


def test_malformed_blocks_are_skipped_and_named(api: Machine) -> None:
    answer = answered(put(api, MEMORIES + "\n### nonsense\n> x\n"))
    (skipped,) = answer["data"]["skipped"]
    assert skipped["line"] == MEMORIES.count("\n") + 2
    assert "nonsense" in skipped["reason"]
    assert f"Line {skipped['line']} skipped" in answer["text"]


@pytest.mark.parametrize(
    ("file", "type", "status", "code"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\xff", "text/markdown", 400, "malformed_file"),
        (b"### mem-1-aaaa\n> x\n### mem-1-aaaa\n> y\n", "text/markdown", 400, "malformed_file"),
        (b"> x\n" * (50 * 1024 * 1024 // 4), "text/markdown", 413, "body_too_large"),
        (b"{}", "application/json", 415, "unsupported_media_type"),
    ],
    ids=["binary", "one id twice", "50 MB", "JSON"],
)
def test_a_file_that_is_refused_changes_nothing(api: Machine, file: bytes, type: str, status: int, code: str) -> None:
    refused(put(api, file, type=type), status, code)
    assert reads.notes("alice") == ()
    assert not Proposal.objects.exists()


def test_an_import_takes_a_key(api: Machine) -> None:
    key = {"Idempotency-Key": "k"}
    assert put(api, MEMORIES, **key).content == put(api, MEMORIES, **key).content
    refused(put(api, "# Memories\n", **key), 409, "idempotency_key_reused")


def test_a_reader_exports_and_does_not_import(reader: Machine) -> None:
    assert reader.get(FILE).content.decode() == memories_md.TEMPLATE
    refused(put(reader, MEMORIES), 403, "missing_scope")
    refused(reader.get("/api/v1/users/ben/memories.md"), 403, "owner_not_granted")
