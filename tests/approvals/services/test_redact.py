"""Removing the texts of what was not taken: they are in no table, no file, no answer and on no page."""

import gc
import re
from datetime import timedelta
from functools import _lru_cache_wrapper
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from agent_tools.calls import execution
from agent_tools.models import IdempotencyKey, ToolCall
from approvals import services
from approvals.models import Agent, Event, Proposal, Revision, Status, User
from approvals.recovery.integrity import problems
from approvals.review.targets import agents_revision
from approvals.services import notes, preparing, texts
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.reads import Block
from memory_app.text import worddiff
from tests import environment
from tests.agent_tools.conftest import Machine
from tests.conftest import eventually
from tests.support.acts import approve, as_seen, reject
from tests.support.background import wait_for_thread
from tests.support.crashing import killed
from tests.support.first import dolt
from tests.support.fixtures import ClientOf, Propose
from tests.support.refusals import refusing
from tests.support.traces import files_with, tables_with

pytestmark = pytest.mark.slow

SECRET = "zebrafinch"


@pytest.fixture(autouse=True)
def deleted_is_overwritten() -> None:
    if environment.is_embedded():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


#: What an agent says with a change, with the word in every field that takes one.
SAID = {
    "reasoning": f"She told me of her {SECRET}.",
    "session_id": f"session-{SECRET}",
    "evidence": [{"role": "user", "content": f"My {SECRET} sings."}],
    "idempotency_key": "k",
}


@pytest.fixture
def machine(token: str) -> Machine:
    return Machine(token)


def proposed(machine: Machine, old: str, new: str) -> Proposal:
    """What an agent proposed over HTTP."""
    response = machine.call("propose_memory_edit", block_label="goals", old_string=old, new_string=new, **SAID)
    assert response.status_code == 200, response.content
    execution.settle()  # a process that is killed below waits for its own rows, not for those of this one
    return Proposal.objects.get()


@pytest.fixture
def secret(goals: Block, machine: Machine) -> Proposal:
    return proposed(machine, "likes math", f"likes math and her {SECRET}")


def imported(machine: Machine, *texts: str) -> Proposal:
    """The waiting import of a file that an agent sent."""
    file = "".join(f"### mem-{number}-aaaa\n> {text}\n\n" for number, text in enumerate(texts, 1))
    path, headers = "/api/v1/users/alice/memories.md", {"Idempotency-Key": "k"}
    response = machine.http.post(path, file, content_type="text/markdown", headers=headers)
    assert response.status_code == 200, response.content
    return Proposal.objects.get()


def collected() -> None:
    """Wait for the worker, or the thread in its place."""
    if environment.is_embedded():
        wait_for_thread(texts.THREAD)
        assert not texts.is_garbage_left()
    else:
        # Dolt keeps what some session still stands on, a task of the worker for one; the next collection takes it.
        eventually(lambda: texts.collect() >= 0 and not texts.is_garbage_left(), seconds=30)


def require_gone(proposal: Proposal) -> None:
    """Wait until the word is nowhere, and what the agent proposed is no commit any more."""
    collected()
    assert tables_with(SECRET) == files_with(SECRET, "default") == files_with(SECRET, "memory") == []
    with pytest.raises(RevisionNotFound):
        dolt().log(agents_revision(proposal).head_commit, limit=1)


def test_rejected_as_too_private_it_is_nowhere_any_more(secret: Proposal, tim: User) -> None:
    before = set(tables_with(SECRET))
    assert {model._meta.db_table for model in (Proposal, Event, IdempotencyKey, ToolCall)} <= before
    if environment.is_embedded():
        assert files_with(SECRET, "memory") == []  # sealed there
        assert files_with(SECRET, "default")
    reject(tim, secret, "too_private", comment="Not about her birds.")
    assert tables_with(SECRET) == []  # before anything is collected
    require_gone(secret)


def test_what_pages_compared_and_drew_of_it_is_not_kept(secret: Proposal, tim: User, client_of: ClientOf) -> None:
    gc.unfreeze()  # or what was made at the start is not listed

    def keeping() -> list[str]:
        # Not `isinstance`, which makes what is lazy ask the request.
        memoised = [each for each in gc.get_objects() if type(each) is _lru_cache_wrapper]
        ours = [each for each in memoised if each.__module__.startswith("approvals.")]
        return [each.__qualname__ for each in ours if SECRET in repr(gc.get_referents(each))]

    for url in ("/", secret.get_absolute_url()):
        assert SECRET in client_of(tim).get(url).content.decode()
    assert keeping()
    reject(tim, secret, "too_private")
    assert keeping() == []


