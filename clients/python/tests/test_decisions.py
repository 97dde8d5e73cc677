"""Waiting for a decision, and the feed of decisions, as the server will hold and refuse requests."""

import asyncio
from collections.abc import Sequence

import httpx2
import pytest
from conftest import Script, Slept, refusal, success

from assent_client import Assent, AsyncAssent, DecisionPending, NotFoundError
from assent_client.answers import RawResponse
from assent_client.core import ClientCore
from assent_client.exchange import Request, Sleep
from assent_client.resources import wait_for


def proposal(status: str, headers: dict[str, str] | None = None) -> httpx2.Response:
    return success(f"It is {status}.", headers, proposal_id=7, status=status, decision={"reason": "outdated"})


@pytest.mark.parametrize("status", ["approved", "rejected", "withdrawn", "expired", "applied", "changes_requested"])
def test_a_decided_proposal_is_returned_at_once(status: str, memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [proposal(status)]
    assert memory.proposals.wait(7).status == status
    assert script.requests[0].url.params["wait"] == "20"
    assert slept == []


def driven(answers: Sequence[tuple[float, httpx2.Response]], timeout: float) -> tuple[list[str], list[float], str]:
    """Drive the wait with a clock of its own: each answer takes so many seconds. The waits asked for, the seconds
    slept, and how it ended."""
    clock, asked, slept, coming = 0.0, list[str](), list[float](), iter(answers)
    core = ClientCore("https://memory.example", "t", "alice", None, 0)
    steps = wait_for(core, 7, timeout, now=lambda: clock)
    response: httpx2.Response | None = None
    try:
        while True:
            step = steps.send(response)
            if isinstance(step, Sleep):
                clock += step.seconds
                slept.append(step.seconds)
                continue
            assert isinstance(step, Request)
            asked.append(dict(httpx2.URL("http://x" + step.address).params).get("wait", "-"))
            took, response = next(coming)
            response.request = httpx2.Request("GET", "http://x/")
            clock += took
    except StopIteration as done:
        came: RawResponse[object] = done.value
        return asked, slept, came.answer.status  # type: ignore[attr-defined]
    except DecisionPending as pending:
        return asked, slept, f"pending: {pending.proposal.status}"


def test_the_server_holds_the_request_and_it_is_asked_again_without_pause() -> None:
    answers = [(20, proposal("open")), (20, proposal("merging")), (3, proposal("approved"))]
    assert driven(answers, 600) == (["20", "20", "20"], [], "approved")


def test_refused_a_place_it_waits_as_long_as_asked_and_a_little_more() -> None:
    asked, slept, end = driven([(0, proposal("open", {"Retry-After": "2"})), (1, proposal("rejected"))], 600)
    assert (asked, end) == (["20", "20"], "rejected")
    assert 2 <= slept[0] <= 2.5


def test_nobody_decides_in_time() -> None:
    assert driven([(20, proposal("open")), (10, proposal("open"))], 30) == (["20", "10"], [], "pending: open")
    assert driven([(0, proposal("open"))], 0) == (["-"], [], "pending: open")


def test_a_server_that_holds_nothing_is_not_asked_without_pause() -> None:
    answers = [(0.01, proposal("open"))] * 20 + [(0.01, proposal("approved"))]
    asked, slept, _ = driven(answers, 600)
    assert len(asked) == 21
    assert all(2 <= each <= 2.5 for each in slept)
    assert len(slept) == 20


def test_an_older_server_that_knows_no_wait_is_looked_at_again_and_again(memory: Assent, script: Script) -> None:
    unknown = refusal(400, "invalid_arguments", fields={"wait": "is unknown"})
    script.answers = [unknown, proposal("open"), proposal("approved")]
    assert memory.proposals.wait(7).status == "approved"
    assert [request.url.params.get("wait") for request in script.requests] == ["20", None, None]


def test_an_unknown_proposal_is_said_at_once(memory: Assent, script: Script) -> None:
    script.answers = [refusal(404, "proposal_not_found")]
    with pytest.raises(NotFoundError):
        memory.proposals.wait(7)


def test_the_asynchronous_client_waits_too(async_memory: AsyncAssent, script: Script) -> None:
    script.answers = [proposal("open", {"Retry-After": "1"}), proposal("approved")]
    assert asyncio.run(async_memory.proposals.wait(7)).status == "approved"
    script.answers = [proposal("open")]
    with pytest.raises(DecisionPending):
        asyncio.run(async_memory.proposals.wait(7, timeout=0))


# -- the feed -------------------------------------------------------------------------------------


def page(*numbers: int, next: str, more: bool | None = None, headers: dict[str, str] | None = None) -> httpx2.Response:
    items = [{"proposal_id": number, "what": "approved", "cursor": f"c{number}"} for number in numbers]
    return success("", headers, items=items, next=next, **({} if more is None else {"more": more}))


FEED = [page(1, 2, next="c2", more=True), page(3, next="c9", more=False)]


def test_the_feed_is_followed_to_its_end_and_keeps_where_it_was(memory: Assent, script: Script) -> None:
    script.answers = [*FEED]
    decisions = memory.proposals.decisions(since="c0", wait=20)
    assert [each.proposal_id for each in decisions if each.what == "approved"] == [1, 2, 3]
    assert decisions.cursor == "c9", "decisions of others moved it further"
    assert [request.url.params.get("since") for request in script.requests] == ["c0", "c2"]
    assert [request.url.params.get("wait") for request in script.requests] == ["20", None]


def test_a_feed_that_does_not_say_whether_there_is_more_ends_with_an_empty_page(memory: Assent, script: Script) -> None:
    script.answers = [page(1, next="c1"), page(next="c1")]
    assert [each.proposal_id for each in memory.proposals.decisions()] == [1]
    assert len(script.requests) == 2


def test_a_decision_over_which_the_program_ends_comes_again(memory: Assent, script: Script) -> None:
    script.answers = [*FEED]
    decisions = memory.proposals.decisions()
    for decision in decisions:
        if decision.proposal_id == 2:
            break
    assert decisions.cursor == "c1"


def test_refused_a_place_the_feed_pauses_before_it_says_that_there_is_nothing(
    memory: Assent, script: Script, slept: Slept
) -> None:
    script.answers = [page(next="c0", more=False, headers={"Retry-After": "4"})]
    assert list(memory.proposals.decisions(since="c0", wait=20)) == []
    assert slept == [4]


def test_the_asynchronous_feed_is_the_same(async_memory: AsyncAssent, script: Script) -> None:
    async def all_of_it() -> tuple[list[int], str | None]:
        decisions = async_memory.proposals.decisions()
        return [each.proposal_id async for each in decisions], decisions.cursor

    script.answers = [*FEED]
    assert asyncio.run(all_of_it()) == ([1, 2, 3], "c9")
