"""A client of `/mcp` for tests: one message at a time, in either era, with what may be wrong in it."""

import base64
import itertools
import json
from typing import Any

from django.test import Client

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
OLD = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_numbers = itertools.count(1)


class Peer:
    """A client in one version.

    Args:
        version: of the protocol; an old one sends its header, the modern one all of them.
        query: of the address.
    """

    def __init__(self, token: str | None, version: str = MODERN, query: str = "", address: str = "/mcp") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = Client(headers=headers, raise_request_exception=False)
        self.version, self.address = version, address + (f"?{query}" if query else "")

    @property
    def is_modern(self) -> bool:
        return self.version == MODERN

    def send(self, raw: Any, **headers: str) -> Any:
        """The answer to a body as it is; bytes and text unchanged, anything else as JSON."""
        content = raw if isinstance(raw, bytes | str) else json.dumps(raw)
        return self.http.post(self.address, content, content_type="application/json", headers=headers)

    def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        """The answer to a request, before anything about it is checked."""
        message, sent = self.message(method, params)
        return self.send(message, **sent | headers)

    def message(self, method: str, params: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, str]]:
        """A right request of this version, and its headers."""
        given = dict(params or {})
        message = {"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": given}
        if not self.is_modern:
            return message, {} if method == "initialize" else {"MCP-Protocol-Version": self.version}
        given["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}} | given.get("_meta", {})
        sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if (named := given.get(NAMED.get(method, ""))) is not None:
            sent["Mcp-Name"] = header(str(named))
        return message, sent

    def result(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request, after its shape was checked."""
        response = self.ask(method, params)
        answer = response.json()
        assert response.status_code == 200, answer
        assert set(answer) == {"jsonrpc", "id", "result"}, answer
        assert response["Content-Type"] == "application/json"
        assert response["X-Request-ID"]
        if self.is_modern:
            assert answer["result"]["resultType"] == "complete"
            assert answer["result"]["_meta"][f"{META}serverInfo"]["name"] == "assent"
        return answer["result"]

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a tool's call."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def pages(self, method: str, key: str) -> list[list[Any]]:
        """Every page of a list."""
        found: list[list[Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.result(method, params)
            found.append(page[key])
            if "nextCursor" not in page:
                return found
            params = {"cursor": page["nextCursor"]}

    def names(self) -> list[str]:
        """The names of the tools it is offered."""
        return [tool["name"] for tool in self.result("tools/list")["tools"]]


def header(value: str) -> str:
    """A value as a header has it."""
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def error_of(response: Any, code: int, status: int) -> Any:
    """The error of an answer, after its shape, code and status were checked."""
    answer = response.json()
    assert (response.status_code, answer.get("error", {}).get("code")) == (status, code), answer
    assert set(answer) == {"jsonrpc", "id", "error"}
    assert set(answer["error"]) <= {"code", "message", "data"}
    assert response["Content-Type"] == "application/json"
    assert "Traceback" not in response.content.decode()
    return answer["error"] | {"id": answer["id"]}


def text_of(result: Any) -> str:
    """What the model reads."""
    (content,) = result["content"]
    assert content["type"] == "text"
    text: str = content["text"]
    return text
