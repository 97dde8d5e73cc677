"""System checks: `memory` really is Dolt and `default` is not."""

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections
from django.db.utils import Error as DatabaseError

from memory_app import sealing
from memory_app.configuration import environment
from memory_app.dolt.connections import MEMORY
from memory_app.dolt.errors import NotDolt
from memory_app.dolt.wrapper import MemoryWrapper


@register(Tags.database)
def memory_is_dolt(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    if MEMORY not in (databases or ()):
        return []
    try:
        cast(MemoryWrapper, connections[MEMORY]).dolt.version()  # `default` may not be migrated yet
    except NotDolt as error:
        hint = "Point MEMORY_DATABASE_URL at a Dolt sql-server, or leave it empty for DoltLite."
        return [Error(f"The `memory` database is not Dolt: {error}.", hint=hint, id="memory_app.E002")]
    except DatabaseError as error:
        return [Error(f"The `memory` database does not answer: {error}", id="memory_app.E003")]
    return []


@register(Tags.database)
def default_is_not_dolt(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Dolt merges identical cell writes, so a compare-and-swap has several winners there.

    DATABASE_URL takes PostgreSQL alone; DoltLite may stand in for SQLite.
    """
    connection = connections["default"]
    if "default" not in (databases or ()) or connection.vendor != "sqlite":
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT doltlite_engine()")
            if cursor.fetchone()[0] == "orig":
                return []
    except DatabaseError:
        return []  # no such function: SQLite itself
    said = "The `default` database is served by Dolt, which merges concurrent updates: compare-and-swap does not hold."
    return [Error(said, hint="Use SQLite or PostgreSQL for DATABASE_URL.", id="memory_app.E004")]


@register(Tags.database)
def databases_are_shared(**kwargs: Any) -> list[CheckMessage]:
    """Warn where one database is a server, which other machines may use, and the other a file of this machine."""
    if (not settings.DATABASE_URL) == settings.EMBEDDED_MEMORY:
        return []
    missing = "MEMORY_DATABASE_URL" if settings.EMBEDDED_MEMORY else "DATABASE_URL"
    said = f"Only this machine may serve the site: one database is a file in {settings.DATA_DIR}, the other a server."
    hint = f"Set {missing} before there are two machines: each would take what the other did for damage."
    return [Warning(said, hint=hint, id="memory_app.W002")]


@register(Tags.database)
def key_signs_the_sessions(**kwargs: Any) -> list[CheckMessage]:
    """Warn where another key signed the newest session: this machine would sign out whoever comes to it."""
    sessions = import_module(settings.SESSION_ENGINE).SessionStore
    with suppress(DatabaseError):  # not migrated yet
        newest = sessions.get_model_class().objects.exclude(user=None).order_by("-expire_date").first()
        if newest is not None and not sessions().decode(newest.session_data):
            said = "ASSENT_SECRET_KEY is not the key that signed the newest session."
            hint = "All machines of a site need the same one. If it was changed on all, everybody signs in once more."
            return [Warning(said, hint=hint, id="memory_app.W003")]
    return []


@register(Tags.database)
def key_opens_the_texts(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    if "default" not in (databases or ()) or sealing.is_ours():
        return []
    return [Error(str(sealing.WrongTextKey()), id="memory_app.E005")]


@register(Tags.security)
def data_is_private(**kwargs: Any) -> list[CheckMessage]:
    """Warn of what the settings do not close by themselves: a folder or file of another user, or open to all."""
    if not settings.EMBEDDED_MEMORY and settings.DATABASE_URL:
        return []
    hint = "Memories, sessions and password hashes are kept there: give it to the user who runs Assent, mode {}."
    return [
        Warning(
            f"{path} may be used by other users of this machine.",
            hint=hint.format("0700" if path.is_dir() else "0600"),
            id="memory_app.W001",
        )
        for path in environment.exposed(settings.DATA_DIR)
    ]
