"""A note that waits for a person is changed and taken back by the agent that proposed it, and is there for no other."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.utils import timezone

from agent_tools.models import IdempotencyKey
from approvals import services
from approvals.models import Agent, Proposal, Revision, Status, User
from approvals.recovery.integrity import problems
from approvals.review.presentation import review_of
from approvals.services import close
from approvals.services.errors import NewRevision
from memory_app import reads
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import proposed_import, save
from tests.support.crashing import crash_at
from tests.support.first import dolt
from tests.support.fixtures import ClientOf
from tests.support.pages import has_form, words

#: The module; the package has a function of this name.
PROPOSING = import_module("approvals.services.proposing")
MEM = "mem-1700000000-ab12"

Saved = dict[str, Any]


@pytest.fixture
def tea(call: Call, ask_first: None) -> Saved:
    """What memory_save answered: a note that waits."""
    return dict(answered(call("memory_save", content="Alice likes tea.", reasoning="She said so."))["data"])


def update(call: Call, tea: Saved, content: str = "Alice likes green tea.", **more: Any) -> Any:
    return call("memory_update", note_id=tea["note_id"], content=content, **more)


# -- changing it ----------------------------------------------------------------------------------


def test_an_update_amends_the_proposal(call: Call, tea: Saved, tim: User) -> None:
    answer = answered(update(call, tea))
    number = tea["proposal_id"]
    assert answer["text"].splitlines()[0] == (
        f"Your proposal {number} for note {tea['note_id']}, which waits, asks for this now."
    )
    data = answer["data"]
    assert (data["note_id"], data["proposal_id"], data["status"]) == (tea["note_id"], number, "open")
    assert (data["revision"], data["created"], data["branch"]) == (2, True, f"p/{number}-2")
    proposal = Proposal.objects.get()
    assert (proposal.current_revision_number, proposal.reasoning) == (2, "She said so.")
    assert proposal.target_title == proposal.current_revision.result_text == "Alice likes green tea."
    assert [name for name in dolt().branches() if name != "main"] == [f"p/{number}-2"]
    assert list(problems()) == []

    seen = review_of(proposal, tim).seen_sha256
    with pytest.raises(NewRevision):
        services.approve(actor=tim, proposal_id=number, revision=1, seen_sha256=seen)
    services.approve(actor=tim, proposal_id=number, revision=2, seen_sha256=seen)
    assert reads.note("alice", tea["note_id"]).content == "Alice likes green tea."
    assert answered(update(call, tea, "x"))["data"]["proposal_id"] != number


def test_the_same_update_again_makes_no_revision_and_a_new_reason_replaces_the_old_one(call: Call, tea: Saved) -> None:
    for _ in range(2):
        answer = answered(update(call, tea))
    assert (answer["data"]["revision"], answer["data"]["created"]) == (2, False)
    assert "asks for exactly this already; nothing new was made." in answer["text"]
    assert Revision.objects.count() == 2
    answered(update(call, tea, "No tea.", reasoning="She took it back."))
    assert Proposal.objects.get().reasoning == "She took it back."
    error = refused(update(call, tea, "x" * 2_001), 400, "invalid_arguments")
    assert "content" in error["details"]["fields"]


def test_a_note_being_decided_is_not_changed(call: Call, tea: Saved) -> None:
    Proposal.objects.update(status=Status.MERGING, lease_expires_at=timezone.now() + timedelta(hours=1))
    for response in (update(call, tea), call("memory_delete", note_id=tea["note_id"])):
        error = refused(response, 409, "being_decided")
        assert error["details"]["proposal"]["proposal_id"] == tea["proposal_id"]
    Proposal.objects.update(status=Status.OPEN, lease_expires_at=None)


def test_its_page_is_there_while_it_is_amended(
    call: Call, tea: Saved, alice: User, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, page = client_of(alice), f"/proposals/{tea['proposal_id']}/"
    decision = {"revision": 1, "seen_sha256": ""}
    finish, answers = PROPOSING.finish, []

    def looked_at_before(proposal: Any, **how: Any) -> Any:
        answers.extend([client.get(page), client.get(f"{page}?revision=1"), client.post(f"{page}approve/", decision)])
        return finish(proposal, **how)

    monkeypatch.setattr(PROPOSING, "finish", looked_at_before)
    answered(update(call, tea))
    assert [answer.status_code for answer in answers] == [200, 200, 409]
    now, earlier, refusal = map(words, answers)
    for said in (now, refusal):
        assert "scribe is changing this proposal right now." in said
        assert "Alice likes green tea." in said
    assert "Alice likes tea." in earlier
    assert not any(has_form(answer, f"{page}approve/") or has_form(answer, f"{page}reject/") for answer in answers)
    assert has_form(client.get(page), f"{page}approve/")


# -- taking it back -------------------------------------------------------------------------------


def delete_once(token: str, note_id: str, key: str) -> Any:
    """A call of `memory_delete` that may be killed, or sent again."""
    asked = {"note_id": note_id, "reasoning": "A mistake.", "idempotency_key": key}
    # The process that is killed is none of pytest's, where each host is allowed.
    return Machine(token).post("/api/v1/tools/memory_delete/", asked, Host="localhost")


def test_a_delete_withdraws_the_proposal(call: Call, tea: Saved) -> None:
    answer = answered(call("memory_delete", note_id=tea["note_id"], reasoning="A misunderstanding."))
    note_id, number = tea["note_id"], tea["proposal_id"]
    assert answer["text"] == (
        f"Note {note_id} was not in the memory yet: your proposal {number}, which waited, is withdrawn."
    )
    assert (answer["data"]["status"], answer["data"]["content_sha256"]) == ("withdrawn", None)
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.decision_comment) == (Status.WITHDRAWN, "A misunderstanding.")
    assert list(problems()) == []
    error = refused(call("memory_delete", note_id=tea["note_id"]), 404, "note_not_found")
    assert error["details"] == {"note_id": note_id, "proposal_id": number}
    assert error["text"].splitlines() == [
        f"Error: Note '{note_id}' not found.",
        f"Your proposal {number}, which was to make it, is withdrawn already.",
    ]


@pytest.mark.slow
def test_a_delete_killed_and_sent_again_answers_as_the_first_would(call: Call, ask_first: None, token: str) -> None:
    step, crashed, answers = 0, True, []
    while crashed:
        step += 1
        saved = answered(call("memory_save", content=f"Alice likes tea number {step}."))["data"]
        crashed = crash_at(step, delete_once, token, saved["note_id"], f"key {step}")
        IdempotencyKey.objects.update(lease_expires_at=timezone.now())
        Proposal.objects.exclude(lease_expires_at=None).update(lease_expires_at=timezone.now())
        said = answered(delete_once(token, saved["note_id"], f"key {step}"))
        answers.append((said["text"].replace(saved["note_id"], "N"), saved["proposal_id"], said["data"]))
    assert len(answers) > 5, "the writes were not counted"
    for text, number, data in answers:
        assert text == f"Note N was not in the memory yet: your proposal {number}, which waited, is withdrawn."
        assert (data["proposal_id"], data["status"], data["content_sha256"]) == (number, "withdrawn", None)
    assert set(Proposal.objects.values_list("status", flat=True)) == {Status.WITHDRAWN}


def test_a_delete_sent_again_leaves_what_is_proposed_under_the_id_now(call: Call, ask_first: None, token: str) -> None:
    first = answered(call("remember", content="Bees.", memory_id=MEM))["data"]
    answered(delete_once(token, MEM, "once"))
    IdempotencyKey.objects.filter(key="once").update(status=None, lease_expires_at=timezone.now())  # not answered
    second = answered(call("remember", content="Bees.", memory_id=MEM))["data"]
    again = answered(delete_once(token, MEM, "once"))["data"]
    assert (again["proposal_id"], again["status"]) == (first["proposal_id"], "withdrawn")
    assert Proposal.objects.open().get().pk == second["proposal_id"]


def test_what_is_amended_while_it_is_taken_back_is_taken_back_too(
    call: Call, tea: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = close._OF_AGENT.first

    def read_before_it_is_amended(**asked: Any) -> Any:
        found = read(**asked)
        monkeypatch.undo()
        answered(update(call, tea))
        return found

    monkeypatch.setattr(close._OF_AGENT, "first", read_before_it_is_amended)
    data = answered(call("memory_delete", note_id=tea["note_id"]))["data"]
    assert (data["status"], data["revision"]) == ("withdrawn", 2)
    assert Proposal.objects.get().status == Status.WITHDRAWN
    assert list(problems()) == []


def test_a_delete_sent_again_after_its_texts_were_removed_is_told_so(tea: Saved, token: str, alice: User) -> None:
    answered(delete_once(token, tea["note_id"], "once"))
    services.redact(actor=alice, proposal_id=tea["proposal_id"])
    error = refused(delete_once(token, tea["note_id"], "once"), 409, "already_decided")
    assert error["details"]["proposal"]["redacted"] is True


# -- where it is not there yet --------------------------------------------------------------------


def test_forget_and_remember_say_that_it_waits(call: Call, alice: User, tea: Saved) -> None:
    note_id, number = tea["note_id"], tea["proposal_id"]
    error = refused(call("forget", memory_id=note_id), 409, "note_waits")
    assert error["text"].splitlines()[0] == (
        f"Error: Note '{note_id}' is not in the memory yet: it waits as your proposal {number}."
    )
    assert "The user, or a tutor of theirs, decides about it at " in error["text"]
    assert error["details"]["argument"] == "memory_id"
    assert error["details"]["proposal"]["proposal_id"] == number
    error = refused(call("forget", memory_id=save(alice), replacement_id=note_id), 409, "note_waits")
    assert (error["details"]["argument"], error["details"]["note_id"]) == ("replacement_id", note_id)

    remembered = answered(call("remember", content="Bees.", memory_id=MEM))["data"]
    again = answered(call("remember", content="Bees.", memory_id=MEM))["data"]
    assert (again["proposal_id"], again["created"]) == (remembered["proposal_id"], False)
    error = refused(call("remember", content="Wasps.", memory_id=MEM), 409, "note_waits")
    assert (error["details"]["argument"], error["details"]["note_id"]) == ("memory_id", MEM)


def test_a_note_of_a_waiting_import_is_said_to_wait(call: Call, scribe: Agent) -> None:
    number = proposed_import(scribe, 2).pk
    for response in (
        call("memory_update", note_id="mem-1-aaaa", content="x"),
        call("memory_delete", note_id="mem-1-aaaa"),
        call("forget", memory_id="mem-1-aaaa"),
    ):
        error = refused(response, 409, "note_waits")
        assert error["details"]["proposal"]["proposal_id"] == number
        assert "It is part of an import" in error["text"]


def test_for_another_agent_or_owner_there_is_no_such_note(
    rival: Machine, issue: Issue, alice: User, ben: User, tea: Saved
) -> None:
    note_id = tea["note_id"]
    refused(update(rival.call, tea), 404, "note_not_found")
    refused(rival.call("memory_delete", note_id=note_id), 404, "note_not_found")
    refused(rival.call("forget", memory_id=note_id), 404, "note_not_found")
    refused(update(Machine(issue(alice, ben)).call, tea, user_id="ben"), 404, "note_not_found")
    assert Proposal.objects.open().count() == 1


def test_as_a_file_it_is_read_and_amended_as_it_waits(call: Call, tea: Saved) -> None:
    path = f"/memories/notes/{tea['note_id']}.md"
    assert answered(call("view_file", path=path))["text"] == "Alice likes tea."
    answered(call("edit_file", path=path, old_string="tea", new_string="mate"))
    answered(call("append_to_file", path=path, content=" A lot.", proposal_id=tea["proposal_id"]))
    shown = answered(call("get_proposal", proposal_id=tea["proposal_id"]))["data"]
    assert (shown["revision"], shown["notes"][0]["after"]["content"]) == (3, "Alice likes mate. A lot.")
    assert Proposal.objects.count() == 1
