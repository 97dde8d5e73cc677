"""A call that is cut between its commit and the books: readers see what the memory says, and it is finished."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import override_settings

from approvals.models import Proposal, Status, User
from approvals.pages import notes_page
from approvals.pages.notes_page import Wanted
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.models import Change
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call, Machine
from tests.support.crashing import killed, let_leases_run_out
from tests.support.fixtures import ClientOf

CUT = """
from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.writing import commits
commits.{at} = die
by = ChangeContext(actor={actor}.objects.get(), may_apply=True)
notes.{verb}(by=by, owner="alice", {arguments})
"""


def cut(verb: str, *, actor: str = "Agent", at: str = "record", **given: str) -> None:
    """Change a note in a process that dies at a step of its commit, by default before it is recorded."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    killed(CUT.format(verb=verb, actor=actor, at=at, arguments=arguments))


def listed(api: Machine) -> list[str]:
    return [item["content"] for item in answered(api.get("/api/v1/users/alice/notes/"))["data"]["items"]]


def recalled(call: Call, **arguments: Any) -> list[str]:
    return [memory["content"] for memory in answered(call("recall", **arguments))["data"]["memories"]]


@pytest.mark.slow
def test_a_new_note_is_listed_and_recalled(api: Machine, call: Call, alice: User) -> None:
    call("memory_save", content="She sails.")
    assert listed(api) == ["She sails."]
    cut("save", content="She rows.")
    assert Change.objects.count() == 1
    assert listed(api) == recalled(call) == ["She rows.", "She sails."]


@pytest.mark.slow
def test_a_superseded_note_is_not_given_as_one_that_holds(api: Machine, call: Call, alice: User) -> None:
    note_id = answered(call("memory_save", content="She sails."))["data"]["note_id"]
    assert recalled(call) == recalled(call, query="sails") == ["She sails."]
    cut("supersede", note_id=note_id)
    assert listed(api) == recalled(call) == recalled(call, query="sails") == []
    assert recalled(call, query="sail", match="text") == []
    assert recalled(call, include_superseded=True) == ["She sails."]


def test_what_changed_since_it_was_found_is_looked_at_again(call: Call, alice: User) -> None:
    note_id = answered(call("memory_save", content="She sails."))["data"]["note_id"]
    entries = list(notes_page.listed("alice", Wanted()))
    notes.supersede(by=ChangeContext(actor=alice), owner="alice", note_id=note_id)
    assert notes_page.notes_of("alice", entries, Wanted()) == ()
    assert len(notes_page.notes_of("alice", entries, Wanted(superseded="shown"))) == 1


@pytest.mark.slow
def test_a_search_that_does_not_know_of_it_says_so(call: Call, alice: User) -> None:
    call("memory_save", content="She sails.")
    for tool in ("recall", "memory_search"):
        assert answered(call(tool, query="sails"))["data"]["index_behind"] is False
    cut("save", content="She rows.")
    for tool in ("recall", "memory_search"):
        assert answered(call(tool, query="rows"))["data"]["index_behind"] is True


@pytest.mark.slow
@override_settings(CELERY_TASK_ALWAYS_EAGER=True)
def test_without_a_worker_whoever_reads_finishes_it(call: Call, alice: User) -> None:
    cut("save", content="She rows.")
    answered(call("recall"))
    assert Proposal.objects.get().status == Status.PREPARING  # somebody may be at it
    let_leases_run_out()
    answered(call("recall"))
    assert Proposal.objects.get().status == Status.PREPARING  # looked at this moment
    cache.clear()  # half a minute later
    data = answered(call("recall", query="rows"))["data"]
    assert Proposal.objects.get().status == Status.APPLIED
    assert ([memory["content"] for memory in data["memories"]], data["index_behind"]) == (["She rows."], False)
    assert list(problems()) == []


@pytest.mark.slow
@override_settings(CELERY_TASK_ALWAYS_EAGER=True)
@pytest.mark.parametrize("page", ["/", "/memory/alice/notes/"])
def test_a_persons_own_change_is_recorded_by_whoever_reads(alice: User, client_of: ClientOf, page: str) -> None:
    cut("save", actor="User", content="She rows.")
    assert client_of(alice).get(page).status_code == 200
    assert Change.objects.get().action == "created"
    assert list(problems()) == []


@pytest.mark.slow
def test_its_page_is_there_once_it_is_finished(alice: User, token: str, client_of: ClientOf) -> None:
    cut("save", content="She rows.")
    address = Proposal.objects.get().get_absolute_url()
    assert client_of(alice).get(address).status_code == 404
    let_leases_run_out()
    assert client_of(alice).get(address).status_code == 200


@pytest.mark.slow
def test_the_page_of_one_that_no_longer_fits_is_not_there(call: Call, alice: User, client_of: ClientOf) -> None:
    note_id = answered(call("memory_save", content="She sails."))["data"]["note_id"]
    cut("update", at="write_main", note_id=note_id, content="She rows.")
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=note_id, content="She swims.")
    let_leases_run_out()
    address = Proposal.objects.get(status=Status.PREPARING).get_absolute_url()
    assert client_of(alice).get(address).status_code == 404
    assert not Proposal.objects.filter(status=Status.PREPARING).exists()
