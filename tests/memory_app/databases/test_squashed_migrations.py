"""A new site begins at squashed migrations, and has the tables that an older one has after each of the migrations."""

import pytest
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader

pytestmark = pytest.mark.pure


def test_squashed_migrations_leave_what_those_they_replace_leave() -> None:
    one_by_one = MigrationLoader(None, replace_migrations=False)
    squashed = MigrationLoader(None)
    states = [
        loader.project_state(
            [node for node in loader.graph.leaf_nodes() if "squashed" not in node[1] or loader is squashed]
        )
        for loader in (one_by_one, squashed)
    ]
    assert len(states[0].models) == len(states[1].models) > 20
    for old, new in (states, states[::-1]):
        assert MigrationAutodetector(old, new).changes(squashed.graph) == {}


def test_what_is_squashed_is_replaced_without_a_gap() -> None:
    loader = MigrationLoader(None)
    for (app, name), migration in loader.disk_migrations.items():
        if migration.replaces:
            of_app = sorted(other for label, other in loader.disk_migrations if label == app and other != name)
            assert [other for _, other in migration.replaces] == of_app[: len(migration.replaces)]
            assert name.endswith(f"_squashed_{migration.replaces[-1][1][:4]}")
