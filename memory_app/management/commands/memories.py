"""`manage.py memories add|list|drain|move|remove`: the databases of the memory."""

import io
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.template.defaultfilters import filesizeformat

from memory_app.databases.backups import BackupError
from memory_app.dolt import moving, placement
from memory_app.dolt.connections import branches, connect, settings_of
from memory_app.dolt.errors import DoltError
from memory_app.dolt.types import FIRST
from memory_app.management.commands import prepare
from memory_app.management.commands.prepare import require_prepared
from memory_app.models import MemoryDatabase, MemoryOwner


class Command(BaseCommand):
    help = "The databases of the memory: make another, list them, stop placing new owners in one, move or remove one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="make a database, to which new owners go; repeat it after a failure")
        add.add_argument("name", help="memory_2, for example")
        add.add_argument("--server", default="", help="a server of ASSENT_MEMORY_SERVERS (default: the first one)")
        verbs.add_parser("list", help="show the databases")
        drain = verbs.add_parser("drain", help="place no new owners there; those it has stay")
        drain.add_argument("name")
        drain.add_argument("--back", action="store_true", help="place new owners there again")
        move = verbs.add_parser("move", help="move a database to another server; repeat it after a failure")
        move.add_argument("name")
        move.add_argument("server", help="a server of ASSENT_MEMORY_SERVERS, or 'first'")
        move.add_argument("--folder", type=Path, help="a folder both servers see under this path, for the copy")
        move.add_argument("--drop", action="store_true", help="drop the database that is left where it was")
        remove = verbs.add_parser("remove", help="drop a drained database in which no owner ever was")
        remove.add_argument("name")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        require_prepared()
        given = {name: options[name] for name in ("name", "server", "back", "folder", "drop") if name in options}
        try:
            getattr(self, f"_{verb}")(**given)
        except (DatabaseError, DoltError, BackupError) as error:
            raise CommandError(f"{' '.join(str(error).split())} Repeat the command once that is fixed.") from error

    def _add(self, name: str, server: str) -> None:
        if not placement.NAME.fullmatch(name) or name == FIRST:
            raise CommandError(f"A database is called {FIRST}_ and up to 20 letters or digits, such as {FIRST}_2.")
        server = _server(server)
        if not MemoryDatabase.objects.filter(name=name).exists():
            moving.create_database(name, server)
            with connect(name, server) as there:
                if contents := there.dolt.contents():
                    raise CommandError(f"There is something of that name already: {contents}. Choose another name.")
        made, is_new = MemoryDatabase.objects.get_or_create(
            name=name, defaults={"server": server, "takes_owners": False, "epoch": -1}
        )
        if made.server != server:
            raise CommandError(f"{name} is on server {made.server or 'first'} already; `memories move` moves it.")
        if made.epoch >= 0:
            self.stdout.write(f"{name} is there already.")
            return
        placement.look_again()
        moving.create_database(name, server)
        prepare.migrate_memory(name)
        for each in MemoryDatabase.objects.all():
            placed = MemoryOwner.objects.filter(database=each).count()
            MemoryDatabase.objects.filter(pk=each.pk).update(owners=placed)
        MemoryDatabase.objects.filter(name=name).update(epoch=0, takes_owners=True)
        self.stdout.write(f"{name} is made{'' if is_new else ' ready'}: new owners go where there are fewest.")

    def _list(self) -> None:
        for each in MemoryDatabase.objects.all():
            owners = MemoryOwner.objects.filter(database=each).count()
            where = "" if settings.EMBEDDED_MEMORY else f" on {each.server or 'first'}"
            self.stdout.write(f"{each.name}{where}: {owners} owners, {_what_is_there(each.name)}, {_state(each)}")

    def _drain(self, name: str, back: bool) -> None:
        if not back and not MemoryDatabase.objects.filter(takes_owners=True).exclude(name=name).exists():
            raise CommandError("It is the only one that takes new owners: add another database first.")
        MemoryDatabase.objects.filter(pk=_known(name).pk).update(takes_owners=back)
        self.stdout.write(f"{name} takes new owners again." if back else f"{name} takes no new owners any more.")

    def _move(self, name: str, server: str, folder: Path | None, drop: bool) -> None:
        if settings.EMBEDDED_MEMORY:
            raise CommandError(
                "Embedded databases are files of one folder and do not move by themselves. To move the whole site, "
                "stop it and move ASSENT_DATA_DIR; `manage.py move` moves it to servers."
            )
        to = _server(server)
        was = _known(name).server
        if was == to:
            self.stdout.write(f"{name} is on {server} already.")
            return
        if folder is None:
            raise CommandError("Name a --folder that both servers see under the same path, such as a shared volume.")
        self.stdout.write(f"{name} is being moved. Its owners can read; their writes wait for some seconds.")
        left = moving.move(name, to, folder.absolute())
        # What was committed and not acknowledged: soon, as the ledger is only compared with the newest commits.
        call_command("recover", stdout=io.StringIO())
        if drop:
            time.sleep(moving.SETTLES)  # others may still read it
            moving.drop_database(left, was)
        what = "dropped" if drop else "left: drop it once you trust the new place"
        self.stdout.write(f"{name} is on {server}. On {was or 'first'}, `{left}` is {what}.")

    def _remove(self, name: str) -> None:
        row = MemoryDatabase.objects.filter(name=name).exclude(name=FIRST).first()
        if row is None or MemoryOwner.objects.filter(database=row).exists():
            raise CommandError(f"{name} cannot be removed: it is the first one, has owners, who stay, or is not there.")
        if row.takes_owners:
            raise CommandError(f"{name} takes new owners: run `memories drain {name}` first.")
        MemoryDatabase.objects.filter(pk=name).update(epoch=-1)  # from here on no process opens it
        placement.look_again()
        time.sleep(moving.SETTLES)
        if settings.EMBEDDED_MEMORY:
            file = Path(settings_of(name, "")["NAME"])
            for path in file.parent.glob(f"{file.name}*"):
                path.unlink(missing_ok=True)
        else:
            moving.drop_database(settings_of(name, row.server)["NAME"], row.server)
        row.delete()
        self.stdout.write(f"{name} is removed.")


def _server(called: str) -> str:
    """Return the server of this name as `MemoryDatabase.server` has it. Raises CommandError."""
    if called in ("", "first"):
        return ""
    if settings.EMBEDDED_MEMORY or called not in settings.MEMORY_SERVERS:
        raise CommandError(f"ASSENT_MEMORY_SERVERS has no server {called}.")
    return called


def _known(name: str) -> MemoryDatabase:
    if name not in placement.databases():
        raise CommandError(f"There is no database {name}; `memories list` shows those there are.")
    return MemoryDatabase.objects.get(name=name)


def _what_is_there(name: str) -> str:
    try:
        found = f"{len(branches(name))} branches"
    except (DatabaseError, DoltError) as error:
        return f"does not answer ({type(error).__name__})"
    if settings.EMBEDDED_MEMORY:
        found += f", {filesizeformat(Path(settings_of(name, '')['NAME']).stat().st_size)}"
    return found


def _state(database: MemoryDatabase) -> str:
    if database.epoch < 0:
        return "being made: repeat `memories add`"
    if placement.is_moving(database.name):
        return "being moved"
    return "takes new owners" if database.takes_owners else "drained"
