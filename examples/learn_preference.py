"""Keep what a person prefers, unless it is known or was rejected."""

from __future__ import annotations

from assent_client import Assent, ConflictError


def learn(memory: Assent, preference: str, said: str) -> str:
    """Keep what the person prefers; return what the model is told."""
    if any(found.text == preference for found in memory.notes.search(preference, top_k=3).results):
        return "This is known already."
    evidence = [{"role": "user", "content": said}]
    try:
        kept = memory.notes.save(preference, tags=["preference"], reasoning="She said so.", evidence=evidence)
    except ConflictError as refused:
        if refused.code != "rejected_before":
            raise
        return refused.text
    return kept.text


if __name__ == "__main__":
    with Assent() as memory:
        print(learn(memory, "She prefers worked examples to proofs.", "Can we do an example instead of the proof?"))
