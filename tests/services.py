"""Dolt, PostgreSQL and Redis for one run of tests, benchmarks or torture.

The three are started on free loopback ports with data folders of their own below a temporary folder. Commands find
them in MEMORY_DATABASE_URL, DATABASE_URL and REDIS_URL, and whatever way a run ends, what was started here (and nothing
else, each by its own process id) is stopped again.

Standard library only: it also runs where nothing is installed yet. `python tests/services.py --check` says what is
missing, and exits 1 when something is.
"""

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

HOST = "127.0.0.1"
START_SECONDS = 180
STOP_SECONDS = 15

_DOLT_CONFIG = """\
log_level: warning
data_dir: {data}
behavior:
  autocommit: true
listener:
  host: {host}
  port: {port}
  max_connections: 500
system_variables:
  # A number: the server does not start with the word.
  dolt_stats_enabled: 0
"""

_DOLT_GLOBAL = {
    "user.name": "tests",
    "user.email": "tests@localhost",
    "metrics.disabled": "true",
    "versioncheck.disabled": "true",
}


class ServicesMissing(RuntimeError):
    """A server program is not on this machine; the message names it and how to get it."""


class ServiceFailed(RuntimeError):
    """A service did not start; the message ends in the last lines of its log."""


@dataclass(frozen=True)
class Programs:
    """Where the server programs of this machine are."""

    dolt: str
    postgres: Path
    redis: str


@dataclass(frozen=True)
class Command:
    """How a service is started, for the first time or again."""

    arguments: list[str]
    ready: Callable[[], bool]
    options: dict[str, object]


@dataclass
class Services:
    """The three services, running below `folder`."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        return list(self.running.values())

    def start(self, name: str, arguments: list[str], *, ready: Callable[[], bool], **options: object) -> None:
        """Start one, out of reach of the terminal's Ctrl-C (the command is to end first), and wait for it."""
        self.commands[name] = Command(arguments, ready, options)
        self.begin(name)
        self.wait_for(name)

    def begin(self, name: str) -> None:
        """Start one whose command is known, without waiting; after what an earlier process of it logged."""
        command = self.commands[name]
        with (self.folder / f"{name}.log").open("ab") as output:
            self.running[name] = _apart(command.arguments, stdout=output, **command.options)

    def wait_for(self, name: str) -> None:
        """Wait until one answers. Raises ServiceFailed when it ends first, or does not in START_SECONDS."""
        process, ready = self.running[name], self.commands[name].ready
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                what = f"ended with {process.returncode}" if process.poll() is not None else "does not answer"
                raise ServiceFailed(f"{name} {what}:\n{_tail(self.folder / f'{name}.log')}")
            time.sleep(0.05)

    def stop(self) -> None:
        for process in reversed(self.processes):
            # Postgres waits for its clients after SIGTERM and ends them after SIGINT; the others do not mind.
            process.send_signal(signal.SIGINT)
        for process in reversed(self.processes):
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def find_programs() -> Programs:
    """Where dolt, postgres and redis-server are.

    Raises:
        ServicesMissing: naming every one that is not there.
    """
    dolt, postgres, redis = find_dolt(), _find_postgres(), shutil.which("redis-server")
    if dolt and postgres and redis:
        return Programs(dolt, postgres, redis)
    how = {
        "dolt (go install, see .ci/run; or set ASSENT_DOLT)": dolt,
        "PostgreSQL (Debian: postgresql)": postgres,
        "redis-server (Debian: redis-server)": redis,
    }
    raise ServicesMissing("not found: " + ", ".join(name for name, found in how.items() if not found))


def find_dolt() -> str | None:
    """ASSENT_DOLT, else `dolt` on PATH, else where `go install` puts it."""
    if named := os.environ.get("ASSENT_DOLT"):
        return named if os.access(named, os.X_OK) else None
    # What `go env GOPATH` answers, without asking for Go.
    go = os.environ.get("GOPATH", "").split(os.pathsep)[0] or Path.home() / "go"
    places = [os.environ["PATH"], os.environ.get("GOBIN", ""), str(Path(go) / "bin")]
    return shutil.which("dolt", path=os.pathsep.join(filter(None, places)))


def _find_postgres() -> Path | None:
    """The folder with all of PostgreSQL's programs; Debian keeps it off PATH, one per version."""
    found = shutil.which("initdb")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parts[-2]), reverse=True)
    for folder in [Path(found).resolve().parent, *versions] if found else versions:
        if all((folder / name).exists() for name in ("initdb", "postgres", "createdb", "pg_isready")):
            return folder
    return None


@contextlib.contextmanager
def running(*, syncs: bool = False) -> Iterator[dict[str, str]]:
    """Start all three; yields the environment that points to them. `syncs` and the errors are those of `started`."""
    with started(syncs=syncs) as services:
        yield services.environment


