"""Copy both databases while the site runs, as a consistent pair.

`default` first, then the memory: `recover` can read missing rows from the memory's log, but it cannot restore missing
commits. With the memory first, approved texts were lost: 12 to 18 problems that `recover` could not fix.
"""

import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core import serializers
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.db.models import Count, Q
from django.utils import timezone

from approvals.models import Agent, Proposal, User
from approvals.recovery.integrity import missing_from_memory, problems
from approvals.recovery.recover import RecoveryReport, recover
from approvals.services import erasing
from memory_app import sealing
from memory_app.databases import backups, clock
from memory_app.databases.backups import BackupError, CopyFailed, Manifest
from memory_app.dolt import moving, placement
from memory_app.dolt.connections import connect, dolt_of, settings_of, standing_on
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.dolt.placement import databases, place_of
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryDatabase, Message, SearchIndex, TextKey
from memory_app.runtime import deadlines, records, upkeep

log = structlog.get_logger(__name__)

PARTIAL = ".partial"
#: The file of a backup with the keys that may not be in its copy of `default`.
_ROOTS = "text_keys.json"
#: How much the clocks of machines may differ.
_MARGIN = timedelta(minutes=10)
#: Seconds that recording when a backup was made may take: it is made all the same.
_SECONDS = 5.0


def backup(folder: Path) -> Manifest:
    """Write a backup of both databases into `folder`.

    The folder appears under this name when the backup is complete. An interrupted backup leaves a folder next to it
    whose name ends in `.partial`.

    Args:
        folder: must be missing or empty.

    Raises:
        BackupError: the folder is not empty, a database could not be copied, or a memory was added, moved or squashed
            meanwhile; all files are removed then.
    """
    folder, began_at = folder.absolute(), timezone.now()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupError(
            f"{folder} is not empty: name a new folder, for example {folder}/{began_at:%Y-%m-%dT%H%M%SZ}."
        )
    verbs = dolt_of(FIRST)
    with _atomic_folder(folder) as partial, _settled():
        version = ".".join(map(str, connection.get_database_version()))
        default = _describe("default", connection.vendor, version, backups.copy_name())
        with standing_on(FIRST):
            memory = _describe("memory", verbs.engine, verbs.version(), verbs.copy_name)
        backups.back_up_default(partial / default.copy)
        head = verbs.head()
        commits, branches = len(verbs.log(head)), len(verbs.branches())
        verbs.back_up(partial / memory.copy)
        further = {database: _copy_further(database, partial) for database in databases()[1:]}
        _copy_roots(partial / _ROOTS, since=began_at - _MARGIN)
        manifest = Manifest(
            began_at=began_at.isoformat(timespec="seconds"),
            made_at=timezone.now().isoformat(timespec="seconds"),
            default=default,
            memory=memory,
            head=head,
            commits=commits,
            branches=branches,
            further=further,
            format=backups.FORMAT if further else 1,
            last_ids=backups.last_ids(),
            counts=_counts(),
            files={
                str(path.relative_to(partial)): backups.fingerprint(path) for path in sorted(backups.files_in(partial))
            },
        )
        manifest.write(partial)
    log.info("backup_made", folder=str(folder), head=manifest.head, commits=manifest.commits)
    with deadlines.briefly(_SECONDS, "backup_not_recorded"):
        records.note(records.BACKUP)
    return manifest


@contextmanager
def _settled() -> Iterator[None]:
    """Raise CopyFailed where a database of the memory is added, moved or squashed before the end of this block.

    The copy of `default` would not know where a database is, or which part of its history ended.
    """
    rows = MemoryDatabase.objects.order_by("name").values_list("name", "server", "epoch", "history_from")
    before = list(rows.all())
    yield
    if list(rows.all()) != before or any(placement.is_moving(name) for name, *_ in before):
        raise CopyFailed("A database of the memory was added, moved or squashed during the backup: make another one.")


