"""What comes back: answers with their fields, and one class of error for each status."""

import asyncio

import httpx2
import pytest
from conftest import Script, refusal, success

import assent_client
from assent_client import APIResponseValidationError, APIStatusError, Assent, AssentError, AsyncAssent, RawResponse


def test_an_answer_has_text_data_request_id_and_its_fields(memory: Assent, script: Script) -> None:
    script.answers = [success("# Goals", {"X-Request-ID": "abc"}, label="goals", sha256="f00", body="B2")]
    block = memory.blocks.get("goals")
    assert (block.text, block.request_id) == ("# Goals", "abc")
    assert block.data == {"label": "goals", "sha256": "f00", "body": "B2"}
    assert (block.label, block.sha256, block.body) == ("goals", "f00", "B2")


def test_the_text_for_the_model_comes_before_a_field_of_that_name(memory: Assent, script: Script) -> None:
    script.answers = [success("Comment added.", text="Which exam?", proposal_id=3)]
    posted = memory.proposals.comment(3, comment="Which exam?")
    assert posted.text == "Comment added."
    assert posted.data["text"] == "Which exam?"


def test_an_answer_of_another_version_is_no_error(memory: Assent, script: Script) -> None:
    script.answers = [success(proposal_id="seven", status="open", of_tomorrow={"a": 1}, warnings=None)]
    made = memory.blocks.propose_edit("goals", old_string="a", new_string="b", reasoning="c")
    fields = dict(made)
    assert (fields["proposal_id"], fields["revision"], fields["warnings"]) == ("seven", None, None)
    assert (made.model_extra or {})["of_tomorrow"] == {"a": 1}


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (405, "APIStatusError"),
        (409, "ConflictError"),
        (413, "ContentTooLargeError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ],
)
def test_each_status_has_its_class(status: int, name: str, memory: Assent, script: Script) -> None:
    script.answers = [refusal(status, "some_code", {"X-Request-ID": "abc"}, nearest="B1")]
    with pytest.raises(APIStatusError) as caught:
        memory.blocks.get("goals")
    error = caught.value
    assert type(error) is getattr(assent_client, name)
    assert (error.status_code, error.code, error.message) == (status, "some_code", "It is some_code.")
    assert (error.text, error.details, error.request_id) == ("Error: some_code", {"nearest": "B1"}, "abc")


@pytest.mark.parametrize("kind", [APIStatusError, APIResponseValidationError])
@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b"null", b'{"error": "no"}', b'{"text": "a"}', b'{"text": 3, "data": {}}', b"\xff"]
)
def test_what_something_else_than_assent_answers_is_an_error(
    body: bytes, kind: type[AssentError], memory: Assent, script: Script
) -> None:
    status = 418 if kind is APIStatusError else 200
    script.answers = [httpx2.Response(status, content=body)]
    with pytest.raises(kind, match=f"answered {status}, but not as Assent does") as caught:
        memory.blocks.get("goals")
    assert not getattr(caught.value, "code", "")


def test_a_redirect_is_not_followed_since_the_token_is_for_this_address(memory: Assent, script: Script) -> None:
    script.answers = [httpx2.Response(302, headers={"Location": "https://elsewhere.example/"})]
    with pytest.raises(APIStatusError, match=r"has moved to https://elsewhere\.example/"):
        memory.blocks.get("goals")
    assert len(script.requests) == 1


def test_the_raw_response_has_status_headers_and_bytes(
    memory: Assent, async_memory: AsyncAssent, script: Script
) -> None:
    script.answers = [success("x", {"Idempotency-Replayed": "true"}, note_id="note-1")]
    raw: RawResponse[assent_client.RawResponse[object]] = memory.notes.with_raw_response.save("She sails.")
    assert (raw.status_code, raw.headers["Idempotency-Replayed"], raw.retries_taken) == (200, "true", 0)
    assert b"note-1" in raw.content
    assert raw.parse().note_id == "note-1"  # type: ignore[attr-defined]
    raw = asyncio.run(async_memory.notes.with_raw_response.save("She sails."))
    assert raw.parse().note_id == "note-1"  # type: ignore[attr-defined]
    script.answers = [success(items=[{"id": "note-1"}], next=None)]
    pages = memory.notes.with_raw_response.list()
    assert [note.id for note in pages.parse()] == ["note-1"]
    pages = asyncio.run(async_memory.notes.with_raw_response.list())
    assert pages.parse().items[0].id == "note-1"


def test_a_line_of_a_log_says_that_there_is_help_and_does_not_quote_the_memory(memory: Assent, script: Script) -> None:
    error = {"code": "old_string_not_found", "message": "old_string not found.", "details": {}}
    text = "Error: old_string not found.\nThe nearest passage is: She is afraid of exams."
    script.answers = [httpx2.Response(404, json={"ok": False, "text": text, "error": error})]
    with pytest.raises(APIStatusError) as caught:
        memory.blocks.get("goals")
    assert str(caught.value) == "404 old_string_not_found: old_string not found. (more in .text)"
    assert "afraid" in caught.value.text


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    memory = Assent(base_url="http://alice:hush@127.0.0.1:1/site", token="asn_x", max_retries=0)
    with memory, pytest.raises(assent_client.APIConnectionError) as caught:
        memory.blocks.get("goals")
    assert str(caught.value).startswith("http://127.0.0.1:1 cannot be reached (")
    assert str(caught.value).endswith("Is the server running, and MEMORY_URL its address?")
