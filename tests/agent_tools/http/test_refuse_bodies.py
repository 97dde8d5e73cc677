"""What is refused below the level of arguments: bytes, sizes, media types, addresses, methods."""

import json
from io import BytesIO

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import InterfaceError, OperationalError
from django.test import override_settings

from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http.messages import as_api_error, read_object
from memory_app.reads import Block, EngineUnavailable, OutcomeUnknown
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Machine

READ = "/api/v1/tools/read_memory_block/"


@pytest.mark.parametrize(
    ("raw", "about"),
    [
        (b"{", "line 1"),
        (b"not json", "not JSON"),
        (b"[1, 2]", "one JSON object"),
        (b'"text"', "one JSON object"),
        (b"null", "one JSON object"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"block_label": "a", "block_label": "b"}', "twice"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
        (b'{"a": ' + b"[" * 50 + b"]" * 50 + b"}", "nested too deeply"),
        (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "too long"),
        (b"{} {}", "not JSON"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(api: Machine, raw: bytes, about: str) -> None:
    assert about in refused(api.post(READ, raw), 400, "invalid_json")["message"]


def test_an_empty_body_is_no_arguments(api: Machine, goals: Block) -> None:
    answered(api.http.post("/api/v1/tools/list_memory_blocks/", b"", content_type="application/json"))
    answered(api.http.generic("POST", "/api/v1/tools/list_memory_blocks/"))


def test_a_body_of_5_mb_is_refused(api: Machine, goals: Block) -> None:
    response = api.call("propose_memory_edit", block_label="goals", old_string="x", new_string="y" * 5_000_000)
    assert refused(response, 413, "body_too_large")["details"]["limit"] == 1024 * 1024


@override_settings(REQUEST_LIMIT=200)
def test_the_limit_counts_bytes_and_is_exact(api: Machine, goals: Block) -> None:
    body = json.dumps({"block_label": "goals"})
    answered(api.post(READ, body + " " * (200 - len(body))))
    refused(api.post(READ, body + " " * (201 - len(body))), 413, "body_too_large")


def test_where_no_end_can_be_seen_a_length_is_asked_for() -> None:
    """A request as a server hands it over that does not put chunks together, as waitress does."""
    chunked = {"REQUEST_METHOD": "POST", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": BytesIO(b"{}")}
    with pytest.raises(ApiError) as refusal:
        read_object(WSGIRequest(chunked))
    assert refusal.value.code is ErrorCode.LENGTH_REQUIRED


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_that_is_not_called_json_is_refused(api: Machine, kind: str) -> None:
    response = api.http.post(READ, b'{"block_label": "goals"}', content_type=kind)
    assert "Content-Type: application/json" in refused(response, 415, "unsupported_media_type")["text"]


def test_json_with_a_charset_or_suffix_is_json(api: Machine, goals: Block) -> None:
    for kind in ("application/json; charset=utf-8", "application/vnd.x+json"):
        answered(api.http.post(READ, b'{"block_label": "goals"}', content_type=kind))


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/nothing/", "/api/v2/tools/", "/api/v1/proposals/abc/"])
def test_an_unknown_address_gets_the_same_shape(api: Machine, path: str) -> None:
    refused(api.get(path), 404, "not_found")
    refused(api.post(path), 404, "not_found")


def test_a_foreign_host_gets_the_same_shape(api: Machine) -> None:
    refused(api.get("/api/v1/tools/", Host="evil.example"), 400, "bad_request")


def test_a_missing_slash_is_pointed_out(api: Machine) -> None:
    for response in (api.get("/api/v1/tools"), api.post("/api/v1/tools/read_memory_block")):
        assert "with a slash at the end" in refused(response, 404, "not_found")["text"]


PROPOSE = "/api/v1/users/alice/blocks/goals/propose/"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_wrong_method_names_the_right_one(api: Machine, method: str) -> None:
    response = api.http.generic(method, PROPOSE)
    assert refused(response, 405, "method_not_allowed")["details"]["allowed"] == ["POST"]
    assert response["Allow"] == "POST"


def test_who_accepts_no_json_gets_none_of_ours(api: Machine) -> None:
    refused(api.get("/api/v1/tools/", Accept="text/html"), 406, "not_acceptable")
    answered(api.get("/api/v1/tools/", Accept="*/*"))
    for accept in ("text/markdown", "text/*;q=0.9", "application/json"):
        file = api.get("/api/v1/users/alice/memories.md", Accept=accept)
        assert (file.status_code, file["Content-Type"]) == (200, "text/markdown; charset=utf-8")
    refused(api.get("/api/v1/users/alice/memories.md", Accept="text/html"), 406, "not_acceptable")


def test_a_nul_in_the_address_is_refused(api: Machine, goals: Block) -> None:
    for path in ("goals%00/", "goals%00/history/", "goals/?as_of=%00"):
        refused(api.get(f"/api/v1/users/alice/blocks/{path}"), 400, "forbidden_character")
    refused(api.get("/api/v1/users/al%00ice/blocks/"), 400, "forbidden_character")


@pytest.mark.parametrize(
    "away", [EngineUnavailable("busy"), OutcomeUnknown("lost"), OperationalError("secret"), InterfaceError()]
)
def test_an_engine_that_is_away_says_when_to_try_again(away: Exception) -> None:
    error = as_api_error(away, failing="Error creating edit proposal")
    assert (error.code.status, error.headers["Retry-After"]) == (503, "5")
    assert error.text.startswith("Error creating edit proposal: the memory does not answer")
    assert "secret" not in str(error.payload)


def test_an_exception_of_ours_is_not_told(api: Machine, goals: Block) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE agent_tools_idempotencykey RENAME TO gone")
    try:
        edit = {"block_label": "goals", "old_string": "likes", "new_string": "loves", "reasoning": "r"}
        response = api.call("propose_memory_edit", **edit, idempotency_key="k")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE gone RENAME TO agent_tools_idempotencykey")
    assert response.status_code in (500, 503)
    error = response.json()
    assert error["text"].startswith("Error creating edit proposal: ")
    assert "idempotencykey" not in response.content.decode()
    assert error["error"]["details"]["request_id"] == response["X-Request-ID"]


@pytest.mark.parametrize("address", ["/api/v1/tools/", "/api/v1/nowhere/", "/api", "/mcp", "/healthz/"])
def test_every_answer_has_the_callers_request_id_its_length_and_what_keeps_it_private(
    api: Machine, address: str
) -> None:
    answer = api.get(address, **{"X-Request-ID": "run-7.a"})
    assert (answer["X-Request-ID"], answer["Cache-Control"]) == ("run-7.a", "no-store")
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    assert int(answer["Content-Length"]) == len(answer.content)


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "evil\x1b[2J", "ü"])
def test_a_request_id_that_could_break_a_log_is_replaced(api: Machine, given: str) -> None:
    answer = api.get("/api/v1/tools/", **{"X-Request-ID": given})["X-Request-ID"]
    assert answer != given
    assert len(answer) == 32
