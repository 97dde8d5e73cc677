"""All cases on the databases the environment names: `python benchmarks/leg.py RESULTS.json`.

Started by `run`, which has put a throw-away data directory and the rest of it into the environment.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

# As a script (not -m): on macOS DoltLite starts this file once more with itself preloaded.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import django  # noqa: E402
from django.conf import settings  # noqa: E402

from benchmarks import processes  # noqa: E402
from benchmarks.measure import Against, Result  # noqa: E402

BLOCKS = 230
STUDENTS = 40
WAITING = 10_000


def main(output: Path, part: str = "") -> None:
    settings.DATA_DIR  # noqa: B018 (reading the settings loads DoltLite, before anything imports sqlite3)
    django.setup()
    from django.core.management import call_command

    from benchmarks import (
        board,
        crowd,
        history,
        inbox,
        long_block,
        machine,
        merging,
        notes,
        past,
        population,
        review,
        siblings,
        waiting,
        worddiff,
    )

    folder = Path(settings.DATA_DIR)
    _say("preparing the databases")
    for alias in ("default", "memory"):
        call_command("migrate", database=alias, verbosity=0)
    students = population.make_people(STUDENTS)
    token = population.make_agent()
    if part == "history":
        _write(output, machine.beside(lambda: history.measure(students[0], population.TUTOR)))
        return
    if part == "beside":
        _write(output, [], _beside(folder, token))
        return
    if part == "mcp":
        from benchmarks import protocols

        protocols.fill()
        _write(output, [], _protocols(folder, token))
        return
    if part == "board":
        more = population.make_students(board.STUDENTS - STUDENTS, first=STUDENTS)
        _write(output, machine.beside(lambda: board.measure((*students, *more), WAITING)))
        return
    if part == "past":
        _write(output, machine.beside(lambda: past.measure(students[0])))
        return
    if part == "growth":
        from benchmarks import growth

        _write(output, [*growth.measure(students[0], token)])
        return
    if part == "disk":
        from benchmarks import growth

        _write(output, [*growth.on_disk(300)])
        return
    if part == "long-block":
        _write(output, machine.beside(lambda: long_block.measure(students[0], population.TUTOR)))
        return
    if part == "memories":
        from benchmarks import memories

        _write(output, [], memories.measure())
        return
    if part == "siblings":
        with ExitStack() as stack:
            if settings.REDIS_URL:
                stack.enter_context(processes.celery_worker(folder, {}))
            _write(output, machine.beside(lambda: siblings.measure(students[0])))
        return
    if part == "inbox":
        population.make_open_rows(students, WAITING)
        with processes.web_server("memory_app.wsgi", folder, {}) as port:
            person = signed_in(processes.Session(port))
            _write(output, machine.beside(lambda: inbox.measure(person, population.TUTOR, WAITING)))
        return
    if part == "crowd":
        with processes.web_server("memory_app.wsgi", folder, {}) as port:
            _write(output, machine.beside(lambda: crowd.measure(port, students)))
        return
    if part == "waiting":
        with processes.web_server("memory_app.wsgi", folder, {}) as port:
            some = population.make_blocks(students, waiting.DECISIONS)
            person = signed_in(processes.Session(port))
            _write(output, machine.beside(lambda: waiting.measure(processes.Session(port, token), person, some)))
        return
    targets = population.make_blocks(students, BLOCKS)
    embedded = settings.EMBEDDED_MEMORY

    with ExitStack() as stack:
        if settings.REDIS_URL:
            stack.enter_context(processes.celery_worker(folder, {}))
        port = stack.enter_context(processes.web_server("memory_app.wsgi", folder, {}))
        agent = processes.Session(port, token)
        person = signed_in(processes.Session(port))
        _say("propose and approve")
        propose_ms, approve_ms = (15, 25) if embedded else (30, 40)
        results = machine.beside(
            lambda: review.measure(agent, person, targets, propose_ms=propose_ms, approve_ms=approve_ms)
        )
        _say("agents that wait")
        some = population.make_blocks(students, waiting.DECISIONS, first=BLOCKS)
        results += machine.beside(lambda: waiting.measure(agent, person, some))
        _say("notes")
        owner = targets[0].owner
        results += machine.beside(lambda: notes.through_http(agent, owner, target_ms=15 if embedded else None))
        results += machine.beside(lambda: notes.import_and_reindex(targets[-1].owner))
        results += machine.beside(lambda: notes.lists(targets[-1].owner, population.TUTOR))
        results += machine.beside(lambda: notes.decide_import(targets[-2].owner, population.TUTOR))
        _say("a long block's proposal")
        results += machine.beside(lambda: long_block.measure(targets[-3].owner, population.TUTOR))
        _say("50 proposals of one block")
        results += machine.beside(lambda: siblings.measure(targets[-4].owner))
        _say("inbox")
        population.make_open_rows(students, WAITING)
        results += machine.beside(lambda: inbox.measure(person, population.TUTOR, WAITING))
        _say("board")
        more = population.make_students(board.STUDENTS - STUDENTS, first=STUDENTS)
        results += machine.beside(lambda: board.measure(more, WAITING))
    if embedded:
        _say("diff")
        results += machine.beside(worddiff.measure)
        results += machine.beside(merging.measure)
    _say("a block of 500 versions")
    results += machine.beside(lambda: past.measure(students[-2]))
    _say("an owner with a history")
    results += machine.beside(lambda: history.measure(students[-1], population.TUTOR))
    _write(output, results, [*_beside(folder, token), *_protocols(folder, token)])


def _beside(folder: Path, token: str) -> list[Against]:
    """Our calls beside a bare view's; on servers, our services beside Dolt's verbs too."""
    from benchmarks import beside

    _say("beside a bare view")
    with ExitStack() as stack:
        if settings.REDIS_URL:
            stack.enter_context(processes.celery_worker(folder, {}))
        port = stack.enter_context(processes.web_server("memory_app.wsgi", folder, {}))
        results = beside.measure(processes.Session(port, token), folder, database_url=settings.DATABASE_URL)
    if not settings.EMBEDDED_MEMORY:
        results.append(beside.services_beside_dolt(settings.MEMORY_DATABASE_URL))
    return results


def _protocols(folder: Path, token: str) -> list[Against]:
    """A tool's call by MCP beside the same by REST."""
    from benchmarks import protocols

    _say("MCP beside REST")
    with ExitStack() as stack:
        if settings.REDIS_URL:
            stack.enter_context(processes.celery_worker(folder, {}))
        port = stack.enter_context(processes.web_server("memory_app.wsgi", folder, {}))
        return protocols.measure(processes.Session(port, token))


def _write(output: Path, results: list[Result], against: Sequence[Against] = ()) -> None:
    from memory_app.dolt.connections import dolt_of
    from memory_app.dolt.types import FIRST

    verbs = dolt_of(FIRST)
    name = f"{verbs.engine} {verbs.version()}"
    report = {"name": name, "results": [asdict(each) for each in results], "against": [asdict(one) for one in against]}
    output.write_text(json.dumps(report))


def signed_in(person: processes.Session) -> processes.Session:
    from benchmarks import population

    fields = processes.form(person.get("/sign-in/").text, "username")
    answer = person.post_form("/sign-in/", fields | {"username": population.TUTOR, "password": population.PASSWORD})
    if answer.status != 302:
        raise RuntimeError(f"signing in answered {answer.status}")
    return person


def _say(what: str) -> None:
    print(f"  {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
    main(Path(sys.argv[1]), *sys.argv[2:])