def _copy_roots(to: Path, *, since: datetime) -> None:
    """Write the keys of texts that were made or cut while the memory was copied: it may have texts that need them."""
    rows = TextKey.objects.filter(Q(made_at__gte=since) | Q(closed_at__gte=since)).order_by("made_at")
    to.touch(mode=0o600)
    to.write_text(serializers.serialize("json", rows))


def _restore_roots(copied: Path) -> None:
    if not copied.exists():  # of an older release
        return
    rows: Any = [each.object for each in serializers.deserialize("json", copied.read_text())]
    for row in sorted(rows, key=lambda row: row.closed_at is None):  # of an owner, one is open
        row.save()


def _copy_further(database: str, to: Path) -> backups.Further:
    verbs = dolt_of(database)
    copy = verbs.copy_name.replace(FIRST, database)
    further = backups.Further(server=place_of(database).server, copy=copy, head=verbs.head())
    verbs.back_up(to / copy)
    return further


@contextmanager
def _atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder next to `folder`; rename it to `folder` on success, remove it on failure."""
    partial = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        partial.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise CopyFailed(f"{partial} cannot be made: {error.strerror}.") from error
    try:
        yield partial
        os.replace(partial, folder)
        _fsync(folder.parent)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise CopyFailed(f"The backup could not be written: {error.strerror}.") from error
        raise


def _fsync(folder: Path) -> None:
    """Flush the directory entry of a backup to disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _describe(alias: str, engine: str, version: str, copy: str) -> backups.Database:
    return backups.Database(engine=engine, version=version, copy=copy, migrations=backups.applied_migrations(alias))


def _counts() -> dict[str, int]:
    by_status = Proposal.objects.order_by().values_list("status").annotate(Count("pk"))
    return {
        "people": User.objects.count(),
        "agents": Agent.objects.count(),
        "changes": Change.objects.count(),
        "messages": Message.objects.count(),
        **{f"proposals {status}": count for status, count in by_status},
    }


#: What `recover` did in a restored place, and the findings of `check_memory` there.
Restored = tuple[str, list[str]]


@upkeep.paused()
def restore(folder: Path, *, here: bool = False) -> Restored:
    """Restore a backup into the databases the settings name, which must be empty, and bring it up to date.

    Args:
        here: it is checked already, and restored in place: for the child process in which this function does it.

    Raises:
        BackupError: it is none, is damaged or from a newer version; its two databases do not belong together; those
            here are of another engine or not empty, or could not be written: the message says what was left then.
    """
    folder = folder.absolute()
    manifest = Manifest.read(folder) if here else _read_and_check(folder)
    _require_empty()
    if here or not _in_files():
        return _restore_here(folder, manifest)
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.DATA_DIR, ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        done = _restore_in_child(folder, {"ASSENT_DATA_DIR": str(scratch)})
        if present := [str(file) for path in _in_files() for file in backups.files_of(str(path))]:
            # A site that started during the restore has made its files, which must not be overwritten.
            raise BackupError(f"Something made {', '.join(present)} during the restore: is the site running?")
        connections.close_all()
        for path in [*_in_files(), *(Path(settings_of(database, "")["NAME"]) for database in manifest.further)]:
            for made in backups.files_of(str(scratch / path.name)):
                os.replace(made, path.with_name(made.name))
    return done


def verify(folder: Path) -> None:
    """Check that a backup can be restored: restore it into temporary databases, and delete them.

    On servers, these are named like Assent's with `_verify` at the end. The user in the settings must be allowed to
    create and drop them.

    Raises:
        BackupError: as for `restore`, and where the restored databases do not agree.
    """
    folder = folder.absolute()
    manifest = _read_and_check(folder)
    with tempfile.TemporaryDirectory(prefix="assent-verify-") as scratch, _side_databases(manifest) as environment:
        done = _restore_in_child(folder, {"ASSENT_DATA_DIR": scratch, **environment})
    if done[1]:
        raise BackupError(f"The backup in {folder} can be restored, but does not agree: {' '.join(done[1][:5])}")


