"""Which database serves which model, failing closed for the memory."""

from typing import Any

from django.db.models import Model

from memory_app.dolt.connections import MEMORY, is_writable
from memory_app.dolt.errors import WriteOutsideCommit

#: Model names (lower case) of the versioned tables, that of notes also as the first migrations know it. They are the
#: only ones on `memory`.
VERSIONED = frozenset({"memoryblock", "memorynote", "note"})


def is_versioned(model: type[Model]) -> bool:
    return model._meta.app_label == "memory_app" and model._meta.model_name in VERSIONED


class MemoryRouter:
    """Reads of versioned models go to `memory`; writes only while `dolt_transaction` holds it open.

    An instance read from a branch and saved later would leave uncommitted rows on main, and the next
    commit would include them under another person's name.
    """

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        return MEMORY if is_versioned(model) else None

    def db_for_write(self, model: type[Model], **hints: Any) -> str | None:
        if not is_versioned(model):
            return None
        if not is_writable():
            raise WriteOutsideCommit(f"{model.__name__} is written through memory_app.writing.commits only")
        return MEMORY

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool | None:
        # Not type(): `request.user` is a lazy object, whose type is no model.
        return is_versioned(one.__class__) == is_versioned(other.__class__)

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool:
        versioned = app_label == "memory_app" and model_name in VERSIONED
        return versioned == (db == MEMORY)
