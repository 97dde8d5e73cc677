"""What lies in Redis is JSON: reading it runs no code, whoever wrote it."""

import pickle
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCacheClient

from memory_app.celery import app
from memory_app.runtime.cache_values import JsonSerializer
from tests import environment

ran: list[str] = []


class Trap:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> Any:
        return ran.append, ("code ran",)


@pytest.mark.pure
@pytest.mark.parametrize("value", [0, 7, -1, True, None, "", "a key", ["running", "writing", 3, 9, 1.5], 2.5])
def test_values_come_back_as_they_went_in(value: Any) -> None:
    serializer = JsonSerializer()
    stored = serializer.dumps(value)
    # Redis hands out bytes, numbers too.
    read = serializer.loads(stored if isinstance(stored, bytes) else str(stored).encode())
    assert (read, type(read)) == (value, type(value))


@pytest.mark.pure
def test_a_pickle_is_refused_and_not_run() -> None:
    with pytest.raises(ValueError):
        JsonSerializer().loads(pickle.dumps(Trap()))
    assert ran == []


@pytest.mark.pure
def test_tasks_and_their_results_are_json() -> None:
    assert set(app.conf.accept_content) == {"json"}
    assert (app.conf.task_serializer, app.conf.result_serializer) == ("json", "json")


def test_what_is_not_there_is_not_counted() -> None:
    cache = caches["default"]
    with pytest.raises(ValueError):
        cache.incr("calls")
    cache.add("calls", 0, timeout=60)
    assert [cache.incr("calls"), cache.incr("calls", 2), cache.get("calls")] == [1, 3, 3]


@pytest.mark.skipif(environment.is_embedded(), reason="needs Redis")
def test_the_cache_of_the_server_edition_unpickles_nothing() -> None:
    cache = caches["default"]
    client: Any = cache._cache  # type: ignore[attr-defined]
    assert isinstance(client, RedisCacheClient)
    cache.set("key", ("a", 1, 0.5))
    assert cache.get("key") == ["a", 1, 0.5]
    import redis

    redis.Redis.from_url(settings.REDIS_URL).set(cache.make_key("key"), pickle.dumps(Trap()))
    with pytest.raises(ValueError):
        cache.get("key")
    assert ran == []
