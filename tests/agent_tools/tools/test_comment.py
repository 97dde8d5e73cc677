"""The thread of a proposal, as its agent sees it: comment_on_proposal, and comments in get_proposal."""

import pytest

from approvals import services
from approvals.models import Event, Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call
from tests.support.fixtures import Propose


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "math", "maths")


def test_an_agent_reads_what_a_person_asks_and_answers(call: Call, tim: User, proposal: Proposal) -> None:
    services.comment(actor=tim, proposal_id=proposal.pk, text="Since when?", change="abc")
    listed = answered(call("list_proposals"))
    assert (listed["data"]["items"][0]["comment_count"], listed["data"]["items"][0]["asks_you"]) == (1, True)
    assert "a person commented" in listed["text"]
    read = answered(call("get_proposal", proposal_id=proposal.pk))
    assert "tim commented: Since when?\nAnswer with comment_on_proposal." in read["text"]
    (asked,) = read["data"]["comments"]
    assert (asked["by"], asked["by_kind"], asked["text"], asked["change"]) == ("tim", "person", "Since when?", "abc")

    said = answered(call("comment_on_proposal", proposal_id=proposal.pk, comment="Since May.", change="abc"))
    assert said["text"] == f"Comment on proposal {proposal.pk} saved. The reviewer sees it with the proposal."
    assert (said["data"]["by"], said["data"]["text"], said["data"]["change"]) == ("scribe", "Since May.", "abc")
    again = answered(call("get_proposal", proposal_id=proposal.pk))
    assert [each["text"] for each in again["data"]["comments"]] == ["Since May.", "Since when?"]
    assert "commented" not in again["text"]
    assert answered(call("list_proposals"))["data"]["items"][0]["asks_you"] is False


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"comment": ""}, "invalid_arguments"),
        ({"comment": "   "}, "invalid_arguments"),
        ({"comment": "x" * 2_001}, "invalid_arguments"),
        ({"comment": "a\0b"}, "forbidden_character"),
        ({"comment": "Hm.", "change": "no id"}, "invalid_arguments"),
        ({"text": "Hm."}, "invalid_arguments"),
    ],
)
def test_bad_input_is_named_and_nothing_is_saved(
    call: Call, proposal: Proposal, arguments: dict[str, str], code: str
) -> None:
    refused(call("comment_on_proposal", proposal_id=proposal.pk, **arguments), 400, code)
    assert not Event.objects.filter(what="commented").exists()


def test_what_is_not_ones_own_does_not_exist(call: Call, proposal: Proposal) -> None:
    refused(call("comment_on_proposal", proposal_id=proposal.pk + 1, comment="Hm."), 404, "proposal_not_found")


def test_a_redacted_one_takes_no_more(call: Call, alice: User, proposal: Proposal) -> None:
    answered(call("comment_on_proposal", proposal_id=proposal.pk, comment="Migraines.", idempotency_key="k"))
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="too_private")
    refused(call("comment_on_proposal", proposal_id=proposal.pk, comment="Why?"), 409, "already_decided")
    refused(
        call("comment_on_proposal", proposal_id=proposal.pk, comment="Migraines.", idempotency_key="k"),
        409,
        "already_decided",
    )
    assert "Migraines" not in str(answered(call("get_proposal", proposal_id=proposal.pk)))