@pytest.mark.parametrize("rest", services.Rest)
def test_what_was_left_out_of_a_part_is_removed_and_what_was_approved_stays(
    goals: Block, alice: User, tim: User, machine: Machine, client_of: ClientOf, rest: services.Rest
) -> None:
    wanted = goals.body.replace("math", "maths").replace("one book", f"one book on the {SECRET}")
    proposal = proposed(machine, goals.body, wanted)
    first = worddiff.hunks(goals.body, wanted)[0].id
    part: dict[str, Any] = {"accepted": [first], "rest": rest, "reason": "wrong", "comment": "Only maths."}
    services.approve_some(actor=tim, **as_seen(proposal), **part)
    other = {"old_string": "B2", "new_string": "C1", "reasoning": "Hers.", "idempotency_key": "later"}
    assert SECRET in machine.call("propose_memory_edit", block_label="goals", **other).content.decode()
    with refusing("not_allowed"):
        services.redact(actor=tim, proposal_id=proposal.pk)

    proposal = services.redact(actor=alice, proposal_id=proposal.pk)

    assert tables_with(SECRET) == []
    assert (proposal.status, proposal.is_redacted, proposal.rest_went_back) == (Status.APPROVED, True, False)
    assert (proposal.decided_by, proposal.decision_comment) == (tim, "Only maths.")
    assert proposal.current_revision.result_text == reads.block("alice", "goals").body
    require_gone(proposal)
    assert list(problems()) == []
    answer = machine.call("get_proposal", proposal_id=proposal.pk).json()
    assert (answer["data"]["not_accepted"], answer["data"]["propose_again"]) == ([], False)
    items = machine.call("list_proposals", decided_since="").json()["data"]["items"]
    assert [(item["proposal_id"], item["not_accepted"], item["is_cut"]) for item in items] == [(proposal.pk, [], False)]
    client = client_of(tim)
    page = client.get(proposal.get_absolute_url()).content.decode()
    assert "The texts were removed" in page
    assert re.search(r"<ins>.*maths.*</ins>", page)
    for more in ("?revision=1", "?view=side", "?since=1"):
        assert client.get(f"{proposal.get_absolute_url()}{more}").status_code == 200
    assert services.redact(actor=alice, proposal_id=proposal.pk).redacted_at == proposal.redacted_at
    services.undo(actor=tim, proposal_id=proposal.pk)
    assert reads.block("alice", "goals").body == goals.body


@pytest.mark.usefixtures("ask_first")
def test_notes_left_out_of_an_import_are_removed(alice: User, machine: Machine) -> None:
    proposal = imported(machine, "She sails.", f"Her {SECRET} sings.")
    part: dict[str, Any] = {"accepted": ["mem-1-aaaa"], "rest": services.Rest.REJECT, "reason": "wrong"}
    services.approve_some(actor=alice, **as_seen(proposal), **part)
    services.redact(actor=alice, proposal_id=proposal.pk)
    require_gone(proposal)
    assert [note.content for note in reads.notes("alice")] == ["She sails."]


def test_what_remains_says_who_when_and_why(secret: Proposal, tim: User) -> None:
    proposal = reject(tim, secret, "too_private", comment="Not about her birds.")
    assert (proposal.is_redacted, proposal.status, proposal.decided_by) == (True, Status.REJECTED, tim)
    assert (proposal.decision_reason, proposal.decision_comment) == ("too_private", "Not about her birds.")
    assert (proposal.owner, proposal.target, proposal.target_title) == ("alice", "goals", "goals")
    assert proposal.agent.name == "scribe"
    told = [(event.what, event.actor, event.text) for event in proposal.events.all()]
    rejected = ("rejected", "tim", "Not about her birds.")
    assert told == [("proposed", "scribe", ""), rejected, ("redacted", "tim", "")]
    assert proposal.current_revision.head_commit


@pytest.mark.parametrize("reason", ["wrong", "other"])
def test_any_other_reason_keeps_the_texts(secret: Proposal, tim: User, reason: str) -> None:
    proposal = reject(tim, secret, reason, comment="x")
    assert not proposal.is_redacted
    assert SECRET in proposal.current_revision.result_text
    assert not texts.is_garbage_left()


@pytest.mark.usefixtures("ask_first")
def test_a_note_is_removed_the_same_way(alice: User, scribe: Agent) -> None:
    by = ChangeContext(actor=scribe, may_apply=True, reasoning=f"About a {SECRET}.", session_id=SECRET)
    said = {"tags": [SECRET], "rationale": SECRET, "category": SECRET}
    made = notes.save(by=by, owner="alice", content=f"Has a {SECRET}.", **said)
    require_gone(reject(alice, made.proposal, "too_private"))


@pytest.mark.usefixtures("ask_first")
def test_an_import_is_removed_the_same_way(alice: User, machine: Machine) -> None:
    proposal = reject(alice, imported(machine, *[f"{SECRET}\n#{SECRET}"] * 5), "too_private")
    require_gone(proposal)
    assert not proposal.proposed_notes.exists()


