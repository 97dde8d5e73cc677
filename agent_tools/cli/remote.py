"""The memory on a server, over the agent API."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, Literal
from urllib.parse import quote

import httpx

from agent_tools.cli.memories import ChangeResult, Failed, ImportResult, MemoryNotFound
from memory_app.runtime.progress import Reporter, Stage
from memory_app.text import memories_md
from memory_app.text.memories_md import Memory

#: Items asked for at once; the API gives no more.
_PAGE = 200
#: How often another id is tried when a new one is taken.
_TRIES = 5
#: Seconds between two looks at how far an import has come, and how long one may take.
_PACE, _LOOK = 0.4, 5.0
_TIMEOUT = httpx.Timeout(60, connect=10)
# A file is one commit; a person would rather wait than not know what became of it. Longer than the server takes before
# it says that its time is up.
_WHOLE_MEMORY = httpx.Timeout(660, connect=10)


class ServerRefused(Failed):
    """The server's refusal.

    Attributes:
        code: its error code.
        fields: the arguments it did not like.
    """

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        details = error.get("details")
        self.fields = details.get("fields", {}) if isinstance(details, dict) else {}
        # The message names a tool, which a person who types a command does not know.
        told = "; ".join(f"{name} {reason}" for name, reason in self.fields.items()) if self.fields else ""
        said = f"{told[:1].upper()}{told[1:]}." if told else str(error.get("message", ""))
        super().__init__(said or f"The server answered {status}.")


class RemoteMemories:
    """`Memories` of one owner, through a token.

    Args:
        url: of the server, with or without a path below which it is served.
        owner: may be left out when the token serves one owner only.
    """

    def __init__(self, url: str, token: str, owner: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._owner = owner
        # Redirects are not followed: the token is for this address.
        self._http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT)

    def add(self, content: str, *, type: str, tags: Sequence[str]) -> ChangeResult:
        for attempt in range(1, _TRIES + 1):
            id = memories_md.new_id()
            try:
                data = self._run("remember", content=content, type=type, tags=list(tags), memory_id=id)
            except ServerRefused as refusal:
                if "memory_id" in refusal.fields and attempt < _TRIES:
                    continue
                raise
            break
        return _outcome(str(data.get("memory_id", id)), data)

    def find(self, query: str, *, type: str | None, tags: Sequence[str], limit: int | None) -> list[Memory]:
        asked: dict[str, Any] = {"tag": list(tags)}
        if query:
            asked["q"] = query
        if type:
            asked["type"] = type
        found: list[Memory] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            wanted = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page = self._get("notes/", asked | {"limit": wanted} | ({"cursor": cursor} if cursor else {}))
            with self._understanding():
                found += [_memory(item) for item in page["items"]]
                cursor = page["next"]
            if not cursor:
                break
        return found[:limit]

    def get(self, id: str) -> Memory:
        _require_id(id)
        try:
            note = self._get(f"notes/{id}/", {})
        except ServerRefused as refusal:
            raise _not_found(refusal, id) from refusal
        with self._understanding():
            return _memory(note)

    def delete(self, id: str) -> ChangeResult:
        _require_id(id)
        try:
            data = self._run("memory_delete", note_id=id)
        except ServerRefused as refusal:
            raise _not_found(refusal, id) from refusal
        return _outcome(id, data)

    def prime(
        self,
        *,
        budget: int,
        types: Sequence[str],
        tags: Sequence[str],
        recent: int | None,
        format: Literal["markdown", "json"],
    ) -> str:
        asked = {"types": list(types) or None, "tags": list(tags) or None, "recent": recent}
        data = self._run("prime_memories", budget=budget, format=format, **asked)
        with self._understanding():
            return str(data["text"])

    def import_file(self, data: bytes, show: Reporter | None) -> ImportResult:
        key = secrets.token_urlsafe(16)
        address = self._address("memories.md")
        try:
            with self._watching(self._address(f"imports/{key}/"), show):
                answer = self._http_request(
                    "POST",
                    address,
                    content=data,
                    headers={"Content-Type": "text/markdown; charset=utf-8", "Progress-Key": key},
                    timeout=_WHOLE_MEMORY,
                )
        except ServerRefused as refusal:
            if refusal.code != "timeout":
                raise
            advice = "Import the file again: nothing is doubled. If that takes too long as well, split it."
            raise Failed(f"{refusal} {advice}") from refusal
        came = _data(answer)
        with self._understanding():
            return ImportResult(
                status=str(came["status"]),
                created=_count(came["created"]),
                updated=_count(came["updated"]),
                unchanged=_count(came["unchanged"]),
                skipped=tuple((int(skipped["line"]), str(skipped["reason"])) for skipped in came["skipped"]),
                proposal_id=came.get("proposal_id"),
                review_url=str(came.get("review_url") or ""),
            )

    def export_file(self, *, portable: bool) -> bytes:
        asked = {"portable": "true"} if portable else {}
        answer = self._http_request("GET", self._address("memories.md"), params=asked, timeout=_WHOLE_MEMORY)
        if not answer.headers.get("Content-Type", "").startswith("text/markdown"):
            raise _no_assent(answer)
        return answer.content

    # -- requests ---------------------------------------------------------------------------------

    def _run(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Run a tool; None stands for an argument left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        if self._owner:
            given["user_id"] = self._owner
        return _data(self._http_request("POST", f"{self._url}/api/v1/tools/{tool}/", json=given))

    def _get(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        return _data(self._http_request("GET", self._address(path), params=asked))

    def _address(self, path: str) -> str:
        """Return the address of something of the owner's."""
        if not self._owner:
            self._owner = self._only_owner()
        return f"{self._url}/api/v1/users/{quote(self._owner, safe='')}/{path}"

    @contextmanager
    def _watching(self, address: str, show: Reporter | None) -> Iterator[None]:
        """Poll the progress of what is done inside. A failure of polling does not stop it."""
        if show is None:
            yield
            return
        is_over = threading.Event()
        asking = threading.Thread(target=self._ask_for_progress, args=(address, show, is_over), daemon=True)
        asking.start()
        try:
            yield
        finally:
            is_over.set()
            asking.join(_LOOK)

    def _ask_for_progress(self, address: str, show: Reporter, is_over: threading.Event) -> None:
        # A client of its own: the other one's connection is busy, and it is for one thread.
        with httpx.Client(headers=self._http.headers, timeout=_LOOK) as http:
            while not is_over.wait(_PACE):
                try:
                    came = _data(http.get(address))
                    stage = Stage(came["stage"]) if came["state"] == "running" else None
                    done, of = int(came["done"]), int(came["of"])
                except httpx.HTTPError:
                    continue
                except (Failed, KeyError, TypeError, ValueError):
                    return  # a server that is older or newer
                if stage and not is_over.is_set():
                    show(stage, done, of)

    @contextmanager
    def _understanding(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise Failed(
                f"{self._url} answers in a way this command does not know: it may be older or newer."
            ) from error

    def _only_owner(self) -> str:
        served = _data(self._http_request("GET", f"{self._url}/api/v1/token/"))
        owners = served.get("owners") or []
        if served.get("all_owners") or len(owners) != 1:
            whom = "several owners" if served.get("all_owners") or owners else "nobody"
            raise Failed(f"This token serves {whom}: say whose memory with --owner or MEMORY_OWNER.")
        return str(owners[0])

    def _http_request(self, method: str, url: str, **more: Any) -> httpx.Response:
        """Return the answer. Raise ServerRefused for an error of the API, Failed for anything else that is not 2xx."""
        try:
            answer = self._http.request(method, url, **more)
        except httpx.TimeoutException as error:
            raise Failed(f"{self._url} did not answer in time; what was asked may still be done.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Failed(f"{self._url} cannot be reached: {error}") from error
        if answer.is_redirect:
            raise Failed(f"{url} has moved to {answer.headers.get('Location')}: change MEMORY_URL.")
        if not answer.is_success:
            payload = _payload(answer)
            if not isinstance(payload.get("error"), dict):
                raise _no_assent(answer)
            raise ServerRefused(answer.status_code, payload["error"])
        return answer


def _payload(answer: httpx.Response) -> dict[str, Any]:
    try:
        payload = answer.json()
    except ValueError as error:
        raise _no_assent(answer) from error
    if not isinstance(payload, dict):
        raise _no_assent(answer)
    return payload


def _data(answer: httpx.Response) -> dict[str, Any]:
    data = _payload(answer).get("data")
    if not isinstance(data, dict):
        raise _no_assent(answer)
    return data


def _no_assent(answer: httpx.Response) -> Failed:
    return Failed(f"{answer.url} answered {answer.status_code}, but not as Assent does: check MEMORY_URL.")


def _require_id(id: str) -> None:
    # Nothing else can be the id of a memory, and "../.." would be another address.
    if not memories_md.is_id(id):
        raise MemoryNotFound(id)


def _not_found(refusal: ServerRefused, id: str) -> Failed:
    # `not_found` is an address this server does not have, not a memory.
    return MemoryNotFound(id) if refusal.status == 404 and refusal.code != "not_found" else refusal


def _memory(item: dict[str, Any]) -> Memory:
    return Memory(
        id=str(item["id"]),
        type=str(item["type"]),
        content=str(item["content"]),
        tags=tuple(str(tag) for tag in item["tags"]),
        created=date.fromisoformat(str(item["created_at"])[:10]),
    )


def _outcome(id: str, data: dict[str, Any]) -> ChangeResult:
    return ChangeResult(id, str(data.get("status", "applied")), str(data.get("review_url") or ""))


def _count(number: Any) -> int | None:
    return None if number is None else int(number)
