"""The system checks that refuse an arrangement of databases on which Assent would be wrong."""

import sys
from pathlib import Path

import pytest

from memory_app.dolt.library import library_path
from tests import environment
from tests.support.places import manage, run

pytestmark = [pytest.mark.pure, pytest.mark.one_leg]

#: `default` opened without the parameter that asks DoltLite for stock SQLite is a DoltLite database.
_CHECK = """
import sys
from memory_app import settings
if "dolt" in sys.argv:
    settings.DATABASES["default"]["NAME"] = str(settings.DATA_DIR / "default.doltlite")
    del settings.DATABASES["default"]["OPTIONS"]["init_command"]
import django
django.setup()
from memory_app.configuration.checks import default_is_not_dolt
print([message.id for message in default_is_not_dolt(databases=["default"])])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("served_by", "found"), [("sqlite", "[]"), ("dolt", "['memory_app.E004']")])
def test_a_default_database_served_by_dolt_is_refused(tmp_path: Path, served_by: str, found: str) -> None:
    servers = dict.fromkeys(("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL"), "")
    place = servers | {"ASSENT_DEBUG": "1", "ASSENT_DATA_DIR": str(tmp_path)}
    done = run([sys.executable, "-c", _CHECK, served_by], place | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="LD_PRELOAD is Linux's")
@pytest.mark.skipif(not environment.is_embedded(), reason="DoltLite is loaded by the embedded edition")
def test_the_default_database_is_sqlite_although_doltlite_is_preloaded_beside_a_memory_on_a_server(
    tmp_path: Path,
) -> None:
    place = {"ASSENT_DATA_DIR": str(tmp_path), "DATABASE_URL": "", "LD_PRELOAD": library_path()}
    beside = {"MEMORY_DATABASE_URL": "mysql://nobody@127.0.0.1:1/memory"}
    done = manage("migrate", "-v", "0", "--skip-checks", "--database", "default", **place, **beside)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "assent.sqlite3").read_bytes().startswith(b"SQLite format 3\0")
