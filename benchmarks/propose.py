"""An agent proposes one edit, through HTTP with its token."""

import json

from benchmarks.measure import timed
from benchmarks.population import NEW, OLD, Target
from benchmarks.processes import Session

PATH = "/api/v1/tools/propose_memory_edit/"


def through_http(agent: Session, targets: list[Target]) -> tuple[list[float], list[int]]:
    """Propose one edit of each block; the times, and the ids of the proposals."""
    proposals: list[int] = []

    def propose(block: Target) -> None:
        arguments = {
            "user_id": block.owner,
            "block_label": block.label,
            "old_string": OLD,
            "new_string": NEW,
            "reasoning": "They agreed on it at the end of the session.",
        }
        answer = agent.post_json(PATH, json.dumps(arguments).encode())
        if answer.status >= 300:
            raise RuntimeError(f"propose answered {answer.status}: {answer.text[:500]}")
        proposals.append(json.loads(answer.text)["data"]["proposal_id"])

    return timed(propose, targets), proposals
