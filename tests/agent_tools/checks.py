"""What every answer has to look like, asked the same way by every test."""

from collections.abc import Callable
from typing import Any

from tests.conftest import eventually


def refused(response: Any, status: int, code: str) -> Any:
    """The error of a refusal, after checking its shape, status and code."""
    answer = response.json()
    assert (response.status_code, answer["error"]["code"]) == (status, code), answer
    assert set(answer) == {"ok", "text", "error"}
    assert answer["ok"] is False
    assert set(answer["error"]) == {"code", "message", "details"}
    assert response["Content-Type"] == "application/json"
    assert response["X-Request-ID"]
    return answer["error"] | {"text": answer["text"]}


def answered(response: Any) -> Any:
    """The payload of a success, after checking its shape."""
    answer = response.json()
    assert response.status_code == 200, answer
    assert set(answer) == {"ok", "text", "data"}
    assert answer["ok"] is True
    return answer


def caught_up(ask: Callable[[], Any]) -> Any:
    """Return the answer to the call `ask` makes, once it is no longer `index_behind`."""

    def current() -> Any:
        answer = answered(ask())
        return None if answer["data"]["index_behind"] else answer

    return eventually(current, seconds=20)