def _read_and_check(folder: Path) -> Manifest:
    manifest = Manifest.read(folder)
    manifest.require_known_migrations()
    with connect(FIRST, "") as memory:
        memory_engine = memory.dolt.engine
    for alias, made_on, here, variable in (
        ("default", manifest.default.engine, connection.vendor, "DATABASE_URL"),
        ("memory", manifest.memory.engine, memory_engine, "MEMORY_DATABASE_URL"),
    ):
        if made_on.lower() != here.lower():
            raise BackupError(
                f"`{alias}` in this backup is from {made_on}, and {variable} names {here} here. A backup is restored "
                "on the engine it was made on."
            )
    manifest.require_intact(folder)
    return manifest


def _restore_here(folder: Path, manifest: Manifest) -> Restored:
    left: list[str] = []
    try:
        _require_empty_further(manifest)
        backups.restore_default(folder / manifest.default.copy)
        if connection.vendor != "sqlite":
            left.append(f"the PostgreSQL database {connection.settings_dict['NAME']}")
        placement.forget()
        sealing.forget()
        if placement.place_of(FIRST).server:  # it had moved; here it is where the settings say, and that is empty
            MemoryDatabase.objects.filter(name=FIRST).update(server="")
            placement.look_again()
        dolt_of(FIRST).restore(folder / manifest.memory.copy)
        if not settings.EMBEDDED_MEMORY:
            left.append(f"the Dolt database {connections['memory'].settings_dict['NAME']}")
        for database, further in manifest.further.items():
            verbs = dolt_of(database)
            if not settings.EMBEDDED_MEMORY:
                left.append(f"the Dolt database {verbs.connection.settings_dict['NAME']}")
            verbs.restore(folder / further.copy)
        return _bring_up_to_date(folder, manifest)
    except (BackupError, DatabaseError, DoltError) as error:
        connections.close_all()
        if not isinstance(error, BackupError):
            error = BackupError(f"The restored databases cannot be read: {' '.join(str(error).split())}.")
        if not left:
            raise error
        # On a server, undoing this would need the right to drop databases.
        advice = f"{' and '.join(left)} {'are' if left[1:] else 'is'} filled: drop and make them before you try again."
        raise BackupError(f"{error} What is left: {advice}") from error


def _bring_up_to_date(folder: Path, manifest: Manifest) -> Restored:
    """Bring two restored databases up to date with each other and with this version.

    Raises:
        BackupError: `default` knows commits that the memory does not have, or the memory is not the manifest's.
    """
    connections.close_all()
    # The ledger of an older release is read with the columns of today.
    call_command("migrate", database="default", verbosity=0)
    _restore_roots(folder / _ROOTS)
    heads = {FIRST: manifest.head} | {name: each.head for name, each in manifest.further.items()}
    for database, head in heads.items():
        try:
            if not dolt_of(database).was_on_main(head):
                raise BackupError(f"The {database} does not lead to commit {head}, as the manifest says it does.")
        except RevisionNotFound as error:
            raise BackupError(f"The {database} does not have commit {head}, which the manifest names.") from error
        if missing := missing_from_memory(database):
            raise BackupError(f"This is no pair. {missing[0]}")
    call_command("prepare", stdout=io.StringIO())
    _expire_leases()
    report = recover(trust_log=True, last_ids=manifest.last_ids)
    erasing.finish()
    _forget_newer_indices()
    found = [str(problem) for problem in problems()]
    log.info("restored", head=manifest.head, report=str(report), problems=len(found))
    connections.close_all()
    return "" if report == RecoveryReport() else str(report), found


def _expire_leases() -> None:
    """Expire all leases, so that `recover` finishes interrupted work at once: no other process uses these databases."""
    Proposal.objects.exclude(lease_expires_at=None).update(lease_expires_at=clock.now())
    SearchIndex.objects.update(busy_until=None)


def _forget_newer_indices() -> None:
    """Reset search indices that reflect a commit main does not have, so that they are rebuilt."""
    log_ = {commit.hash for database in databases() for commit in dolt_of(database).log()}
    for index in SearchIndex.objects.exclude(commit=""):
        if index.commit not in log_:
            SearchIndex.objects.filter(pk=index.pk).update(embedder="", change_id=0, message_id=0, commit="")


