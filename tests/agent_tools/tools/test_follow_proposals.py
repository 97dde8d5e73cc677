"""An agent's own proposals: what became of them, comments, taking one back, and amending what is asked for."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry
from agent_tools.calls.arguments import NoteWriteArguments, ReasonedArguments
from agent_tools.models import IdempotencyKey
from approvals import services
from approvals.models import Agent, Event, Policy, Proposal, User
from approvals.services import Rest
from memory_app import reads
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Rewrite
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.mcp.peer import Peer, text_of
from tests.support.acts import approve, as_seen, change, edit, proposed_import
from tests.support.fixtures import MakeBlock, Propose

#: What get_proposal says of the change of `proposal`, and how it is amended.
LOVES = (
    'You asked on line 3: propose_memory_edit {"old_string": "likes math", "new_string": "loves math"}\n'
    "Your reason: Alice said so."
)
AMEND = (
    "To amend it, read the block and call propose_memory_edit, or another tool for blocks, on the text there is, with "
    "proposal_id={}: that takes the place of all it asks for. Or take it back with withdraw_proposal.\n"
)


def look_at(call: Call, proposal: Proposal) -> tuple[str, dict[str, Any]]:
    """The text and the data of get_proposal."""
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    return answer["text"], answer["data"]


def reject(tim: User, proposal: Proposal, **more: Any) -> None:
    services.reject(**{"actor": tim, "proposal_id": proposal.pk, "revision": 1, "reason": "badly_worded"} | more)


# -- one proposal ---------------------------------------------------------------------------------


def test_an_open_proposal_is_told_with_its_mergeability_and_an_approval_as_proposed_says_so(
    call: Call, tim: User, proposal: Proposal
) -> None:
    text, data = look_at(call, proposal)
    assert (data["status"], data["mergeability"], data["decision"]) == ("open", "clean", None)
    assert data["result"] == proposal.current_revision.result_text
    assert data["edits"][0]["old_string"] == "likes math"
    first = f"Proposal {proposal.pk} for block 'goals' is open: it still applies.\n"
    assert text == first + AMEND.format(proposal.pk) + LOVES
    approve(tim, proposal)
    text, data = look_at(call, proposal)
    assert (data["approval"], data["final_text"], data["difference"]) == ("as_proposed", None, [])
    assert (data["not_accepted"], data["merge_commit"], data["decision"]["by"]) == ([], reads.head("alice"), "tim")
    assert text == f"Proposal {proposal.pk} for block 'goals' is approved, by tim.\n{LOVES}"


def test_a_rejection_comes_back_with_its_reason_and_no_branch(
    call: Call, token: str, tim: User, proposal: Proposal
) -> None:
    assert look_at(call, proposal)[1]["branch"] == f"p/{proposal.pk}"
    said = "Say it warmer.\n" + "x" * 400
    reject(tim, proposal, comment=said)
    text, data = look_at(call, proposal)
    assert (data["branch"], data["mergeability"]) == (None, None)
    decision = data["decision"]
    assert (decision["by"], decision["reason"], decision["comment"]) == ("tim", "badly_worded", said)
    assert text.endswith(f"is rejected, by tim (badly_worded): {said}\n{LOVES}")
    line, below, _, how = answered(call("list_proposals"))["text"].split("\n")[-4:]
    assert line.startswith(f"- {proposal.pk}: block 'goals', rejected (badly_worded): Say it warmer.")
    assert (line[-1], how) == ("…", "list_proposals with proposal_id has all of one.")
    assert said in answered(call("list_proposals", proposal_id=proposal.pk))["text"]
    how = text_of(Peer(token, query="toolset=all").call("list_proposals")).split("\n")[-1]
    assert how == "get_proposal with proposal_id has all of one."
    assert below.startswith('  You asked: "# Goals Alice likes math. She wants …" → "# Goals Alice loves math.')


@override_settings(CELERY_TASK_ALWAYS_EAGER=True)
def test_an_overdue_proposal_reads_as_expired(call: Call, proposal: Proposal) -> None:
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert look_at(call, proposal)[1]["status"] == "expired"
    refused(call("withdraw_proposal", proposal_id=proposal.pk), 409, "already_decided")


def test_it_is_told_which_of_its_own_change_the_same(
    call: Call, goals: Block, propose: Propose, proposal: Proposal, scribe: Agent
) -> None:
    assert look_at(call, proposal)[1]["collides_with"] == []
    other = propose(goals, "likes math", "hates math")
    propose(goals, "one book", "two books")
    change(Agent.objects.create(name="another"), ("likes math", "teaches math"))
    text, data = look_at(call, proposal)
    against = {"proposal_id": other.pk, "effect": "no_longer_fits", "other_first": "no_longer_fits"}
    assert data["collides_with"] == [against]
    assert f"(Once it is approved, these of yours no longer fit: {other.pk}." in text
    services.withdraw(agent=scribe, proposal_id=proposal.pk)
    assert look_at(call, proposal)[1]["collides_with"] == []


# -- several --------------------------------------------------------------------------------------


def test_proposals_are_listed_newest_first_by_status_and_in_pages(
    call: Call, api: Machine, goals: Block, propose: Propose, proposal: Proposal
) -> None:
    second, third = (propose(goals, "likes math", f"{verb} math") for verb in ("hates", "teaches"))
    answered(call("withdraw_proposal", proposal_id=proposal.pk))

    def listed(**asked: Any) -> list[int]:
        return [item["proposal_id"] for item in answered(call("list_proposals", **asked))["data"]["items"]]

    assert listed() == [third.pk, second.pk, proposal.pk]
    assert f"- {second.pk}: block 'goals', open" in answered(call("list_proposals"))["text"]
    assert listed(status="withdrawn") == [proposal.pk]
    assert answered(call("list_proposals", block_label="nothing"))["text"] == "You have no such proposals."

    first = answered(api.get("/api/v1/proposals/?limit=2"))["data"]
    assert [item["proposal_id"] for item in first["items"]] == [third.pk, second.pk]
    assert listed(cursor=first["next"]) == [proposal.pk]
    refused(api.get("/api/v1/proposals/?cursor=x"), 400, "invalid_arguments")
    refused(api.get(f"/api/v1/proposals/{10**30}/"), 400, "invalid_arguments")
    error = refused(api.get("/api/v1/proposals/?status=opened"), 400, "invalid_arguments")
    assert "open, changes_requested, merging" in error["details"]["fields"]["status"]

    # By address it is the same.
    assert answered(api.get("/api/v1/proposals/?user_id=alice")) == answered(call("list_proposals"))
    by_address = answered(api.get(f"/api/v1/proposals/{second.pk}/"))
    assert by_address == answered(call("get_proposal", proposal_id=second.pk))


def test_a_token_of_several_owners_sees_all_or_one_and_whose_each_is(
    issue: Issue, alice: User, ben: User, tim: User, proposal: Proposal
) -> None:
    both = Machine(issue(alice, ben))
    every = answered(both.get("/api/v1/proposals/"))
    assert len(every["data"]["items"]) == 1
    assert answered(both.get("/api/v1/proposals/?user_id=ben"))["data"]["items"] == []
    of_alice = f"Proposal {proposal.pk} for block 'goals' of alice"
    assert answered(both.call("get_proposal", proposal_id=proposal.pk))["text"].startswith(f"{of_alice} is open")
    assert f"- {proposal.pk}: block 'goals' of alice, open" in every["text"]
    reject(tim, proposal)
    assert f"{of_alice} was rejected" in answered(both.call("list_proposals", decided_since=""))["text"]
    refused(both.call("get_proposal", proposal_id=proposal.pk, user_id="ben"), 404, "proposal_not_found")


def test_a_foreign_proposal_looks_like_one_that_does_not_exist(
    rival: Machine, issue: Issue, ben: User, proposal: Proposal
) -> None:
    for stranger in (rival, Machine(issue(ben))):
        for number in (proposal.pk, proposal.pk + 1):
            error = refused(stranger.get(f"/api/v1/proposals/{number}/"), 404, "proposal_not_found")
            assert error["text"].split("\n")[0] == f"Error: Proposal {number} not found."
            refused(stranger.post(f"/api/v1/proposals/{number}/withdraw/"), 404, "proposal_not_found")
            said = stranger.call("comment_on_proposal", proposal_id=number, comment="Hm.")
            refused(said, 404, "proposal_not_found")
        assert answered(stranger.get("/api/v1/proposals/"))["data"]["items"] == []
    proposal.refresh_from_db()
    assert proposal.status == "open"


# -- taking it back -------------------------------------------------------------------------------


def test_an_agent_takes_its_proposal_back_also_when_the_answer_was_lost(api: Machine, proposal: Proposal) -> None:
    path, asked = f"/api/v1/proposals/{proposal.pk}/withdraw/", {"reasoning": "I was wrong.", "idempotency_key": "k"}
    first = answered(api.post(path, asked))
    said, asked_for = first["text"].split("\n")
    assert said == f"Proposal {proposal.pk} withdrawn."
    assert "loves math" in asked_for
    assert asked_for.endswith("Propose it again if that was the wrong one.")
    assert first["data"]["status"] == "withdrawn"
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now())
    assert answered(api.post(path, asked)) == first
    refused(api.post(path, {"idempotency_key": "other"}), 409, "already_decided")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_comment) == ("withdrawn", "I was wrong.")


def test_what_is_decided_or_being_decided_cannot_be_taken_back(call: Call, tim: User, proposal: Proposal) -> None:
    soon = timezone.now() + timedelta(seconds=30)
    Proposal.objects.update(status="merging", lease_expires_at=soon)
    response = call("withdraw_proposal", proposal_id=proposal.pk)
    refused(response, 409, "being_decided")
    assert response["Retry-After"] == "2"
    Proposal.objects.update(status="open", lease_expires_at=None)
    reject(tim, proposal, reason="wrong")
    error = refused(call("withdraw_proposal", proposal_id=proposal.pk), 409, "already_decided")
    assert error["details"]["proposal"]["status"] == "rejected"
    assert "rejected, by tim (wrong)" in error["text"]


# -- comments -------------------------------------------------------------------------------------


def test_an_agent_reads_what_a_person_asks_and_answers(call: Call, tim: User, proposal: Proposal) -> None:
    services.comment(actor=tim, proposal_id=proposal.pk, text="Since when?", change="abc")
    listed = answered(call("list_proposals"))
    assert (listed["data"]["items"][0]["comment_count"], listed["data"]["items"][0]["asks_you"]) == (1, True)
    assert "a person commented" in listed["text"]
    text, data = look_at(call, proposal)
    assert "tim commented on change abc: Since when?\nAnswer with comment_on_proposal." in text
    of_core = answered(call("list_proposals", proposal_id=proposal.pk))["text"]
    assert "tim commented on change abc: Since when?\nAnswer by amending it, with evidence that says so." in of_core
    (asked,) = data["comments"]
    assert (asked["by"], asked["by_kind"], asked["text"], asked["change"]) == ("tim", "person", "Since when?", "abc")

    said = answered(call("comment_on_proposal", proposal_id=proposal.pk, comment="Since May.", change="abc"))
    assert said["text"] == f"Comment on proposal {proposal.pk} saved. The reviewer sees it with the proposal."
    assert (said["data"]["by"], said["data"]["text"], said["data"]["change"]) == ("scribe", "Since May.", "abc")
    text, data = look_at(call, proposal)
    assert [each["text"] for each in data["comments"]] == ["Since May.", "Since when?"]
    assert "tim commented on change abc: Since when?\nYou commented on change abc: Since May." in text
    assert "Answer with" not in text
    assert answered(call("list_proposals"))["data"]["items"][0]["asks_you"] is False


def test_a_bad_comment_is_named_and_not_saved(call: Call, proposal: Proposal) -> None:
    for comment, code in (("   ", "invalid_arguments"), ("a\0b", "forbidden_character")):
        refused(call("comment_on_proposal", proposal_id=proposal.pk, comment=comment), 400, code)
    assert not Event.objects.filter(what="commented").exists()


def test_a_redacted_one_takes_no_more_comments(call: Call, alice: User, proposal: Proposal) -> None:
    said = {"proposal_id": proposal.pk, "comment": "Migraines.", "idempotency_key": "k"}
    answered(call("comment_on_proposal", **said))
    reject(alice, proposal, reason="too_private")
    for again in (said, said | {"idempotency_key": "other", "comment": "Why?"}):
        refused(call("comment_on_proposal", **again), 409, "already_decided")
    assert "Migraines" not in str(look_at(call, proposal))


# -- approved, and not as it was proposed ---------------------------------------------------------


@pytest.fixture
def two(goals: Block, scribe: Agent) -> Proposal:
    """A proposal of two changes: maths, and two books."""
    return change(scribe, ("math", "maths"), ("one book", "two books"))


def approve_first(tim: User, proposal: Proposal, **how: Any) -> None:
    """Approve the first change alone."""
    now = reads.block("alice", "goals").body
    wanted = now.replace("math", "maths").replace("one book", "two books")
    first = worddiff.hunks(now, wanted)[0].id
    services.approve_some(actor=tim, **as_seen(proposal), accepted=[first], **how)


def test_a_move_that_was_not_accepted_says_from_where_to_where(
    call: Call, alice: User, tim: User, scribe: Agent, make_block: MakeBlock
) -> None:
    made = make_block(alice, "plan", "Reads a book every week.\nSwims on Tuesday with Ben.\nThe exam is in June.\n")
    body = "Swims on Tuesday with Ben.\nThe exam is in July.\nReads a book every week.\n"
    proposal = change(scribe, Rewrite(body), label="plan")
    move, other = worddiff.hunks(made.body, body)
    services.approve_some(actor=tim, **as_seen(proposal), accepted=[other.id], rest=Rest.REJECT, reason="wrong")
    assert look_at(call, proposal)[1]["not_accepted"] == [
        {"before": move.before, "after": move.after, "moved_from_line": 1, "moved_to_line": 3}
    ]


def test_what_was_not_accepted_is_told_with_the_reason(call: Call, alice: User, tim: User, two: Proposal) -> None:
    edit(alice, "goals", "in June", "in July")
    approve_first(tim, two, rest=Rest.REJECT, reason="wrong", comment="Only one.")
    text, data = look_at(call, two)
    assert (data["approval"], data["propose_again"]) == ("part", False)
    assert data["not_accepted"] == [
        {"before": "She reads one book a month.\n", "after": "She reads two books a month.\n"}
    ]
    assert data["final_text"] == reads.block("alice", "goals").body
    assert [made["new_string"] for made in data["edits"]] == ["maths", "two books"]
    assert (data["decision"]["reason"], data["decision"]["comment"]) == ("wrong", "Only one.")
    assert text == (
        f"Proposal {two.pk} for block 'goals' is approved in part, by tim (wrong): Only one.\n"
        "1 of 2 changes were not accepted. Do not propose them again as they were. "
        'Not accepted: "She reads two books a month.".\n'
        'You asked on line 3: propose_memory_edit {"old_string": "math", "new_string": "maths"}\n'
        'You asked on line 5: propose_memory_edit {"old_string": "one book", "new_string": "two books"}\n'
        "Your reason: Alice said so."
    )
    listed = answered(call("list_proposals"))["text"]
    assert f"- {two.pk}: block 'goals', approved in part (wrong): Only one." in listed


def test_what_came_back_is_to_be_changed_and_proposed_again(call: Call, tim: User, two: Proposal) -> None:
    approve_first(tim, two, rest=Rest.AGENT, comment="Ask her.")
    text, data = look_at(call, two)
    assert (data["status"], data["propose_again"], len(data["not_accepted"])) == ("approved", True, 1)
    left = 'Not accepted: "She reads two books a month.". Change that as asked, and propose it again, with'
    assert f"Ask her.\n1 of 2 changes came back to you. {left} proposal_id={two.pk}." in text
    said = f"A part came back to you. Change that as asked, and propose it again, with proposal_id={two.pk}."
    assert said in answered(call("list_proposals"))["text"]
    again = {"block_label": "goals", "old_string": "one book", "new_string": "three books", "reasoning": "She said so."}
    made = answered(call("propose_memory_edit", **again, proposal_id=two.pk))["data"]
    assert (made["status"], made["waits_because"]) == ("open", None)
    assert answered(call("get_proposal", proposal_id=made["proposal_id"]))["data"]["answers"] == two.pk


def test_a_reviewers_wording_comes_with_the_difference(call: Call, alice: User, tim: User, proposal: Proposal) -> None:
    edit(alice, "goals", "in June", "in July")
    text = reads.block("alice", "goals").body.replace("likes math", "enjoys algebra")
    services.approve_edited(actor=tim, **as_seen(proposal), text=text, comment="Her word.")
    told, data = look_at(call, proposal)
    assert (data["approval"], data["final_text"]) == ("edited", text)
    # What alice changed herself in between is no difference between the two.
    assert data["difference"] == [{"proposed": "Alice loves math.\n", "approved": "Alice enjoys algebra.\n"}]
    assert "loves math" in data["result"]
    said = f"Proposal {proposal.pk} for block 'goals' is approved with changes, by tim: Her word.\nThe memory has"
    wording = """ "Alice enjoys algebra." instead of "Alice loves math."."""
    assert told.startswith(said + wording)


def test_a_resolved_conflict_is_told(call: Call, alice: User, tim: User, proposal: Proposal) -> None:
    edit(alice, "goals", "likes math", "is done with math")
    text = reads.block("alice", "goals").body.replace("is done with math", "is done with maths")
    services.approve_edited(actor=tim, **as_seen(proposal), text=text, resolves=True)
    told, data = look_at(call, proposal)
    assert (data["approval"], data["final_text"]) == ("resolved", text)
    assert "is approved after a conflict was resolved, by tim." in told


def test_a_reworded_note_is_told(call: Call, tim: User, ask_first: None) -> None:
    answered(call("memory_save", content="She rows."))
    proposal = Proposal.objects.get()
    services.approve_edited(actor=tim, **as_seen(proposal), text="She rows on Mondays.")
    data = look_at(call, proposal)[1]
    assert data["notes"][0]["after"]["content"] == "She rows."
    assert data["final_text"] == "She rows on Mondays."
    assert data["difference"] == [{"proposed": "She rows.", "approved": "She rows on Mondays."}]


def test_notes_of_an_import_that_were_left_out_are_named(call: Call, tim: User, scribe: Agent) -> None:
    proposal = proposed_import(scribe, 2)
    services.approve_some(actor=tim, **as_seen(proposal), accepted=["mem-1-aaaa"], rest=Rest.REJECT, reason="outdated")
    text, data = look_at(call, proposal)
    assert ([left_out["id"] for left_out in data["not_accepted"]], data["note_count"]) == (["mem-2-aaaa"], 2)
    assert "1 of 2 notes were not accepted" in text


# -- asked for changes, and amended ----------------------------------------------------------------

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "enjoys maths", "reasoning": "As you asked."}


@pytest.fixture
def asked(proposal: Proposal, tim: User) -> Proposal:
    return services.request_changes(
        actor=tim, proposal_id=proposal.pk, revision=1, comment="Not love.\nLike.", reason="badly_worded"
    )


def test_every_proposing_tool_takes_a_proposal_to_amend() -> None:
    taking = {name for name, tool in registry.TOOLS.items() if "proposal_id" in tool.arguments.model_fields}
    proposing = {
        name
        for name, tool in registry.TOOLS.items()
        if issubclass(tool.arguments, ReasonedArguments | NoteWriteArguments)
    }
    assert proposing
    assert taking == proposing | {"list_proposals", "get_proposal", "withdraw_proposal", "comment_on_proposal"}


def test_the_agent_is_told_what_it_is_asked_for(call: Call, asked: Proposal) -> None:
    answer = answered(call("get_proposal", proposal_id=asked.pk))
    data = answer["data"]
    assert (data["status"], data["decision"]) == ("changes_requested", None)
    request = {name: value for name, value in data["changes_requested"].items() if name != "at"}
    assert request == {"by": "tim", "reason": "badly_worded", "comment": "Not love.\nLike.", "revision": 1}
    assert data["expires_at"]
    assert answer["text"] == (
        f"Proposal {asked.pk} for block 'goals': changes are requested by tim (badly_worded): Not love.\nLike.\n"
        + AMEND.format(asked.pk)
        + LOVES
    )
    listed = answered(call("list_proposals", status="changes_requested"))
    assert listed["data"]["items"][0]["changes_requested"]["comment"] == "Not love.\nLike."
    line = f"- {asked.pk}: block 'goals', changes_requested (badly_worded): Not love. Like."
    assert listed["text"].split("\n")[2] == line
    assert AMEND.format(asked.pk).strip() in listed["text"].split("\n")[4]


def test_an_amendment_is_the_next_revision(call: Call, api: Machine, asked: Proposal) -> None:
    answer = answered(call("propose_memory_edit", **EDIT, proposal_id=asked.pk))
    assert answer["text"].split("\n")[0] == (
        f"Your proposal {asked.pk} for block 'goals' is amended: this is its revision 2. The user will be asked to "
        "approve this change. Reasoning provided: As you asked."
    )
    data = answer["data"]
    assert (data["proposal_id"], data["revision"], data["amended"], data["status"]) == (asked.pk, 2, True, "open")
    seen = answered(call("get_proposal", proposal_id=asked.pk))["data"]
    assert (seen["revision"], seen["changes_requested"], seen["reasoning"]) == (2, None, "As you asked.")
    assert "enjoys maths" in seen["result"]
    body = {"body": "All new.", "reasoning": "As you asked.", "proposal_id": asked.pk}
    whole = answered(api.post("/api/v1/users/alice/blocks/goals/propose/", body))["data"]
    assert (whole["revision"], whole["proposal_id"]) == (3, asked.pk)
    assert Proposal.objects.get().kind == "rewrite"


def test_proposing_the_same_again_says_what_is_asked_for(call: Call, asked: Proposal) -> None:
    same = EDIT | {"new_string": "loves math"}
    anew = answered(call("propose_memory_edit", **same))
    assert (anew["data"]["created"], anew["data"]["status"]) == (False, "changes_requested")
    assert "changes are requested by tim" in anew["text"]
    error = refused(call("propose_memory_edit", **same, proposal_id=asked.pk), 422, "no_change")
    assert error["message"] == f"Proposal {asked.pk} asks for exactly this already; it is not changed."


def test_another_block_and_proposals_of_others_are_not_amended(
    call: Call, alice: User, ben: User, make_block: MakeBlock, propose: Propose, asked: Proposal
) -> None:
    make_block(alice, "profile", "Alice likes math.")
    elsewhere = EDIT | {"block_label": "profile", "proposal_id": asked.pk}
    error = refused(call("propose_memory_edit", **elsewhere), 409, "other_target")
    assert error["message"] == f"Proposal {asked.pk} is about block 'goals', not about what this call changes."
    assert error["details"]["block_label"] == "goals"
    # Of another owner it is not there, and of another agent neither.
    foreign = propose(make_block(ben, "goals", "Ben likes math."), "likes math", "loves math")
    error = refused(call("propose_memory_edit", **EDIT, proposal_id=foreign.pk), 404, "proposal_not_found")
    assert error["message"] == f"Proposal {foreign.pk} not found."
    Proposal.objects.filter(pk=foreign.pk).update(owner="alice", agent=Agent.objects.create(name="other"))
    refused(call("propose_memory_edit", **EDIT, proposal_id=foreign.pk), 404, "proposal_not_found")


def test_what_is_decided_is_proposed_anew(call: Call, tim: User, asked: Proposal) -> None:
    services.reject(actor=tim, proposal_id=asked.pk, revision=1, reason="wrong", comment="No.", is_with_agent=True)
    error = refused(call("propose_memory_edit", **EDIT, proposal_id=asked.pk), 409, "already_decided")
    assert error["message"] == f"Proposal {asked.pk} for block 'goals' is rejected, by tim (wrong): No."
    assert "Propose the change anew, without proposal_id" in error["text"]
    assert error["details"]["proposal"]["status"] == "rejected"
    anew = answered(call("propose_memory_edit", **EDIT))["data"]
    assert answered(call("get_proposal", proposal_id=anew["proposal_id"]))["data"]["answers"] == asked.pk


# -- amending changes of notes ----------------------------------------------------------------------------------------


@pytest.fixture
def note(call: Call) -> str:
    """A note of alice's that agents have to ask about."""
    saved = answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"]
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    return str(saved)


