"""The system checks that refuse an arrangement of databases on which Assent would be wrong."""

import shutil
import sys
from pathlib import Path

import pytest
from django.test import override_settings

from memory_app.configuration.checks import databases_are_shared
from tests import environment
from tests.support.places import manage, run
from tests.support.sites import prepared

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
    from doltlite import libdoltlite_path

    place = {"ASSENT_DATA_DIR": str(tmp_path), "DATABASE_URL": "", "LD_PRELOAD": str(libdoltlite_path())}
    beside = {"MEMORY_DATABASE_URL": "mysql://nobody@127.0.0.1:1/memory"}
    done = manage("migrate", "-v", "0", "--skip-checks", "--database", "default", **place, **beside)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "assent.sqlite3").read_bytes().startswith(b"SQLite format 3\0")


#: A site's key, and that of a machine which was set up by itself.
KEY, OTHER_KEY = ("".join(f"{letter}{number}" for number in range(20)) for letter in "ab")
_SIGN_IN = """
from django.contrib.auth import SESSION_KEY
from approvals.accounts.sessions import SessionStore
from approvals.models import User
session = SessionStore()
session[SESSION_KEY] = User.objects.create_user("alice").pk
session.save()
"""


@pytest.mark.slow
def test_a_machine_with_another_key_is_told_so_before_it_serves(tmp_path: Path) -> None:
    place = {**dict.fromkeys(("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "ASSENT_DEBUG"), "")}
    shutil.copytree(prepared(), tmp_path / "data")
    place |= {"ASSENT_DATA_DIR": str(tmp_path / "data"), "ASSENT_SECRET_KEY": KEY}
    for command in (("shell", "--no-imports", "-c", _SIGN_IN), ("prepare",)):
        done = manage(*command, **place)
        assert (done.returncode, "memory_app.W003" in done.stderr) == (0, False), done.stderr
    done = manage("prepare", **place | {"ASSENT_SECRET_KEY": OTHER_KEY})
    assert done.returncode == 0
    assert "memory_app.W003" in done.stderr
    assert "All machines of a site need the same one" in done.stderr


@pytest.mark.parametrize(
    ("is_file", "other", "missing"),
    [
        (False, "postgres://x", ""),
        (True, "", ""),
        (True, "postgres://x", "MEMORY_DATABASE_URL"),
        (False, "", "DATABASE_URL"),
    ],
)
def test_half_a_server_edition_is_said_to_be_for_one_machine(is_file: bool, other: str, missing: str) -> None:
    with override_settings(EMBEDDED_MEMORY=is_file, DATABASE_URL=other):
        hints = [str(message.hint) for message in databases_are_shared()]
    assert len(hints) == bool(missing)
    assert all(f"Set {missing} before there are two" in hint for hint in hints)