@contextlib.contextmanager
def started(below: str | None = None, *, syncs: bool = False) -> Iterator[Services]:
    """Start all three.

    Args:
        below: a folder everybody may pass through, where the usual one for temporary files is private.
        syncs: whether PostgreSQL syncs each commit to the disk, which is its default and what Dolt always does. Tests
            are faster without.

    Raises:
        ServicesMissing: a program is not on this machine.
        ServiceFailed: one did not start.
    """
    find_programs()
    with tempfile.TemporaryDirectory(prefix="assent-services-", dir=below) as name:
        services = Services(Path(name))
        try:
            start_all(services, syncs=syncs)
            yield services
        finally:
            services.stop()


def start_all(services: Services, *, syncs: bool = False) -> None:
    """Start Dolt, PostgreSQL and Redis below the folder of `services`, and write down where they are.

    `syncs` and the errors are those of `started`.
    """
    programs = find_programs()
    services.folder.chmod(0o711)  # PostgreSQL runs as another user when we are root
    dolt_port, postgres_port, redis_port = free_ports(3)
    _start_redis(services, programs, redis_port)
    start_dolt(services, programs, dolt_port)
    _start_postgres(services, programs, postgres_port, syncs=syncs)
    services.environment |= {
        "MEMORY_DATABASE_URL": f"mysql://root@{HOST}:{dolt_port}/assent",
        "DATABASE_URL": f"postgres://postgres@{HOST}:{postgres_port}/assent",
        "REDIS_URL": f"redis://{HOST}:{redis_port}/0",
    }


def start_dolt(services: Services, programs: Programs, port: int) -> None:
    folder = services.folder / "dolt"
    data = folder / "data" / "assent"
    data.mkdir(parents=True)
    config = folder / "config.yaml"
    config.write_text(_DOLT_CONFIG.format(host=HOST, port=port, data=data.parent))
    # Its global configuration is kept apart from the person's own, and it calls nobody up.
    (folder / ".dolt").mkdir()
    (folder / ".dolt" / "config_global.json").write_text(json.dumps(_DOLT_GLOBAL))
    own = {"DOLT_ROOT_PATH": str(folder), "HOME": str(folder), "DOLT_DISABLE_EVENT_FLUSH": "true"}
    environment = os.environ | own
    _run([programs.dolt, "init"], environment, cwd=data)
    server = [programs.dolt, "sql-server", "--config", str(config)]
    services.start("dolt", server, ready=lambda: greets(port), env=environment, cwd=data.parent)


def _start_postgres(services: Services, programs: Programs, port: int, *, syncs: bool) -> None:
    folder = services.folder / "postgres"
    folder.mkdir(mode=0o700)
    options: dict[str, object] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses root
        user = _ordinary_user()
        os.chown(folder, user.pw_uid, user.pw_gid)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    initdb = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"]
    _run([str(programs.postgres / "initdb"), "-D", str(folder), *initdb], os.environ, **options)
    settings = {"listen_addresses": HOST, "unix_socket_directories": "", "max_connections": "200"}
    if not syncs:  # the data lives for one run
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    server = [str(programs.postgres / "postgres"), "-D", str(folder), "-p", str(port)]
    for key, value in settings.items():
        server += ["-c", f"{key}={value}"]
    client = ["-h", HOST, "-p", str(port), "-U", "postgres"]
    asked = [str(programs.postgres / "pg_isready"), "-q", *client]

    def is_ready() -> bool:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    services.start("postgres", server, ready=is_ready, cwd=folder, **options)
    _run([str(programs.postgres / "createdb"), *client, "assent"], os.environ)


def _start_redis(services: Services, programs: Programs, port: int) -> None:
    folder = services.folder / "redis"
    folder.mkdir()
    arguments = ["--port", str(port), "--bind", HOST, "--dir", str(folder), "--save", "", "--appendonly", "no"]
    services.start("redis", [programs.redis, *arguments], ready=lambda: _answer(port, b"PING\r\n") == b"+PONG")


def _ordinary_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServicesMissing("PostgreSQL does not run as root and there is no other user to run it as")


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, all different (each is held until the last is found)."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def greets(port: int) -> bool:
    """A MySQL server speaks first."""
    return bool(_answer(port))


def _answer(port: int, said: bytes = b"") -> bytes:
    """The first five bytes of a server's answer, and none where nobody listens."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            connection.sendall(said)
            return connection.recv(5)
    except OSError:
        return b""


def _apart(arguments: list[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process out of reach of the terminal's Ctrl-C, with nothing to read and its errors in its output."""
    return subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True, **options
    )


def _run(arguments: list[str], environment: Mapping[str, str], **options: object) -> None:
    """Run a short preparation; when we are told to end meanwhile, its own children (initdb has some) end too."""
    process = _apart(arguments, env=environment, stdout=subprocess.PIPE, text=True, **options)
    try:
        output, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        raise ServiceFailed(f"{' '.join(arguments[:2])} ended with {process.returncode}:\n{output}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run the command to its end, passing on the signals that ask us to end; its exit code is the answer."""
    process = subprocess.Popen(command, env=environment)

    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    # The terminal sends Ctrl-C to the command as well; passing it on once more would cut its clean-up short.
    previous = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    previous |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        code = process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def unwind_on_signals() -> None:
    """Being told to end unwinds the context managers, instead of leaving the services behind."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


if __name__ == "__main__":
    try:
        find_programs()
    except ServicesMissing as error:
        sys.exit(f"services: {error}")
