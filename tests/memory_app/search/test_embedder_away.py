"""Search where vectors come from a service: it is not waited for twice, and meaning comes back with it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from approvals.models import User
from memory_app import reads
from memory_app.models import Chunk, SearchIndex
from memory_app.search import embedders
from memory_app.search.cache import indices
from memory_app.search.service import search
from tests import environment
from tests.support.acts import save
from tests.support.receiver import Receiver, receiver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not environment.is_embedded(), reason="the worker of this leg has its own settings"),
]


def embed(handler: Any) -> None:
    """Answer as a service with OpenAI's API for which "sail" and "ocean" mean the same."""
    seas = ["sail" in text or "ocean" in text for text in handler.server.received[-1].message["input"]]
    data = [{"index": number, "embedding": [float(sea), float(not sea)]} for number, sea in enumerate(seas)]
    body = json.dumps({"data": data}).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def service(settings: Any) -> Iterator[Receiver]:
    """An embedding service on loopback, which fails while it has no `answer`."""
    embedders._retry_at = 0.0
    with receiver() as server:
        server.answer, server.status = embed, 503
        settings.EMBEDDER, settings.EMBEDDER_DIMENSIONS = "openai", 2
        settings.EMBEDDER_URL, settings.EMBEDDER_MODEL = f"http://127.0.0.1:{server.port}/v1", "seas"
        yield server
    embedders._retry_at = 0.0


@pytest.fixture
def sails(alice: User, service: Receiver) -> str:
    """A note found by meaning; the arrays are in memory."""
    id_ = save(alice, "He loves to sail.")
    assert found("ocean") == (["He loves to sail."], False)
    return id_


def found(query: str, **more: Any) -> tuple[list[str], bool]:
    """The texts found, and whether by words only."""
    answer = search("alice", query, **more)
    return [hit.text for hit in answer.results], answer.words_only


def test_a_service_that_fails_a_search_is_not_asked_by_the_next(service: Receiver, sails: str) -> None:
    service.answer, asked = None, len(service.received)
    assert found("ocean") == ([], True)
    assert found("sail") == (["He loves to sail."], True)
    assert len(service.received) == asked + 1
    service.answer = embed
    embedders._retry_at = 0.0  # the minute is over
    assert found("ocean") == (["He loves to sail."], False)


def test_arrays_built_while_the_service_is_set_aside_get_their_meaning_back(service: Receiver, sails: str) -> None:
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
    alice: User, service: Receiver, settings: Any
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
    service.answer = None
    assert found("sail") == (["He loves to sail."], True)
    assert not search("alice", "sail").index_behind
    assert SearchIndex.objects.get().embedder == chosen, "its vectors wait for the service to come back"
    save(alice, "Saved while it was away.")
    assert found("saved") == (["Saved while it was away."], True)


def test_an_index_of_an_older_form_is_rebuilt_with_the_vectors_it_has(service: Receiver, sails: str) -> None:
    (index,) = SearchIndex.objects.all()
    Chunk.objects.update(terms="written by an older version")
    SearchIndex.objects.update(embedder=index.embedder.partition(" (form")[0])
    asked = len(service.received)
    assert not search("alice", "sail", sources=["conversation"]).index_behind
    assert len(service.received) == asked, "each text costs money"
    assert found("sail") == (["He loves to sail."], False)
    assert found("ocean") == (["He loves to sail."], False)
    assert SearchIndex.objects.get().embedder == index.embedder


def test_the_past_says_when_the_service_failed_for_the_query(service: Receiver, sails: str) -> None:
    now = reads.head("alice")
    assert found("ocean", as_of=now) == (["He loves to sail."], False)
    ask = embedders.OpenAICompatible.embed

    def fail_for_the_query(self: embedders.OpenAICompatible, texts: Any) -> Any:
        service.answer = None if texts == ["ocean"] else embed
        return ask(self, texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedders.OpenAICompatible, "embed", fail_for_the_query)
        assert found("ocean", as_of=now) == ([], True)
