"""Whatever people and the agent do to one proposal at the same time: the memory and its ledger agree afterwards."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from approvals import services
from approvals.models import Agent, Proposal, RejectReason, User
from approvals.services.errors import Refusal
from memory_app import reads
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import EditError, Replace
from tests.approvals.services.turn.test_amend import amend
from tests.conftest import in_a_thread
from tests.support.acts import as_seen, change

pytestmark = pytest.mark.slow

_ROUNDS, _PEOPLE, _EACH = 8, 4, 8


def accepted(proposal: Proposal) -> list[str]:
    """Return the first change of what is asked for now."""
    today = reads.block(proposal.owner, proposal.target).body
    return [hunk.id for hunk in worddiff.hunks(today, proposal.current_revision.result_text)][:1]


def act(person: User, proposal: Proposal, choice: random.Random) -> str:
    """Do something to the proposal as it is at this moment, and return what."""
    proposal = Proposal.objects.get(pk=proposal.pk)
    it = {"actor": person, "proposal_id": proposal.pk}
    at = it | {"revision": proposal.current_revision_number}
    seen = {"actor": person} | as_seen(proposal)
    text = reads.block("alice", "goals").body.replace("math", choice.choice(["algebra", "sums"]))
    rest = choice.choice([services.Rest.AGENT, services.Rest.REJECT])
    verbs: dict[str, Callable[[], object]] = {
        "approve": lambda: services.approve(**seen),
        "approve_edited": lambda: services.approve_edited(**seen, text=text),
        "approve_some": lambda: services.approve_some(
            **seen, accepted=accepted(proposal), rest=rest, reason=RejectReason.WRONG
        ),
        "reject": lambda: services.reject(**at, reason=RejectReason.WRONG),
        "request_changes": lambda: services.request_changes(**at, comment="Shorter."),
        "back_to_review": lambda: services.back_to_review(**at),
        "undo": lambda: services.undo(**it),
        "amend": lambda: amend(
            proposal,
            edits=[Replace("math", choice.choice(["maths", "mathematics"])), Replace("# Goals", "# Her goals")],
        ),
        "withdraw": lambda: services.withdraw(agent=proposal.agent, proposal_id=proposal.pk),
        "recover": lambda: services.recover(),
    }
    # What ends a proposal for good is rare, or little would happen after it.
    usual = ["undo"] if proposal.is_decided else ["reject", "amend", "request_changes", "back_to_review", "recover"]
    name = choice.choice([*usual * (24 // len(usual)), *verbs])
    verbs[name]()
    return name


@pytest.mark.parametrize("seed", range(_ROUNDS))
def test_any_verbs_at_once_leave_memory_and_ledger_in_agreement(
    goals: Block, alice: User, tim: User, scribe: Agent, seed: int
) -> None:
    proposal = change(scribe, ("math", "maths"), ("# Goals", "# Her goals"))
    done: Counter[str] = Counter()

    def work(person: User, number: int) -> None:
        choice = random.Random(seed * 100 + number)
        for _ in range(_EACH):
            try:
                done[act(person, proposal, choice)] += 1
            except (Refusal, EditError) as refusal:
                done[type(refusal).__name__] += 1

    for thread in [in_a_thread(partial(work, p, n)) for n, p in enumerate([alice, tim] * (_PEOPLE // 2))]:
        thread.join()
    services.recover()
    assert done.total() == _PEOPLE * _EACH
