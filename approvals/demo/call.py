"""The call the demo prints: an edit of Alice's goals which nothing else of the demo touches."""

from __future__ import annotations

import json
from collections.abc import Mapping

LABEL = "goals"

_ENROLLED = "| German B2 | 16 January 2027 | enrolled |"
_NOT_YET = "| German B2 | 16 January 2027 | not enrolled yet |"

#: Old text, new text and reason. Once the first is approved the second applies, and the other way round.
_EDITS = (
    (_NOT_YET, _ENROLLED, "The language centre confirmed the enrolment this morning."),
    (_ENROLLED, _NOT_YET, "The language centre sent the form back: the signature is missing."),
)


def arguments_for(body: str) -> Mapping[str, str] | None:
    """Arguments of an edit that applies to the goals as they are; None when somebody rewrote the line."""
    for old, new, reasoning in _EDITS:
        if body.count(old) == 1:
            return {
                "user_id": "alice",
                "block_label": LABEL,
                "old_string": old,
                "new_string": new,
                "reasoning": reasoning,
            }
    return None


def curl(address: str, token: str, arguments: Mapping[str, str]) -> str:
    """A command for a POSIX shell.

    Args:
        address: of the server, without a slash at the end.
        token: raw, of an agent that serves alice.
    """
    written = json.dumps(arguments, ensure_ascii=False, indent=2)
    return (
        f"curl {address}/api/v1/tools/propose_memory_edit/ \\\n"
        f"  -H 'Authorization: Bearer {token}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{written}'"
    )