@pytest.mark.parametrize("how", ["rejected", "withdrawn", "expired"])
def test_an_owner_has_it_removed_afterwards(secret: Proposal, alice: User, tim: User, scribe: Agent, how: str) -> None:
    if how == "rejected":
        reject(tim, secret)
    elif how == "withdrawn":
        services.withdraw(agent=scribe, proposal_id=secret.pk, comment=f"No {SECRET} after all.")
    else:
        Proposal.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
        services.expire()
    assert SECRET in Proposal.objects.get().reasoning
    proposal = services.redact(actor=alice, proposal_id=secret.pk)
    assert proposal.status == how
    last = proposal.events.last()
    assert (last.what, last.actor) == ("redacted", "alice")
    require_gone(secret)


def test_removing_twice_is_removing_once(secret: Proposal, alice: User) -> None:
    first = reject(alice, secret, "too_private").redacted_at
    for _ in range(2):
        assert services.redact(actor=alice, proposal_id=secret.pk).redacted_at == first
    assert Event.objects.filter(what="redacted").count() == 1


def test_what_waits_or_was_taken_is_not_removed(secret: Proposal, alice: User) -> None:
    with refusing("decision_refused", match="not decided yet"):
        services.redact(actor=alice, proposal_id=secret.pk)
    approve(alice, secret)
    with refusing("decision_refused", match="in the memory"):
        services.redact(actor=alice, proposal_id=secret.pk)
    assert SECRET in Proposal.objects.get().reasoning


def test_only_the_owner_and_staff_may(secret: Proposal, alice: User, tim: User, mallory: User, admin: User) -> None:
    reject(alice, secret)
    with refusing("not_allowed"):
        services.redact(actor=tim, proposal_id=secret.pk)
    with refusing("proposal_not_found"):
        services.redact(actor=mallory, proposal_id=secret.pk)
    assert SECRET in Proposal.objects.get().reasoning
    assert services.redact(actor=admin, proposal_id=secret.pk).is_redacted


def test_texts_of_other_proposals_stay(secret: Proposal, goals: Block, alice: User, propose: Propose) -> None:
    other = propose(goals, "B2 exam", "C1 exam")
    reject(alice, secret, "too_private")
    collected()
    approve(alice, other)
    assert "C1 exam" in reads.block("alice", "goals").body


REJECT = """
from django.db import connection
if connection.vendor == "sqlite":
    connection.cursor().execute("PRAGMA secure_delete = ON")
from approvals import services
from approvals.models import Proposal, User
from approvals.services import texts
from approvals.services import close
from memory_app.dolt import maintenance
{crash}
services.reject(actor=User.objects.get(username="alice"), proposal_id=Proposal.objects.get().pk, revision=1,
                reason="too_private")
die()
"""


@pytest.mark.parametrize(
    "crash",
    [
        "close.drop_branches = die",  # after the rows, before the branch
        "texts.collect_soon = die",  # after the branch, before the garbage
        "texts.collect_soon = texts.collect; maintenance.collect_garbage = die",
        "texts.collect_soon = texts.collect; remove = texts._remove_copies\n"
        "texts._remove_copies = lambda p: die() if p.is_redacted else remove(p)",
    ],
)
def test_killed_at_any_step_it_is_finished(secret: Proposal, alice: User, crash: str) -> None:
    killed(REJECT.format(crash=crash))
    proposal = Proposal.objects.get()
    assert proposal.is_redacted
    assert texts.is_garbage_left()
    report = services.recover()
    if environment.is_embedded():
        assert report.texts_collected == 1
    require_gone(proposal)
    assert services.recover().texts_collected == 0


def test_before_its_row_is_written_nothing_has_happened(secret: Proposal, alice: User) -> None:
    killed(REJECT.format(crash="texts.remove = die"))
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.is_redacted) == (Status.OPEN, False)
    assert SECRET in proposal.current_revision.result_text


def test_without_a_worker_whoever_reads_has_it_finished(secret: Proposal, alice: User, client_of: ClientOf) -> None:
    if not environment.is_embedded():
        pytest.skip("a worker's beat does it")
    killed(REJECT.format(crash="texts.collect_soon = die"))
    assert client_of(alice).get("/").status_code == 200
    eventually(lambda: not texts.is_garbage_left())
    require_gone(Proposal.objects.get())


def test_a_branch_made_again_while_its_proposal_is_removed_goes_too(
    secret: Proposal, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`recover` has read the texts; the owner removes them; then it writes the branch."""
    dolt().drop_branch(secret.current_revision.branch)
    written = list[str]()

    def removed_in_between(proposal: Proposal, revision: Revision) -> str:
        reject(alice, proposal, "too_private")
        collected()
        written.append(preparing.write_revision_branch(proposal, revision))
        return written[-1]

    monkeypatch.setattr(preparing, "write_again", removed_in_between)
    services.recover()

    assert written
    assert not dolt().exists(secret.current_revision.branch)
    eventually(lambda: texts.collect() >= 0 and not texts.is_garbage_left(), seconds=30)
    with pytest.raises(RevisionNotFound):
        dolt().log(written[0], limit=1)
