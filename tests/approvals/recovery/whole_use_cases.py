"""The use cases of whole blocks: agents propose new ones and deletions, people decide about them and undo that."""

from __future__ import annotations

from approvals import services
from approvals.models import Kind, TrustRule, User
from tests.approvals.recovery import use_cases
from tests.approvals.recovery.use_cases import COMMENT, OPERATION, UseCase, a_block, scribe, the_proposal

NEW = "# Monday\nShe read Noether.\n"


def propose_block() -> None:
    services.propose_block(
        agent=scribe(),
        owner="alice",
        label="diary",
        title="Diary",
        body=NEW,
        description="Her days.",
        reasoning="She tells me about them.",
        operation=OPERATION,
        may_apply=True,
    )


def amend_block() -> None:
    services.propose_block(
        agent=scribe(),
        owner="alice",
        label="diary",
        title="Days",
        body=f"{NEW}# Tuesday\n",
        reasoning="As you asked.",
        operation="d" * 32,
        proposal_id=the_proposal().pk,
    )


def propose_deletion() -> None:
    services.propose_deletion(
        agent=scribe(), owner="alice", label="goals", reasoning="All of it is outdated.", operation=OPERATION
    )


def approve_block_edited() -> None:
    proposal = the_proposal()
    services.approve_edited(
        actor=User.objects.get(username="tim"),
        proposal_id=proposal.pk,
        revision=1,
        seen_sha256="",
        title="Her days",
        text=f"{NEW}She liked it.\n",
        comment=COMMENT,
    )


def a_new_block() -> None:
    a_block()
    propose_block()


def a_new_block_with_the_agent() -> None:
    a_new_block()
    use_cases.request_changes()


def an_approved_block() -> None:
    a_new_block()
    use_cases.approve()


def a_rejected_block() -> None:
    a_new_block()
    use_cases.reject()


def a_rule_for_new_blocks() -> None:
    a_block()
    alice = User.objects.get(username="alice")
    TrustRule.objects.create(owner="alice", kind=Kind.CREATE_BLOCK, needs=TrustRule.Needs.NOTHING, made_by=alice)


def a_deletion() -> None:
    a_block()
    propose_deletion()


def a_stale_deletion() -> None:
    a_deletion()
    use_cases.edit()


def an_approved_deletion() -> None:
    a_deletion()
    use_cases.approve()


WHOLE_USE_CASES = {
    "propose a block": UseCase(a_block, propose_block),
    "amend a new block": UseCase(a_new_block_with_the_agent, amend_block),
    "apply a new block": UseCase(a_rule_for_new_blocks, propose_block),
    "approve a new block": UseCase(a_new_block, use_cases.approve),
    "approve a new block with changes": UseCase(a_new_block, approve_block_edited),
    "undo a new block": UseCase(an_approved_block, use_cases.undo),
    "undo the rejection of a new block": UseCase(a_rejected_block, use_cases.undo),
    "propose a deletion": UseCase(a_block, propose_deletion),
    "approve a deletion": UseCase(a_deletion, use_cases.approve),
    "approve a stale deletion": UseCase(a_stale_deletion, use_cases.approve),
    "undo a deletion": UseCase(an_approved_deletion, use_cases.undo),
}
