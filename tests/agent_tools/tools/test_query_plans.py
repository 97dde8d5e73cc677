"""No page, call or task reads a whole table that grows: every query is explained by the database.

The plan of each statement on `default` is asked for after it ran. SQLite plans by the indices alone, and may not read
the whole of an index either. PostgreSQL goes by what is in the tables too, and would read these small ones whole: it
is told to do so only where no index helps.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agent_tools.calls import execution, idempotency
from agent_tools.models import ToolCall
from approvals import services
from approvals.models import Proposal, User
from approvals.recovery.recover import writes_under_way
from benchmarks import population
from benchmarks.population import History
from memory_app import conversations, reads
from memory_app.search import index_state, store
from tests.agent_tools.conftest import Machine
from tests.support.acts import approve

OWNER = "student-000"

#: Tables that grow with use.
GROWING = frozenset(
    """
    approvals_proposal approvals_revision approvals_event approvals_proposednote approvals_rejectedfingerprint
    memory_app_change memory_app_chunk memory_app_message memory_app_noteaccess
    agent_tools_toolcall agent_tools_blockread agent_tools_idempotencykey agent_tools_tolduntil
    """.split()
)

#: Statements that are about all rows, by a piece of their text, and why that is right.
ALLOWED = {
    # The inbox of staff is of all owners: its tabs count, and its filters offer, what everybody has.
    'SELECT "approvals_proposal"."status" AS "status", COUNT(': "counts beside the tabs of staff",
    'SELECT "approvals_proposal"."target" AS "target", MAX(': "blocks offered to staff",
    # In the order of an index that has nothing but these.
    '"approvals_proposal"."is_garbage_left" ORDER BY "approvals_proposal"."redacted_at"': "a partial index",
    # Lists of the admin say how many rows there are. PostgreSQL counts them in the table, SQLite in an index.
    'SELECT COUNT(*) AS "__count"': "the admin's counts",
    # Read in the order of an index until the page is full; there is hardly a row that this condition leaves out.
    'WHERE NOT ("approvals_proposal"."status" = %s) ORDER BY "approvals_proposal"."created_at" DESC, '
    '"approvals_proposal"."id" DESC LIMIT 50': "the admin's list of proposals",
}

#: A scan in the order of an index ends with the page.
LIMITED = re.compile(r"LIMIT \d+$")

Statement = tuple[str, Any]


@pytest.fixture
def history(settings: Any) -> str:
    """Give an owner some of everything; return the agent's token."""
    population.make_people(2)
    token = population.make_agent()
    population.make_history(
        OWNER, History(blocks=2, notes=30, proposals=60, waiting=30, calls=100, messages=80, keys=120)
    )
    store.reindex(OWNER, whole=True)
    settings.PENDING_CAP = 100  # more wait than a page of the inbox has
    return token


class Recorder:
    """Keeps the statements a piece of work makes."""

    def __init__(self) -> None:
        self.statements: dict[str, Statement] = {}
        self.doing = ""

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not many and re.match(r"\s*(SELECT|UPDATE|DELETE)", sql):
            # One of each form is enough: lists of ids differ in their length alone.
            form = re.sub(r"%s(, %s)+", "%s", sql)
            self.statements.setdefault(f"{self.doing}: {form}", (sql, params))
        return execute(sql, params, many, context)


@contextmanager
def recorded() -> Iterator[Recorder]:
    """Record what is asked of `default`."""
    recorder = Recorder()
    with connection.execute_wrapper(recorder):
        yield recorder


def sqlite_plan(sql: str, params: Any) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return [row[3] for row in cursor.fetchall()]


