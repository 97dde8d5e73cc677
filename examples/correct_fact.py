"""Correct a fact in a longer text, where it stands."""

from __future__ import annotations

from assent_client import Assent, ConflictError, UnprocessableEntityError


def correct(memory: Assent, label: str, old: str, new: str, said: str) -> str:
    """Propose to replace a passage of a block; return what the model is told."""
    block = memory.blocks.get(label)
    try:
        proposed = memory.blocks.propose_edit(
            label,
            old_string=old,
            new_string=new,
            reasoning=f"She said: {said}",
            evidence=[{"role": "user", "content": said}],
            expected_sha256=block.sha256,
        )
    except (ConflictError, UnprocessableEntityError) as refused:
        return refused.text
    return f"{proposed.text}\n{proposed.review_url}"


if __name__ == "__main__":
    with Assent() as memory:
        print(correct(memory, "goals", "German B2 in January", "German B2 in March", "I moved B2 to March."))
