"""A small server that answers as the agent API's contract says, for the `memory` command's tests of HTTP.

It keeps notes in a dict. What the product itself does with the same calls is tested with the product.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from assent_client.text import memories_md
from assent_client.text.memories_md import Memory

TOKEN = "asn_test_secret"
NOW = "2026-01-05T09:30:00+00:00"


class Problem(Exception):
    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        self.status = status
        self.error = {"code": code, "message": message, "details": details}


@dataclass
class Request:
    method: str
    path: str
    asked: dict[str, list[str]]
    body: bytes
    type: str

    @property
    def arguments(self) -> dict[str, Any]:
        given: dict[str, Any] = json.loads(self.body)
        return given


@dataclass
class Contract:
    """The memory behind the server.

    Attributes:
        policy: `apply`, or `review`, where every write waits for a person.
        taken: ids that `remember` calls taken, as if another client had just used them.
        decided: what people decided, told beside the next answer of a tool.
        fixed: an answer (status, content type, body) to give to everything instead.
    """

    url: str = ""
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    owners: list[str] = field(default_factory=lambda: ["alice"])
    policy: str = "apply"
    taken: int = 0
    decided: list[dict[str, Any]] = field(default_factory=list)
    fixed: tuple[int, str, bytes] | None = None
    location: str = ""
    requests: list[Request] = field(default_factory=list)

    def put(self, id: str, content: str, type: str = "pattern", *tags: str, at: str = NOW) -> None:
        self.notes[id] = {"id": id, "type": type, "content": content, "tags": list(tags), "created_at": at}

    def answer(self, request: Request) -> dict[str, Any] | bytes:
        match request.path.strip("/").split("/"):
            case ["api", "v1", "token"]:
                return {"agent": "scribe", "scopes": [], "owners": self.owners, "all_owners": False}
            case ["api", "v1", "tools", name] if request.method == "POST":
                return self._tool(name, request.arguments)
            case ["api", "v1", "users", owner, "notes"]:
                self._granted(owner)
                return self._page(request.asked)
            case ["api", "v1", "users", owner, "notes", id]:
                self._granted(owner)
                return self._note(id)
            case ["api", "v1", "users", owner, "memories.md"]:
                self._granted(owner)
                return self._import(request.body) if request.method == "POST" else self._export()
        raise Problem(404, "not_found", "There is no such endpoint.")

    def _granted(self, owner: str) -> None:
        if owner not in self.owners:
            raise Problem(403, "owner_not_granted", f"This token does not serve {owner!r}.")

    def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        owner = arguments.pop("user_id", None)
        if owner is None and len(self.owners) != 1:
            raise Problem(400, "invalid_arguments", "user_id is required.", fields={"user_id": "is required"})
        self._granted(owner or self.owners[0])
        waiting = {"status": "open", "proposal_id": 12, "review_url": "http://assent.test/proposals/12/"}
        came: dict[str, Any] = waiting if self.policy == "review" else {"status": "applied", "commit": "c0ffee"}
        if self.decided:
            beside, self.decided = self.decided, []
            came |= {"decisions": {"items": beside, "next": "abc", "more": True, "left_out": 3}}
        match name:
            case "remember":
                return self._remember(**arguments) | came
            case "memory_delete":
                self._note(arguments["note_id"])
                if self.policy == "apply":
                    del self.notes[arguments["note_id"]]
                return came | {"note_id": arguments["note_id"]}
            case "prime_memories":
                return came | self._prime(**arguments)
        raise Problem(404, "unknown_tool", f"There is no tool {name}.")

    def _remember(self, content: str, type: str, memory_id: str, tags: list[str]) -> dict[str, Any]:
        if self.taken:
            self.taken -= 1
            raise Problem(400, "invalid_arguments", "memory_id is taken.", fields={"memory_id": "is taken"})
        if len(content) > 2_000:
            over = f"must have at most 2,000 characters, this is {len(content) - 2_000} over"
            raise Problem(
                400, "invalid_arguments", f"invalid arguments for remember: content {over}.", fields={"content": over}
            )
        if self.policy == "apply":
            self.put(memory_id, content, type, *tags)
        return {"remembered": True, "memory_id": memory_id, "memory_type": type, "message": ""}

    def _prime(self, budget: int, format: str, **filters: Any) -> dict[str, Any]:
        return {
            "text": json.dumps(filters) if format == "json" else f"# Memories\n\nbudget {budget} {filters}",
            "receipt": {},
        }

    def _page(self, asked: dict[str, list[str]]) -> dict[str, Any]:
        unknown = asked.keys() - {"q", "type", "tag", "limit", "cursor"}
        assert not unknown, unknown
        limit, start = int(asked["limit"][0]), int(asked.get("cursor", ["0"])[0])
        if not 1 <= limit <= 200:
            raise Problem(400, "invalid_arguments", "limit must be at most 200.", fields={"limit": "at most 200"})
        found = [note for note in reversed(self.notes.values()) if _matches(note, asked)]
        following = str(start + limit) if start + limit < len(found) else None
        return {"items": found[start : start + limit], "next": following}

    def _note(self, id: str) -> dict[str, Any]:
        if id not in self.notes:
            raise Problem(404, "note_not_found", f"Note '{id}' not found.")
        return self.notes[id]

    def _import(self, body: bytes) -> dict[str, Any]:
        parsed = memories_md.read(body)
        new = [memory for memory in parsed.memories if memory.id not in self.notes]
        for memory in parsed.memories:
            day = memory.created or datetime.now(UTC).date()
            self.put(memory.id, memory.content, memory.type, *memory.tags, at=f"{day}T00:00:00+00:00")
        return {
            "proposal_id": 12,
            "status": "applied" if self.policy == "apply" else "open",
            "created": len(new),
            "updated": len(parsed.memories) - len(new),
            "unchanged": 0,
            "skipped": [{"line": skipped.line, "reason": skipped.reason} for skipped in parsed.skipped],
        }

    def _export(self) -> bytes:
        return memories_md.write(
            Memory(n["id"], n["type"], n["content"], tuple(n["tags"]), date.fromisoformat(n["created_at"][:10]))
            for n in self.notes.values()
        ).encode()


def _matches(note: dict[str, Any], asked: dict[str, list[str]]) -> bool:
    if "type" in asked and note["type"] != asked["type"][0]:
        return False
    if "tag" in asked and not set(asked["tag"]) & set(note["tags"]):
        return False
    words = re.findall(r"\w+", asked.get("q", [""])[0].lower())
    return not words or any(word in f"{note['content']} {note['tags']}".lower() for word in words)


class Handler(BaseHTTPRequestHandler):
    contract: Contract

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(
            self.command, unquote(url.path), parse_qs(url.query), body, self.headers.get("Content-Type", "")
        )
        self.contract.requests.append(request)
        if self.contract.fixed:
            self._send(*self.contract.fixed)
            return
        try:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Problem(401, "invalid_token", "The token is not accepted.")
            data = self.contract.answer(request)
        except Problem as problem:
            payload = {"ok": False, "text": f"Error: {problem.error['message']}", "error": problem.error}
            self._send(problem.status, "application/json", json.dumps(payload).encode())
            return
        if isinstance(data, bytes):
            self._send(200, "text/markdown; charset=utf-8", data)
        else:
            self._send(200, "application/json", json.dumps({"ok": True, "text": "", "data": data}).encode())

    do_POST = do_GET  # noqa: N815 - the name http.server looks for

    def _send(self, status: int, type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        if self.contract.location:
            self.send_header("Location", self.contract.location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Contract]:
    """The contract's server on a port of its own."""
    contract = Contract()
    handler = type("Bound", (Handler,), {"contract": contract})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        contract.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield contract
        finally:
            server.shutdown()
            thread.join()