def scanned(sql: str, params: Any) -> set[str]:
    """Return the tables that are read from one end to the other, or an index of them is."""
    if connection.vendor == "sqlite":
        is_first_page = " WHERE " not in sql and LIMITED.search(sql)
        steps = sqlite_plan(sql, params)
        if is_first_page and not any("TEMP B-TREE" in step for step in steps):
            return set()
        return {step.split()[1] for step in steps if step.startswith("SCAN ")}
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
        cursor.execute("RESET enable_seqscan")
    nodes = _nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def full_scans(statements: dict[str, Statement]) -> list[str]:
    found = []
    for form, (sql, params) in statements.items():
        aliases = dict(re.findall(r'"(\w+)" (U\d+|T\d+)\b', sql))
        names = {{alias: table for table, alias in aliases.items()}.get(name, name) for name in scanned(sql, params)}
        if names & GROWING and not any(piece in sql for piece in ALLOWED):
            found.append(f"{sorted(names & GROWING)} in {form}")
    return found


@pytest.mark.slow
def test_asking_whether_a_change_is_under_way_looks_at_those_alone(history: str) -> None:
    """Each search asks. Told "merging or ...", SQLite read all proposals of the owner: 14 ms at 4,000."""
    if connection.vendor != "sqlite":
        pytest.skip("plans by what is in the tables, and these are small")
    with recorded() as recorder:
        assert not list(writes_under_way(OWNER))
    ((sql, params),) = recorder.statements.values()
    assert any("(owner=? AND status=?)" in step for step in sqlite_plan(sql, params))


@pytest.mark.slow
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL chooses by what the table holds")
def test_what_waits_for_a_block_is_found_by_its_state(history: str) -> None:
    """What was decided of a block stays, and there may be thousands: half a millisecond of each read at 2,000."""
    client, label = Machine(history), reads.blocks(OWNER)[0].label
    with recorded() as recorder:
        client.call("read_memory_block", user_id=OWNER, block_label=label)
        made = client.call("propose_memory_append", user_id=OWNER, block_label=label, content="x", reasoning="r")
    assert made.status_code == 200
    asked = [each for form, each in recorder.statements.items() if "target_kind" in form and "status" in form]
    found = [step for sql, params in asked for step in sqlite_plan(sql, params) if "target_kind=?" in step]
    assert found
    assert all("status=?" in step for step in found), found


def test_nothing_reads_a_whole_table_that_grows(history: str) -> None:
    with recorded() as recorder:
        for name, work in _main_paths(history).items():
            recorder.doing = name
            work()
    assert len(recorder.statements) > 200, "the main paths made hardly any queries"
    found = full_scans(recorder.statements)
    assert not found, "\n\n".join(found)


def test_a_full_scan_would_be_noticed(history: str) -> None:
    with recorded() as recorder:
        list(ToolCall.objects.filter(request_id="none").order_by("request_bytes"))
    assert full_scans(recorder.statements)


def _main_paths(token: str) -> dict[str, Callable[[], Any]]:
    """What people and agents look at and do, and what is done by the clock, by name."""
    people = {"owner": Client(), "tutor": Client(), "staff": Client()}
    for role, username in {"owner": OWNER, "tutor": "tim", "staff": "admin"}.items():
        people[role].force_login(User.objects.get(username=username))
    agent = Client(headers={"Authorization": f"Bearer {token}"})
    return _looked_at(people, agent) | _done(people["owner"], agent)


def get(who: Client, path: str) -> None:
    assert who.get(path).status_code == 200, path