def test_a_change_of_a_note_is_amended_and_waits_whatever_the_policy_says(call: Call, note: str, tim: User) -> None:
    made = answered(call("memory_update", note_id=note, content="Alice loves tea."))["data"]
    number = made["proposal_id"]
    services.request_changes(actor=tim, proposal_id=number, revision=1, comment="Green tea.")
    Policy.objects.update(notes=Policy.Notes.APPLY)
    given = {"note_id": note, "content": "Alice likes green tea.", "proposal_id": number}
    data = answered(call("memory_update", **given))["data"]
    assert (data["proposal_id"], data["revision"], data["status"], data["amended"]) == (number, 2, "open", True)
    assert reads.note("alice", note).content == "Alice likes tea."
    refused(call("memory_update", **given), 422, "no_change")
    # The same note, another kind of change.
    gone = answered(call("forget", memory_id=note, reason="She stopped.", proposal_id=number))["data"]
    assert (gone["revision"], Proposal.objects.get(pk=number).kind) == (3, "forget")
    approve(tim, Proposal.objects.get(pk=number))
    assert reads.note("alice", note).is_superseded


def test_a_new_note_keeps_its_id_when_it_is_saved_again(call: Call, note: str, tim: User) -> None:
    made = answered(call("memory_save", content="Alice likes coffee.", tags=["drinks"]))["data"]
    services.request_changes(actor=tim, proposal_id=made["proposal_id"], revision=1, comment="Decaf.")
    for tool, named in (("memory_save", "note_id"), ("remember", "memory_id")):
        data = answered(call(tool, content=f"Decaf by {tool}.", proposal_id=made["proposal_id"]))["data"]
        assert (data[named], data["status"], data["amended"]) == (made["note_id"], "open", True)
    assert Proposal.objects.get(pk=made["proposal_id"]).current_revision_number == 3


def test_another_note_or_an_import_is_another_target(call: Call, note: str) -> None:
    made = answered(call("memory_update", note_id=note, content="Alice loves tea."))["data"]["proposal_id"]
    new = answered(call("memory_save", content="Alice likes coffee."))["data"]
    refused(call("memory_save", content="Alice likes decaf.", proposal_id=made), 409, "other_target")
    refused(call("memory_update", note_id=note, content="x", proposal_id=new["proposal_id"]), 409, "other_target")
    refused(call("memory_update", note_id=new["note_id"], content="x", proposal_id=made), 409, "other_target")
    refused(call("memory_delete", note_id=note, proposal_id=999), 404, "proposal_not_found")
    assert set(Proposal.objects.filter(status="open").values_list("current_revision_number", flat=True)) == {1}
