"""The memory of this installation itself, through the services, as its owner.

The only module of the command that imports Django, and only after `_start` has read the settings: `doltlite` has to
come before anything imports sqlite3.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from assent_client.cli.memories import ChangeResult, Failed, ImportResult, MemoryNotFound, PrimeFormat
from assent_client.text import memories_md
from memory_app.configuration.environment import UMASK

#: How often another id is tried when a new one is taken.
_TRIES = 5


class LocalMemories:
    """`Memories` of one owner, written in the owner's name.

    Args:
        owner: the username; there is no token here to tell.
    """

    def __init__(self, owner: str | None) -> None:
        if not owner:
            raise click.UsageError(
                "Say whose memory with --owner or MEMORY_OWNER (or set MEMORY_URL and MEMORY_TOKEN for a server)."
            )
        _start()
        from django.conf import settings

        if not settings.MEMORIES_ENABLED:
            raise Failed("Notes are switched off in this installation (MEMORIES_ENABLED is off).")
        from approvals.models import User
        from approvals.services.notes import ChangeContext

        with _failing():
            user = User.objects.filter(username=owner, is_active=True).first()
        if user is None:
            raise Failed(f"There is nobody called {owner}.")
        self._owner, self._by = user.username, ChangeContext(actor=user)

    def add(self, content: str, *, type: str, tags: Sequence[str]) -> ChangeResult:
        from approvals.services import notes
        from memory_app import reads

        with _failing():
            id = next(id for _ in range(_TRIES) if not reads.find_note(self._owner, id := memories_md.new_id()))
            made = notes.save(by=self._by, owner=self._owner, content=content, type=type, tags=tags, note_id=id)
        return ChangeResult(made.note_id, "known" if made.known else "applied")

    def get(self, id: str) -> memories_md.Memory:
        from memory_app import reads

        with _failing(id):
            return _memory(reads.note(self._owner, id))

    def delete(self, id: str) -> ChangeResult:
        from approvals.services import notes

        with _failing(id):
            done = notes.delete(by=self._by, owner=self._owner, note_id=id)
        return ChangeResult(id, "applied" if done.is_applied else "open")

    def export_file(self, *, portable: bool) -> bytes:
        from memory_app import reads
        from memory_app.reads.catalogue import portable_file

        with _failing():
            if portable:
                return portable_file(self._owner).encode()
            found = reads.memories(self._owner)
        return memories_md.write(found).encode()

    def find(self, query: str, *, type: str | None, tags: Sequence[str], limit: int | None) -> list[memories_md.Memory]:
        from approvals.pages import notes_page

        wanted = notes_page.Wanted(type=type, tags=tags)
        with _failing():
            if query:
                found, _index_behind = notes_page.search_notes(self._owner, query, wanted, most=limit)
            else:
                found = notes_page.newest(self._owner, wanted, most=limit)
        return [_memory(note) for note in found]

    def prime(
        self, *, budget: int, types: Sequence[str], tags: Sequence[str], recent: int | None, format: PrimeFormat
    ) -> str:
        from agent_tools.tools import guidance
        from memory_app.text.context_budget import ContextFilters

        filters = ContextFilters(types=types, tags=tags, recent=recent or 0)
        with _failing():
            return guidance.prime(self._owner, budget=budget, filters=filters, format=format).text

    def import_file(self, data: bytes, *, items: bool = False) -> ImportResult:
        from approvals.services import imports

        with _failing():
            came = imports.import_file(by=self._by, owner=self._owner, data=data, items=items)
        return ImportResult(
            status="applied" if came.outcome else "unchanged",
            created=came.created,
            updated=came.updated,
            unchanged=came.unchanged,
            skipped=tuple((skipped.line, skipped.reason) for skipped in came.skipped),
        )


def _start() -> None:
    """Read the settings of the project this command was installed from, and make Django ready."""
    os.umask(UMASK)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")
    if not (os.environ.get("ASSENT_SECRET_KEY") or os.environ.get("ASSENT_SECRET_KEY_FILE")):
        # Nothing is signed here: a key for this process alone does.
        os.environ["ASSENT_SECRET_KEY"] = secrets.token_urlsafe(50)
    os.environ.setdefault("ASSENT_LOG_LEVEL", "ERROR")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except (RuntimeError, ImproperlyConfigured) as error:  # DoltLite cannot be loaded, a setting is missing
        raise Failed(str(error)) from error


@contextmanager
def _failing(id: str = "") -> Iterator[None]:
    """Raise the services' exceptions as what the command says."""
    from django.db import InterfaceError, OperationalError, ProgrammingError

    from approvals.services.errors import Refusal
    from memory_app import reads

    try:
        yield
    except reads.NoteNotFound as error:
        raise MemoryNotFound(id or error.id) from error
    except Refusal as error:
        raise Failed(str(error)) from error
    except (reads.EngineUnavailable, OperationalError, InterfaceError, ProgrammingError) as error:
        raise Failed(f"The databases cannot be used: {error} (has `make setup` been run?)") from error


def _memory(note: Any) -> memories_md.Memory:
    return memories_md.Memory(note.id, note.type, note.content, note.tags, note.created_at.date())
