"""Search where vectors come from a service: it is not waited for twice, and meaning comes back with it."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from approvals.models import User
from memory_app import reads
from memory_app.models import SearchIndex
from memory_app.search import embedders
from memory_app.search.cache import indices
from memory_app.search.service import search
from tests import environment
from tests.support.acts import save

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not environment.is_embedded(), reason="the worker of this leg has its own settings"),
]


class EmbeddingService(http.server.ThreadingHTTPServer):
    """An embedding service with OpenAI's API, on loopback, for which "sail" and "ocean" mean the same."""

    is_failing = False
    asked = 0


class _Handler(http.server.BaseHTTPRequestHandler):
    server: EmbeddingService

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked += 1
        if self.server.is_failing:
            self.send_error(503)
            return
        seas = ["sail" in text or "ocean" in text for text in asked["input"]]
        data = [{"index": number, "embedding": [float(sea), float(not sea)]} for number, sea in enumerate(seas)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": data}).encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def service(settings: Any) -> Iterator[EmbeddingService]:
    embedders._retry_at = 0.0
    with EmbeddingService(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.EMBEDDER, settings.EMBEDDER_DIMENSIONS = "openai", 2
        settings.EMBEDDER_URL, settings.EMBEDDER_MODEL = f"http://127.0.0.1:{server.server_port}/v1", "seas"
        yield server
        server.shutdown()
    embedders._retry_at = 0.0


@pytest.fixture
def sails(alice: User, service: EmbeddingService) -> str:
    """A note found by meaning; the arrays are in memory."""
    id_ = save(alice, "He loves to sail.")
    assert found("ocean") == (["He loves to sail."], False)
    return id_


def found(query: str, **more: Any) -> tuple[list[str], bool]:
    """The texts found, and whether by words only."""
    answer = search("alice", query, **more)
    return [hit.text for hit in answer.results], answer.words_only


def test_a_service_that_fails_a_search_is_not_asked_by_the_next(service: EmbeddingService, sails: str) -> None:
    service.is_failing, service.asked = True, 0
    assert found("ocean") == ([], True)
    assert service.asked == 1
    assert found("sail") == (["He loves to sail."], True)
    assert service.asked == 1
    service.is_failing = False
    embedders._retry_at = 0.0  # the minute is over
    assert found("ocean") == (["He loves to sail."], False)


def test_arrays_built_while_the_service_is_set_aside_get_their_meaning_back(
    service: EmbeddingService, sails: str
) -> None:
    indices.clear()  # as after a restart
    embedders._retry_at = time.monotonic() + 60
    assert found("sail") == (["He loves to sail."], True)
    assert found("ocean") == ([], True)
    without = indices.index_of("alice")
    assert indices.index_of("alice") is without, "not built anew at each search"
    embedders._retry_at = 0.0
    assert found("ocean") == (["He loves to sail."], False)
    assert indices.index_of("alice") is indices.index_of("alice")


def test_another_embedder_reindexes_and_one_that_is_away_is_done_without(
    alice: User, service: EmbeddingService, settings: Any
) -> None:
    settings.EMBEDDER = "wordllama"
    save(alice, "He loves to sail.")
    assert found("sail") == (["He loves to sail."], False)
    first = SearchIndex.objects.get(owner="alice").embedder
    settings.EMBEDDER = "openai"
    assert not search("alice", "sail").index_behind  # made anew by this search
    chosen = SearchIndex.objects.get(owner="alice").embedder
    assert chosen != first
    assert found("ocean") == (["He loves to sail."], False)
    service.is_failing = True
    assert found("sail") == (["He loves to sail."], True)
    assert not search("alice", "sail").index_behind
    assert SearchIndex.objects.get().embedder == chosen, "its vectors wait for the service to come back"
    save(alice, "Saved while it was away.")
    assert found("saved") == (["Saved while it was away."], True)


def test_the_past_says_when_the_service_failed_for_the_query(service: EmbeddingService, sails: str) -> None:
    now = reads.head()
    assert found("ocean", as_of=now) == (["He loves to sail."], False)
    ask = embedders.OpenAICompatible.embed

    def fail_for_the_query(self: embedders.OpenAICompatible, texts: Any) -> Any:
        service.is_failing = texts == ["ocean"]
        return ask(self, texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedders.OpenAICompatible, "embed", fail_for_the_query)
        assert found("ocean", as_of=now) == ([], True)