def _restore_in_child(folder: Path, environment: dict[str, str]) -> Restored:
    """Restore in a child process, whose settings name other databases.

    Threads and tasks of this process would continue to use the databases of its own settings.
    """
    done = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "restore", str(folder), "--here"],
        env=environment_with({"REDIS_URL": "", **environment}),
        cwd=settings.BASE_DIR,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(done.stderr.rpartition("Error: ")[2].strip())
    report, found = json.loads(done.stdout.splitlines()[-1])
    return report, found


def environment_with(given: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with these values, which also override `…_FILE` variables of their names.

    With the key of the texts and the list of erasures: a process with another data folder would have its own.
    """
    given = {"ASSENT_TEXT_KEY": settings.TEXT_KEY.hex(), "ASSENT_ERASED_LIST": str(settings.ERASED_LIST or "")} | given
    files = {f"{name}_FILE" for name in given}
    return {name: value for name, value in os.environ.items() if name not in files} | given


def _require_empty() -> None:
    with connect(FIRST, "") as memory:  # wherever it may be: looking that up would make a file of `default`
        found = backups.contents_of(connections["default"]), memory.dolt.contents()
    contents = [*filter(None, found), *map(str, _further_files())]
    connections.close_all()
    if contents:
        raise BackupError(
            f"There is something already: {'; '.join(contents)}. A backup is restored into an empty place: stop the "
            "site, move the files elsewhere (or make new databases), and try again."
        )


def _require_empty_further(manifest: Manifest) -> None:
    """Make the further databases of a backup on their servers. Raises BackupError where one has something."""
    for database, further in () if settings.EMBEDDED_MEMORY else manifest.further.items():
        moving.create_database(database, further.server)
        with connect(database, further.server) as there:
            if contents := there.dolt.contents():
                where = f"{contents} on server {further.server or 'first'}"
                raise BackupError(f"There is something already: {where}. A backup is restored into an empty place.")


def _in_files() -> list[Path]:
    """Return the paths of this site's databases that are files; of further memories, those there are."""
    paths = []
    if connection.vendor == "sqlite":
        paths.append(backups.path_of(str(connection.settings_dict["NAME"])))
    if settings.EMBEDDED_MEMORY:
        paths += [backups.path_of(str(connections["memory"].settings_dict["NAME"])), *_further_files()]
    return paths


def _further_files() -> list[Path]:
    if not settings.EMBEDDED_MEMORY:
        return []
    first = backups.path_of(str(connections["memory"].settings_dict["NAME"]))
    return sorted(first.parent.glob(f"{first.stem}_*{first.suffix}"))


@contextmanager
def _side_databases(manifest: Manifest) -> Iterator[dict[str, str]]:
    """Create temporary databases on this site's servers, and yield the environment that names them."""
    environment, made = {}, []
    try:
        for alias, variable, url in (
            ("default", "DATABASE_URL", settings.DATABASE_URL),
            ("memory", "MEMORY_DATABASE_URL", settings.MEMORY_DATABASE_URL),
        ):
            if not url:
                continue
            name = f"{connections[alias].settings_dict['NAME']}_verify"
            _execute(alias, "CREATE DATABASE", name)
            made.append((alias, name))
            environment[variable] = urlsplit(url)._replace(path=f"/{name}").geturl()
        yield environment
    finally:
        for alias, name in made:
            if alias == "memory":
                for database, each in manifest.further.items():
                    moving.drop_database(f"{name}{database.removeprefix(FIRST)}", each.server)
            _execute(alias, "DROP DATABASE", name)


def _execute(alias: str, verb: str, name: str) -> None:
    try:
        # Where the settings say; the first memory may have moved, and what it left been dropped.
        reached = connect("", "") if alias == "memory" else nullcontext(connections[alias])
        with reached as server, server.cursor() as cursor:
            cursor.execute(f"{verb} {server.ops.quote_name(name)}")
    except DatabaseError as error:
        raise CopyFailed(
            f"{verb} {name} failed ({str(error).strip()}): to verify, the backup is restored into a database of this "
            "name, which is made and dropped again."
        ) from error
