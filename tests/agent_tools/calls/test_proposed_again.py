"""What people rejected is answered with their reason when its agent proposes it again, before anything is made."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Policy, Proposal, RejectedFingerprint, RejectReason, ReviewReason, Status, User
from approvals.review.turn import COUNTING
from approvals.services import notes, repeating
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.first import dolt

TEA = {"old_string": "likes math.", "new_string": "likes math. She drinks green tea before every exam."}


def proposed(call: Call, reasoning: str = "She said so.", **more: Any) -> Any:
    return call("propose_memory_edit", block_label="goals", reasoning=reasoning, **{**TEA, **more})


def rejected(tim: User, answer: Any, reason: str = "wrong", comment: str = "It is coffee.") -> Proposal:
    number = answer.json()["data"]["proposal_id"]
    return services.reject(actor=tim, proposal_id=number, revision=1, reason=reason, comment=comment)


@pytest.fixture
def ask_first(alice: User) -> None:
    Policy.objects.create(owner=alice.username, notes=Policy.Notes.REVIEW)


def error_of(answer: Any) -> Any:
    assert answer.status_code == 409, answer.json()["text"]
    error = answer.json()["error"]
    assert error["code"] == "rejected_before"
    return error["details"]


# -- blocks ---------------------------------------------------------------------------------------


def test_it_is_answered_with_the_earlier_reason_and_nothing_is_made(call: Call, goals: Block, tim: User) -> None:
    first = rejected(tim, proposed(call))
    branches = dolt().branches()
    answer = proposed(call)
    details = error_of(answer)
    assert (details["proposal_id"], details["reason"], details["comment"]) == (first.pk, "wrong", "It is coffee.")
    assert details["decided_by"] == "tim"
    assert details["passages"] == ["She drinks green tea before every exam."]
    assert answer.json()["text"].startswith("Error: The user rejected this before.")
    assert "It is coffee." in answer.json()["text"]
    assert list(Proposal.objects.all()) == [first]
    assert dolt().branches() == branches


TEA_IN_OTHER_WORDS = "Before every exam, she drinks green tea."


@pytest.mark.parametrize(
    ("reason", "again", "is_repeated"),
    [
        (
            "wrong",
            {"old_string": "June.", "new_string": "June.\n\n- she drinks GREEN tea, before every exam\n"},
            True,
        ),
        ("wrong", {"new_string": "likes math. “She drinks green tea before every exam!”"}, True),
        ("wrong", {"new_string": "likes math. She drinks coffee before every exam."}, False),
        ("wrong", {"new_string": "likes math. She never drinks green tea before every exam."}, False),
        ("wrong", {"new_string": "likes math. She drinks green tea."}, False),
        ("wrong", {"new_string": f"likes math. {TEA_IN_OTHER_WORDS}"}, False),
        ("badly_worded", {}, True),
        ("badly_worded", {"new_string": f"likes math. {TEA_IN_OTHER_WORDS}"}, False),
        ("duplicate", {}, False),
    ],
)
def test_the_same_words_are_recognised_wherever_they_stand_and_another_statement_is_asked_about(
    call: Call, goals: Block, tim: User, reason: str, again: dict[str, str], is_repeated: bool
) -> None:
    rejected(tim, proposed(call), reason=reason)
    answer = proposed(call, **again)
    if is_repeated:
        error_of(answer)
        return
    assert call("withdraw_proposal", proposal_id=answer.json()["data"]["proposal_id"]).status_code == 200
    assert proposed(call, **again).json()["data"]["created"], "taking it back is no rejection"


def test_a_rewrite_that_has_it_again_is_recognised(call: Call, api: Any, goals: Block, tim: User) -> None:
    rejected(tim, proposed(call))
    body = f"{goals.body}\n\nShe drinks green tea before every exam."
    answer = api.post("/api/v1/users/alice/blocks/goals/propose/", {"body": body, "reasoning": "All in one."})
    assert error_of(answer)["passages"] == ["She drinks green tea before every exam."]


def test_what_was_too_private_is_recognised_without_its_text(call: Call, goals: Block, tim: User) -> None:
    first = rejected(tim, proposed(call), reason="too_private", comment="Not for agents.")
    assert not first.current_revision.result_text
    details = error_of(proposed(call))
    assert (details["proposal_id"], details["comment"]) == (first.pk, "Not for agents.")
    assert details["passages"] == []  # an answer kept under a key would keep them
    assert error_of(proposed(call, force=True))["force_needs"] == "new_reasoning", "though it was removed"


def test_it_is_recognised_by_the_secret_also_after_that_was_rotated(
    call: Call, goals: Block, tim: User, settings: Any
) -> None:
    rejected(tim, proposed(call))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret of another installation, as long as it has to be"
    error_of(proposed(call))
    settings.SECRET_KEY_FALLBACKS = []
    assert proposed(call).status_code == 200


def test_with_force_and_new_reasoning_a_person_is_asked_again(call: Call, goals: Block, tim: User) -> None:
    first = rejected(tim, proposed(call))
    answer = proposed(call, reasoning="She corrected herself today.", force=True)
    assert answer.json()["data"]["waits_because"] == "repeated"
    second = Proposal.objects.get(pk=answer.json()["data"]["proposal_id"])
    assert (second.answers_id, second.status, second.review_reason) == (first.pk, Status.OPEN, ReviewReason.REPEATED)


def test_force_takes_reasoning_that_no_rejection_has_heard(call: Call, goals: Block, tim: User) -> None:
    rejected(tim, proposed(call))
    rejected(tim, proposed(call, reasoning="She corrected herself today.", force=True))
    for heard in ("She said so.", "she  said so!"):
        answer = proposed(call, reasoning=heard, force=True)
        assert error_of(answer)["force_needs"] == "new_reasoning"
        assert "say what has changed" in answer.json()["text"]
    assert Proposal.objects.count() == 2
    assert proposed(call, reasoning="Her mother confirmed it.", force=True).status_code == 200


def test_force_changes_nothing_about_what_was_never_rejected(call: Call, goals: Block) -> None:
    assert proposed(call, force=True).json()["data"]["waits_because"] is None


def test_an_equal_one_that_waits_is_returned(call: Call, goals: Block, tim: User) -> None:
    rejected(tim, proposed(call))
    forced = proposed(call, reasoning="She corrected herself today.", force=True).json()["data"]
    again = proposed(call).json()["data"]
    assert (again["proposal_id"], again["created"]) == (forced["proposal_id"], False)


def test_a_rejection_that_was_undone_counts_no_longer(call: Call, goals: Block, tim: User) -> None:
    first = rejected(tim, proposed(call))
    services.undo(actor=tim, proposal_id=first.pk)
    assert not RejectedFingerprint.objects.exists()
    assert proposed(call).json()["data"]["proposal_id"] == first.pk


def test_a_person_who_approves_it_after_all_overrules_the_rejection(call: Call, goals: Block, tim: User) -> None:
    rejected(tim, proposed(call))
    number = proposed(call, reasoning="She corrected herself today.", force=True).json()["data"]["proposal_id"]
    services.approve(actor=tim, proposal_id=number, revision=1, seen_sha256=goals.sha256)
    assert not RejectedFingerprint.objects.exists()


def test_after_its_time_it_counts_no_longer(call: Call, goals: Block, tim: User, settings: Any) -> None:
    rejected(tim, proposed(call))
    RejectedFingerprint.objects.update(decided_at=timezone.now() - timedelta(days=181))
    assert proposed(call).status_code == 200
    assert repeating.purge()
    assert not RejectedFingerprint.objects.exists()


def test_installations_may_leave_it_out(call: Call, goals: Block, tim: User, settings: Any) -> None:
    settings.REJECTION_COUNTS = timedelta(0)
    rejected(tim, proposed(call))
    assert not RejectedFingerprint.objects.exists()
    assert proposed(call).status_code == 200


def test_answering_a_request_for_changes_is_no_repetition(call: Call, goals: Block, tim: User) -> None:
    rejected(tim, proposed(call))
    other = proposed(call, new_string="likes math a lot.").json()["data"]["proposal_id"]
    services.request_changes(actor=tim, proposal_id=other, revision=1, comment="Say it with the tea.")
    assert proposed(call, proposal_id=other).json()["data"]["amended"]


# -- who is told ----------------------------------------------------------------------------------


def test_rejections_of_other_agents_and_owners_are_nobodys_business(
    call: Call, goals: Block, tim: User, alice: User, issue: Issue
) -> None:
    rejected(tim, proposed(call))
    other = Machine(issue(alice, agent=Agent.objects.create(name="archivist")))
    assert proposed(other.call).status_code == 200


# -- notes ----------------------------------------------------------------------------------------


def saved(call: Call, content: str = "She is allergic to wasp stings.", **more: Any) -> Any:
    return call("memory_save", content=content, reasoning=more.pop("reasoning", "Heard it."), **more)


def test_a_rejected_note_is_answered_with_the_reason_also_after_the_policy_changed(
    call: Call, ask_first: None, tim: User
) -> None:
    rejected(tim, saved(call))
    assert error_of(saved(call, "she is allergic to wasp stings"))["comment"] == "It is coffee."
    assert error_of(saved(call, reasoning="", force=True))["force_needs"] == "reasoning"
    Policy.objects.update(notes=Policy.Notes.APPLY)
    error_of(saved(call))
    assert Proposal.objects.count() == 1
    forced = saved(call, reasoning="The doctor wrote it.", force=True).json()["data"]
    assert (forced["status"], forced["waits_because"]) == ("open", "repeated")


def test_an_undone_note_waits_for_a_person_the_next_time(call: Call, alice: User) -> None:
    first = saved(call).json()["data"]
    assert first["status"] == "applied"
    services.undo(actor=alice, proposal_id=first["proposal_id"], comment="Not true.")
    again = saved(call).json()["data"]
    assert (again["status"], again["waits_because"]) == ("open", "repeated")
    assert Proposal.objects.get(pk=again["proposal_id"]).answers_id == first["proposal_id"]


def test_a_rejected_deletion_counts_until_the_note_says_something_else(call: Call, alice: User, tim: User) -> None:
    note = saved(call).json()["data"]["note_id"]
    Policy.objects.update_or_create(owner="alice", defaults={"notes": Policy.Notes.REVIEW})
    rejected(tim, call("memory_delete", note_id=note, reasoning="Old."))
    error_of(call("memory_delete", note_id=note, reasoning="Old."))
    error_of(call("forget", memory_id=note))
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=note, content="She is allergic to bees.")
    assert call("memory_delete", note_id=note, reasoning="Old.").status_code == 200


def test_a_rejected_update_is_recognised(call: Call, tim: User) -> None:
    note = saved(call).json()["data"]["note_id"]
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    wrong = "She is allergic to wasp stings and pollen."
    rejected(tim, call("memory_update", note_id=note, content=wrong, reasoning="Heard it."))
    error_of(call("memory_update", note_id=note, content=wrong, reasoning="Heard it again."))
    right = "She is allergic to wasp stings and nuts."
    assert call("memory_update", note_id=note, content=right, reasoning="Heard it.").status_code == 200


def test_every_note_of_a_rejected_import_counts_alone(api: Any, call: Call, ask_first: None, tim: User) -> None:
    file = (
        "# Memories\n\n## Patterns\n\n### mem-1767225600-aaaa\n> She drinks oat milk.\n\n"
        "### mem-1767225600-bbbb\n> She rows on Sundays.\n"
    )
    path = "/api/v1/users/alice/memories.md"
    first = api.http.post(path, file, content_type="text/markdown")
    assert first.json()["data"]["created"] == 2, first.json()
    rejected(tim, first)
    assert error_of(api.http.post(path, file, content_type="text/markdown"))["reason"] == "wrong"
    assert error_of(saved(call, "she rows on Sundays"))["passages"] == ["she rows on Sundays"]
    forced = api.http.post(f"{path}?force=true&reasoning=Checked.", file, content_type="text/markdown")
    assert forced.json()["data"]["waits_because"] == "repeated", forced.json()


def test_kinds_that_count_name_every_reason() -> None:
    assert {*COUNTING, RejectReason.DUPLICATE} == set(RejectReason)
