"""The memory on a server, over the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, cast

import httpx2

from assent_client import errors
from assent_client.answers import Answer
from assent_client.cli.memories import ChangeResult, Failed, ImportResult, MemoryNotFound, PrimeFormat
from assent_client.client import Assent
from assent_client.core import OwnerNotKnown
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory

#: Items asked for at once; the API gives no more.
_PAGE = 200
#: How often another id is tried when a new one is taken.
_TRIES = 5
_TIMEOUT = httpx2.Timeout(60, connect=10)
#: A person at a terminal would rather be told than wait.
_RETRIES = 1


class ServerRefused(Failed):
    """The server's refusal.

    Attributes:
        code: its error code.
        fields: the arguments it did not like.
    """

    def __init__(self, error: errors.APIStatusError) -> None:
        self.status = error.status_code
        self.code = error.code
        fields = error.details.get("fields")
        self.fields = fields if isinstance(fields, dict) else {}
        # The message names a tool, which a person who types a command does not know.
        told = "; ".join(f"{name} {reason}" for name, reason in self.fields.items()) if self.fields else ""
        said = f"{told[:1].upper()}{told[1:]}." if told else error.message
        super().__init__(said or f"The server answered {self.status}.")


class RemoteMemories:
    """`Memories` of one owner, through a token.

    Args:
        url: of the server, with or without a path below which it is served.
        owner: may be left out when the token serves one owner only.
        tell: gets what people decided about the agent's proposals. The server says it beside one answer and then counts
            it as told, so that nobody else with this token would hear of it.
    """

    def __init__(
        self, url: str, token: str, owner: str | None = None, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._url = url.rstrip("/")
        self._tell = tell
        with self._failing():
            self._client = Assent(url, token, owner, timeout=_TIMEOUT, max_retries=_RETRIES)

    def add(self, content: str, *, type: str, tags: Sequence[str]) -> ChangeResult:
        for attempt in range(1, _TRIES + 1):
            id = memories_md.new_id()
            try:
                with self._failing():
                    made = self._client.notes.remember(content, type=cast(Any, type), tags=tags, memory_id=id)
            except ServerRefused as refusal:
                if "memory_id" in refusal.fields and attempt < _TRIES:
                    continue
                raise
            break
        self._tell_decisions(made)
        return _outcome(str(made.data.get("memory_id", id)), made.data)

    def find(self, query: str, *, type: str | None, tags: Sequence[str], limit: int | None) -> list[Memory]:
        found: list[Memory] = []
        most = min(_PAGE, limit or _PAGE)
        with self._failing():
            first = self._client.notes.list(q=query or None, type=cast(Any, type or None), tag=tags, limit=most)
            for page in first.pages():
                found += map(_memory, page.data["items"])
                if limit is not None and len(found) >= limit:
                    break
        return found[:limit]

    def get(self, id: str) -> Memory:
        _require_id(id)
        with self._failing(id):
            return _memory(self._client.notes.get(id).data)

    def delete(self, id: str) -> ChangeResult:
        _require_id(id)
        with self._failing(id):
            made = self._client.notes.delete(id)
        self._tell_decisions(made)
        return _outcome(id, made.data)

    def prime(
        self, *, budget: int, types: Sequence[str], tags: Sequence[str], recent: int | None, format: PrimeFormat
    ) -> str:
        with self._failing():
            primed = self._client.notes.prime(
                budget=budget, format=format, types=cast(Any, types or None), tags=tags or None, recent=recent
            )
            text = str(primed.data["text"])
        self._tell_decisions(primed)
        return text

    def import_file(self, data: bytes, *, items: bool = False) -> ImportResult:
        # Sent once: a whole memory takes minutes, and importing it again is a person's decision.
        client = self._client.with_options(max_retries=0)
        try:
            with self._failing():
                answer = client.notes.import_file(data, items=items)
                came = answer.data
                done = ImportResult(
                    status=str(came["status"]),
                    **{name: int(came[name]) for name in ("created", "updated", "unchanged")},
                    skipped=tuple((int(skipped["line"]), str(skipped["reason"])) for skipped in came["skipped"]),
                    proposal_id=came.get("proposal_id"),
                    review_url=str(came.get("review_url") or ""),
                )
        except ServerRefused as refusal:
            if refusal.code != "timeout":
                raise
            advice = "Import the file again: nothing is doubled. If that takes too long as well, split it."
            raise Failed(f"{refusal} {advice}") from refusal
        self._tell_decisions(answer)
        return done

    def export_file(self, *, portable: bool) -> bytes:
        with self._failing():
            return self._client.notes.export_file(portable=portable)

    def _tell_decisions(self, answer: Answer) -> None:
        """Tell what the answer says beside its own text; what an older or newer server says otherwise is left out."""
        decisions = answer.data.get("decisions")
        items = decisions.get("items") if isinstance(decisions, dict) else None
        if not isinstance(decisions, dict) or not isinstance(items, list) or not items:
            return
        lines = [f"- {item['text']}" for item in items if isinstance(item, dict) and "text" in item]
        if decisions.get("left_out"):
            lines.append(f"({decisions['left_out']} more: list_proposals with decided_since {decisions.get('next')}.)")
        self._tell("\n".join(["Decided since you were last told:", *lines]))

    @contextmanager
    def _failing(self, id: str = "") -> Iterator[None]:
        """Raise what the client raises as a sentence for people.

        Args:
            id: the memory asked for, which a 404 is about.
        """
        try:
            yield
        except errors.APITimeoutError as error:
            raise Failed(f"{self._url} did not answer in time; what was asked may still be done.") from error
        except errors.APIConnectionError as error:
            raise Failed(
                f"{self._url} cannot be reached: {error.__cause__ or error}. Is the server running?"
            ) from error
        except httpx2.InvalidURL as error:
            raise Failed(f"{self._url} cannot be reached: {error}") from error
        except errors.APIStatusError as error:
            raise self._refused(error, id) from error
        except errors.APIResponseValidationError as error:
            raise Failed(f"{str(error).removesuffix('.')}: check MEMORY_URL.") from error
        except OwnerNotKnown as error:
            raise Failed(f"{error.served}: say whose memory with --owner or MEMORY_OWNER.") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Failed(
                f"{self._url} answers in a way this command does not know: it may be older or newer."
            ) from error

    def _refused(self, error: errors.APIStatusError, id: str) -> Failed:
        if not error.code:
            told = error.message.removesuffix(".")
            return Failed(f"{told}: {'change' if error.status_code < 400 else 'check'} MEMORY_URL.")
        # `not_found` is an address this server does not have, not a memory.
        if id and error.status_code == 404 and error.code != "not_found":
            return MemoryNotFound(id)
        return ServerRefused(error)


def _require_id(id: str) -> None:
    # Nothing else can be the id of a memory, and "../.." would be another address.
    if not memories_md.is_id(id):
        raise MemoryNotFound(id)


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
