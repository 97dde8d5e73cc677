"""Fixtures for all tests: real databases, real people.

alice owns a memory, ben is another student, tim tutors alice, mallory is a stranger, admin is staff,
scribe is an agent.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import django
import hypothesis
import pytest
import pytest_django
from django.conf import settings
from django.db.backends.signals import connection_created

from tests import environment, nightly

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent

# Before pytest-django looks: it sets Django up only when the settings have been read.
DATA = environment.prepare()
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402

from approvals import services  # noqa: E402
from approvals.models import Agent, Kind, Proposal, Tutorship, User  # noqa: E402
from memory_app import reads  # noqa: E402
from memory_app.celery import app  # noqa: E402
from memory_app.dolt import placement  # noqa: E402
from memory_app.reads import Block  # noqa: E402
from memory_app.text.edits import Replace  # noqa: E402
from tests.databases import EmbeddedDatabases, ServerDatabases, forget  # noqa: E402
from tests.support.background import wait_for_threads  # noqa: E402
from tests.support.fixtures import ClientOf, MakeBlock, Propose  # noqa: E402

# pytest-django takes DEBUG back, and WhiteNoise would look at each static file again for every test client: 45 ms.
settings.WHITENOISE_AUTOREFRESH = True
# The true one takes a quarter of a second for each password. Processes of their own still use it.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
# Where databases are is read again by whichever call comes a second later: a statement more where they are counted.
placement.FRESH = 3_600.0
# Its thread would meet the files of the next test; tests of upkeep start it themselves or watch it in processes.
connection_created.disconnect(dispatch_uid="memory_app.runtime.upkeep")
# pytest-xdist's workers inherit the environment: with this name in it, pytest-django would read the settings
# there before the worker has chosen databases of its own.
os.environ.pop("DJANGO_SETTINGS_MODULE", None)

# How fast a machine makes up examples, and runs one, says nothing about the code: a busy one failed by it.
hypothesis.settings.register_profile("assent", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# For `make check`: a fifth of the examples.
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("assent"), max_examples=20)
hypothesis.settings.load_profile("assent")


def pytest_report_header() -> str:
    leg = "DoltLite + SQLite" if environment.is_embedded() else "Dolt server + PostgreSQL + Redis"
    return f"assent: testing on {leg}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that run at night alone before they are imported: to collect some takes seconds."""
    if "not nightly" in config.option.markexpr and nightly.is_nightly(str(collection_path.relative_to(ROOT))):
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if nightly.is_nightly(item.nodeid):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def databases(django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[EmbeddedDatabases | ServerDatabases]:
    """The two databases of this test process, migrated once."""
    kind = EmbeddedDatabases if environment.is_embedded() else ServerDatabases
    with django_db_blocker.unblock():
        made = kind(DATA)
        made.create()
        yield made
        made.destroy()
    shutil.rmtree(DATA, ignore_errors=True)


@pytest.fixture(autouse=True)
def fresh_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test begins with empty, migrated databases. Tests of pure functions say `pure` and skip it."""
    if request.node.get_closest_marker("pure"):
        yield
        return
    begin_anew(request.getfixturevalue("databases"))
    yield
    wait_for_threads()  # or it would go on in the databases of the next test
    connections.close_all()


def begin_anew(databases: EmbeddedDatabases | ServerDatabases) -> None:
    """Empty the databases, and forget what this process remembers of them."""
    databases.reset()
    forget()


def make_user(username: str, **fields: Any) -> User:
    user = User(username=username, **{"is_welcomed": True} | fields)
    user.set_unusable_password()
    user.save()
    return user


@pytest.fixture
def alice() -> User:
    return make_user("alice", first_name="Alice", last_name="Berg")


@pytest.fixture
def ben() -> User:
    return make_user("ben")


@pytest.fixture
def tim(alice: User) -> User:
    """alice's tutor."""
    tutor = make_user("tim", first_name="Tim", last_name="Okafor")
    Tutorship.objects.create(tutor=tutor, owner=alice)
    return tutor


@pytest.fixture
def mallory() -> User:
    return make_user("mallory")


@pytest.fixture
def admin() -> User:
    return make_user("admin", is_staff=True, is_superuser=True)


@pytest.fixture
def scribe() -> Agent:
    return Agent.objects.create(name="scribe", description="Keeps the learner profile up to date")


@pytest.fixture
def token(alice: User, scribe: Agent) -> str:
    """A raw token of scribe's that serves alice, with the usual scopes."""
    out = StringIO()
    call_command("issue_token", agent="scribe", owner=["alice"], stdout=out)
    return out.getvalue().strip()


@pytest.fixture
def client_of() -> ClientOf:
    """A Django test client signed in as the given person."""

    def signed_in(user: User, /) -> Client:
        fresh = Client()
        fresh.force_login(user)
        return fresh

    return signed_in


@pytest.fixture
def make_block() -> MakeBlock:
    """Write a block straight through the owner's own editing service; returns it as it reads back."""

    def make(
        owner: User, label: str, body: str, *, title: str = "", limit: int = 20_000, read_only: bool = False
    ) -> Block:
        fields = services.BlockFields(title=title, description="", body=body, limit=limit, read_only=read_only)
        services.create_block(actor=owner, owner=owner.username, label=label, fields=fields)
        return reads.block(owner.username, label)

    return make


@pytest.fixture
def goals(alice: User, make_block: MakeBlock) -> Block:
    """alice's block `goals`: three lines."""
    body = "# Goals\n\nAlice likes math.\nShe wants to pass the B2 exam in June.\nShe reads one book a month.\n"
    return make_block(alice, "goals", body, title="Learning goals")


@pytest.fixture
def propose(scribe: Agent) -> Propose:
    """`propose(block, old, new)`: scribe proposes one replacement; returns the proposal."""

    def make(block: Block, old: str, new: str, *, reasoning: str = "Alice said so.", **arguments: Any) -> Proposal:
        return services.propose(
            agent=scribe,
            owner=block.owner,
            label=block.label,
            edits=[Replace(old, new)],
            kind=Kind.EDIT,
            reasoning=reasoning,
            **arguments,
        ).proposal

    return make


@pytest.fixture(scope="session")
def worker_process(databases: EmbeddedDatabases | ServerDatabases) -> Iterator[None]:
    """A real Celery worker on Redis, which takes nothing until a test asks for it (`worker`)."""
    process = subprocess.Popen(
        f"{sys.executable} -m celery -A memory_app.celery worker --pool threads --concurrency 2"
        " --loglevel WARNING --without-mingle".split(),
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"},
    )
    try:
        eventually(lambda: process.poll() is not None or app.control.ping(timeout=0.5), seconds=90)
        assert process.poll() is None, "the worker ended at once; its output is above"
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[None]:
    """A worker takes what changes ask of it while this test runs; inline without Redis.

    Only then: it would change rows beside the tests that do not expect one, in whichever order they come.
    """
    if environment.is_embedded():
        yield
        return
    request.getfixturevalue("worker_process")
    queue, answered = app.conf.task_default_queue, {"reply": True, "limit": 1, "timeout": 20}
    assert app.control.add_consumer(queue, **answered), "the worker does not answer"
    yield
    assert app.control.cancel_consumer(queue, **answered), "the worker does not answer"


def eventually(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait until `condition` is true, for what a worker does in its own time; its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)
    return value


def early_in_a_minute() -> None:
    """Wait until the minute of the clock, in which calls are counted, has ten seconds left."""
    eventually(lambda: time.time() % 60 < 50, seconds=15)


def in_a_thread(work: Callable[[], object]) -> threading.Thread:
    """Do it in a thread that has begun, and closes its connections at the end."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def at_once(work: Callable[[], T], times: int) -> list[T]:
    """Do it in so many threads that begin together; what came of each."""
    together = threading.Barrier(times)
    came: list[T] = []

    def run() -> None:
        together.wait()
        came.append(work())

    for thread in [in_a_thread(run) for _ in range(times)]:
        thread.join()
    return came


def missing(what: str) -> NoReturn:
    """Skip a test whose tool is not on this machine; where everything has to run, fail instead."""
    if os.environ.get("ASSENT_REQUIRE_ALL"):
        pytest.fail(f"{what} is required here")
    pytest.skip(f"{what} is not installed")


CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def find_chromium(names: Iterable[str]) -> str:
    """Return where the first of these browsers is."""
    for name in names:
        if found := shutil.which(name):
            return found
    mac = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    if sys.platform == "darwin" and mac.exists():
        return str(mac)
    missing("Chromium")


@pytest.fixture(scope="session")
def chromium() -> str:
    # The first is the same without a window of its own, which would be made and drawn for nothing.
    return find_chromium(("chromium-headless-shell", *CHROMIUM))
