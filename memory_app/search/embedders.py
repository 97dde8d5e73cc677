"""Which embedder this site uses: wordllama by default, or a service that speaks OpenAI's API.

`ASSENT_EMBEDDER` names it. Changing it rebuilds every owner's index, since vectors of two embedders cannot be
compared.
"""

import threading
import time
from collections.abc import Sequence
from functools import cache

import httpx
import numpy as np
import structlog
from django.conf import settings

from memory_app.runtime import deadlines
from memory_app.search.ranking.dense import Embedder, EmbedderUnavailable, Vectors, unit, wordllama

log = structlog.get_logger(__name__)

#: Follows the embedder's name in `SearchIndex.embedder`. Raised whenever `chunking.row_of` stores other terms, so that
#: every index is rebuilt, with the vectors it has. 2: the days that texts name, C++ and .NET.
_FORM = " (form 2)"

#: The embedder of an index whose vectors could not be made: it is rebuilt when the embedder is back.
WORDS_ONLY = f"words only{_FORM}"

#: Seconds for a service to answer: a search has 15 in all, and continues by words without it.
TIMEOUT = 5.0

#: Seconds to do without an embedder that did not answer.
RETRY_AFTER = 60.0
_retry_at = 0.0


class OpenAICompatible:
    """`POST {url}/embeddings`, as OpenAI, Ollama, vLLM and others answer it.

    A service that did not answer is not called for `RETRY_AFTER` seconds: indices hold their embedder for hours, and
    each search and save would wait for it again.
    """

    def __init__(self, url: str, model: str, key: str, dimensions: int) -> None:
        self.name = f"{url} {model}"
        self.dimensions = dimensions
        self._model = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT)

    def embed(self, texts: Sequence[str]) -> Vectors:
        global _retry_at
        if is_aside():
            raise EmbedderUnavailable(f"{self.name} did not answer within the last {RETRY_AFTER:.0f} s")
        try:
            return self._asked(texts)
        except EmbedderUnavailable as error:
            _retry_at = time.monotonic() + RETRY_AFTER
            log.warning("embedder_unavailable", embedder=self.name, error=str(error))
            raise

    def _asked(self, texts: Sequence[str]) -> Vectors:
        timeout = min(TIMEOUT, max(deadlines.remaining(), 0.1))
        try:
            asked = {"model": self._model, "input": list(texts)}
            answer = self._client.post("/embeddings", json=asked, timeout=timeout)
            answer.raise_for_status()
            items = sorted(answer.json()["data"], key=lambda item: item["index"])
            vectors = np.asarray([item["embedding"] for item in items], dtype=np.float32)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            deadlines.require()  # a deadline that passed is no fault of the service
            raise EmbedderUnavailable(f"{self.name}: {error}") from error
        if vectors.shape != (len(texts), self.dimensions):
            raise EmbedderUnavailable(f"{self.name} gave {vectors.shape}, not {(len(texts), self.dimensions)}")
        return unit(vectors)


def is_aside() -> bool:
    """Whether the embedder failed so recently that it is not called."""
    return time.monotonic() < _retry_at


#: Without it, the first searches of eight threads load eight models, each of tens of megabytes.
_loading = threading.Lock()


def configured() -> Embedder | None:
    """Return the embedder of this site; None to search by words alone (by choice, or while it does not answer)."""
    if is_aside():
        return None
    try:
        with _loading:
            return _load(
                settings.EMBEDDER,
                settings.EMBEDDER_MODEL,
                settings.EMBEDDER_URL,
                settings.EMBEDDER_KEY,
                settings.EMBEDDER_DIMENSIONS,
            )
    except EmbedderUnavailable as error:
        _say_once(settings.EMBEDDER, str(error))
        return None


@cache
def _say_once(embedder: str, error: str) -> None:
    log.warning("embedder_unavailable", embedder=embedder, error=error)


def name_of(embedder: Embedder | None) -> str:
    """Return the value of `SearchIndex.embedder` for an index made with this embedder."""
    return f"{embedder.name}{_FORM}" if embedder else WORDS_ONLY


def configured_name() -> str:
    """Return the value of `SearchIndex.embedder` for an index made now."""
    return name_of(configured())


def are_vectors_of_today(name: str | None) -> bool:
    """Whether an index with this value of `SearchIndex.embedder` has an older form, but the same vectors."""
    now = configured_name()
    return name is not None and name != now and name.partition(" (form")[0] == now.partition(" (form")[0]


def name_to_have() -> str | None:
    """Return the value of `SearchIndex.embedder` with which an index stays as it is; others have to be rebuilt.

    None, for any, while the chosen embedder does not answer: rebuilding would throw away vectors which have to be made
    again later.
    """
    chosen = configured_name()
    return None if chosen == WORDS_ONLY and settings.EMBEDDER != "none" else chosen


def is_to_replace(name: str) -> bool:
    """Whether an index made with the embedder of this name has to be rebuilt."""
    return name_to_have() not in (None, name)


@cache
def _load(kind: str, model: str, url: str, key: str, dimensions: int) -> Embedder | None:
    match kind:
        case "wordllama":
            return wordllama()
        case "openai":
            return OpenAICompatible(url, model, key, dimensions)
    return None
