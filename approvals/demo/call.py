"""The call the demo prints: an edit of Alice's goals which nothing else of the demo touches."""

from __future__ import annotations

import json

LABEL = "goals"
ARGUMENTS = {
    "user_id": "alice",
    "block_label": LABEL,
    "old_string": "| German B2 | 16 January 2027 | not enrolled yet |",
    "new_string": "| German B2 | 16 January 2027 | enrolled |",
    "reasoning": "The language centre confirmed the enrolment this morning.",
}


def curl(address: str, token: str) -> str:
    """A command for a POSIX shell.

    Args:
        address: of the server, without a slash at the end.
        token: raw, of an agent that serves alice.
    """
    arguments = json.dumps(ARGUMENTS, ensure_ascii=False, indent=2)
    return (
        f"curl {address}/api/v1/tools/propose_memory_edit/ \\\n"
        f"  -H 'Authorization: Bearer {token}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{arguments}'"
    )
