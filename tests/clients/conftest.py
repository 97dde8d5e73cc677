"""The Python client against this very server, over its WSGI application: every middleware, no socket."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.core.wsgi import get_wsgi_application

from assent_client import Assent, AsyncAssent
from assent_client.answers import STRICT, Answer
from tests.agent_tools.conftest import issue  # noqa: F401 - a fixture here too

URL = "http://testserver"


def transport() -> httpx2.WSGITransport:
    return httpx2.WSGITransport(app=get_wsgi_application())


class Threaded(httpx2.AsyncBaseTransport):
    """The same application for asyncio: each request runs in a thread, as under a server."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()

        def handle() -> httpx2.Response:
            with httpx2.Client(transport=transport()) as http:
                came = http.request(request.method, request.url, headers=request.headers, content=request.content)
                return httpx2.Response(came.status_code, headers=came.headers, content=came.content)

        return await sync_to_async(handle, thread_sensitive=True)()


@pytest.fixture
def memory(token: str) -> Iterator[Assent]:
    """A client with scribe's token for alice."""
    with httpx2.Client(transport=transport()) as http:
        yield Assent(URL, token, http_client=http)


@pytest.fixture
def async_memory(token: str) -> AsyncAssent:
    return AsyncAssent(URL, token, http_client=httpx2.AsyncClient(transport=Threaded()))


def as_described(answer: Any) -> Any:
    """Return the answer, after its fields were found to be of the types the client promises, and none unknown."""
    model: type[Answer] = type(answer)
    given = {**answer.data, "text": answer.text, "data": answer.data, "request_id": answer.request_id}
    read = model.model_validate(given, context=STRICT)
    _all_known(read, model.__name__)
    return answer


def _all_known(read: Any, where: str) -> None:
    assert not read.model_extra, f"{where} has fields the client does not describe: {sorted(read.model_extra)}"
    for name in type(read).model_fields:
        value = getattr(read, name)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "model_extra"):
                _all_known(item, f"{where}.{name}")
