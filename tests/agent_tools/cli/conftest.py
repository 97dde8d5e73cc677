"""The `memory` command in this process: by a server, or on this installation's own databases."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from click.testing import CliRunner, Result
from django.core.wsgi import get_wsgi_application

from agent_tools.cli.local import LocalMemories
from approvals.models import User
from assent_client.cli.commands import CliContext, memory
from tests.conftest import in_a_thread

#: `run("list", "--last", "2", stdin=b"...", MEMORY_OWNER="ben")`.
Run = Callable[..., Result]

#: Three memories, the fix being the newest.
SOME = b"""\
### mem-1-aaaa
> Barrel exports for all module boundaries.
<!-- tags: imports, structure | created: 2026-01-05 -->

## Decisions

### mem-2-bbbb
> Chose Zod for validation.
>
> It infers types.
<!-- tags: validation | created: 2026-01-06 -->

## Fixes

### mem-3-cccc
> ECONNREFUSED means start docker.
<!-- tags: docker | created: 2026-01-07 -->
"""


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def invoke(*words: str, stdin: bytes | None = None, local: Any = None, **environment: str | None) -> Result:
    """The command in this process, whose Django is ready: a start of its own takes seconds."""
    given = {"MEMORY_URL": None, "MEMORY_TOKEN": None, "MEMORY_OWNER": None} | environment
    mask = os.umask(0o077)
    try:
        return CliRunner().invoke(
            memory, words, input=stdin, env=given, obj=CliContext(local=local), prog_name="memory"
        )
    finally:
        os.umask(mask)


@pytest.fixture
def server() -> Iterator[str]:
    """The address of this project's server, which runs in a thread."""
    with make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=_Quiet) as serving:
        thread = in_a_thread(partial(serving.serve_forever, 0.02))
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


@pytest.fixture
def remote(server: str, token: str) -> Run:
    """The command by a server, with scribe's token for alice."""
    return partial(invoke, MEMORY_URL=server, MEMORY_TOKEN=token)


@pytest.fixture
def local(alice: User) -> Run:
    """The command without a server and a token, for alice."""
    return partial(invoke, local=LocalMemories, MEMORY_OWNER="alice")


@pytest.fixture(params=["remote", "local"])
def run(request: pytest.FixtureRequest) -> Run:
    """The command in each of both places."""
    found: Run = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
