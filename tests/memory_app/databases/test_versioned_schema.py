"""The versioned tables grow in ways that leave branches made before mergeable."""

from importlib import import_module
from pkgutil import iter_modules

import pytest
from django.db.migrations.operations import AddField, RemoveField
from django.db.models import NOT_PROVIDED

from memory_app import migrations
from memory_app.databases.routers import VERSIONED

pytestmark = pytest.mark.pure


def test_columns_added_to_versioned_tables_are_nullable_or_have_a_default() -> None:
    """Dolt merges a branch without such a column; one that has to have a value and has none cannot be merged."""
    for module in iter_modules(migrations.__path__):
        migration = import_module(f"memory_app.migrations.{module.name}").Migration
        for operation in migration.operations:
            if getattr(operation, "model_name", "").lower() not in VERSIONED:
                continue
            assert not isinstance(operation, RemoveField), f"{module.name}: branches made before have {operation.name}"
            if isinstance(operation, AddField):
                may_be_missing = operation.field.null or operation.field.db_default is not NOT_PROVIDED
                assert may_be_missing, f"{module.name}: {operation.name}"