def _looked_at(people: dict[str, Client], agent: Client) -> dict[str, Callable[[], Any]]:
    label, note = reads.blocks(OWNER)[0].label, reads.notes(OWNER)[0].id
    decided = Proposal.objects.of_owner(OWNER).filter(status="approved").latest("pk").pk
    memory, api = f"/memory/{OWNER}/", f"/api/v1/users/{OWNER}/"
    filters = "about=block", "about=note", "agent=scribe", "kind=edit", "risk=any", "risk=hidden", "age=older", "q=exam"
    inboxes = ["/", "/?tab=decided", "/?tab=agent", "/?before=1700000000000000-5"]
    inboxes += [f"/?owner={OWNER}", f"/?target={label}"]
    inboxes += [f"/?{tab}{one}" for one in filters for tab in ("", "tab=decided&")]
    pages = f"""
        {memory} {memory}?page=2 {memory}search/?q=exam /settings/
        {memory}blocks/{label}/ {memory}blocks/{label}/?as_of=2100-01-01 {memory}blocks/{label}/history/
        {memory}notes/ {memory}notes/?q=exam {memory}notes/{note}/
        {memory}conversations/ {memory}conversations/session-session-1/
        {memory}export/memories.md {memory}export/memory.json
    """.split()
    addresses = f"""
        {api}blocks/ {api}blocks/{label}/ {api}blocks/{label}/history/
        {api}notes/ {api}notes/?q=exam {api}notes/{note}/ {api}memories.md
        {api}search/?q=exam&include_conversation=true {api}context/
        /api/v1/proposals/?user_id={OWNER} /api/v1/proposals/?user_id={OWNER}&status=approved
        /api/v1/proposals/{decided}/ /api/v1/token/ /readyz
        /api/v1/proposals/decisions/ /api/v1/proposals/decisions/?user_id={OWNER}&since=now
    """.split()
    lists = """
        approvals/proposal approvals/revision approvals/event approvals/agent approvals/user
        memory_app/change memory_app/chunk memory_app/message memory_app/searchindex
        agent_tools/toolcall agent_tools/idempotencykey agent_tools/agenttoken
    """.split()
    paths: dict[str, Callable[[], Any]] = {path: partial(get, agent, path) for path in addresses}
    for role, looked_at in {
        "tutor": inboxes,
        "staff": [*inboxes, *(f"/admin/{name}/" for name in lists)],
        "owner": pages,
    }.items():
        paths |= {f"{path} as {role}": partial(get, people[role], path) for path in looked_at}
    return paths


def _done(client: Client, agent: Client) -> dict[str, Callable[[], Any]]:
    owner = User.objects.get(username=OWNER)
    label, note = reads.blocks(OWNER)[0].label, reads.notes(OWNER)[0].id

    def post(path: str, **body: Any) -> Any:
        answer = agent.post(path, body, content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()["data"]

    def tool(name: str, **arguments: Any) -> Any:
        return post(f"/api/v1/tools/{name}/", user_id=OWNER, **arguments)

    def proposed(old: str, new: str) -> Proposal:
        edit = {"old_string": old, "new_string": new, "reasoning": "She said so.", "idempotency_key": new}
        made = tool("propose_memory_edit", block_label=label, **edit)
        return Proposal.objects.get(pk=made["proposal_id"])

    def approve_one() -> None:
        proposal = proposed(population.OLD, "Next session: Monday.")
        get(client, f"/proposals/{proposal.pk}/")
        approve(owner, proposal)
        get(client, f"/proposals/{proposal.pk}/")

    def reject_one() -> None:
        proposal = proposed("Next session: Monday.", "Next session: Tuesday.")
        services.reject(actor=owner, proposal_id=proposal.pk, revision=1, reason="wrong")

    messages, said = (
        f"/api/v1/users/{OWNER}/conversations/session-1/messages/",
        [{"role": "user", "content": "An owl!"}],
    )
    return {
        "save": partial(tool, "memory_save", content="She likes owls.", idempotency_key="owls"),
        "update": partial(tool, "memory_update", note_id=note, content="She likes algebra."),
        "approve": approve_one,
        "reject": reject_one,
        "recall": partial(tool, "recall", query="exam"),
        "prime": partial(tool, "prime_memories"),
        "list proposals": partial(tool, "list_proposals"),
        "delete a note": partial(tool, "memory_delete", note_id=note, reasoning="She asked for it."),
        "messages": partial(post, messages, messages=said),
        "reindex": partial(store.reindex, OWNER),
        "who is behind": index_state.owners_behind,
        "recheck": partial(services.recheck, OWNER, [["block", label], ["note", note]]),
        "recover": services.recover,
        "expire": services.expire,
        "purge conversations": conversations.purge,
        "purge calls": execution.purge,
        "purge keys": idempotency.purge,
    }
