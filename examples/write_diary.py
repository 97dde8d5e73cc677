"""Keep a diary block: the first entry proposes the block, further ones amend that or append to it."""

from __future__ import annotations

from datetime import date

from assent_client import Assent


def write_diary(memory: Assent, entry: str, day: date) -> str:
    """Propose an entry of a diary; return what the model is told."""
    text = f"## {day.isoformat()}\n\n{entry}\n"
    blocks = memory.blocks.list()
    if any(block.label == "diary" for block in blocks):
        return memory.blocks.propose_append("diary", content=f"\n{text}", reasoning="The entry of today.").text
    waiting = next((new.proposal_id for new in blocks.answer.waiting or [] if new.block_label == "diary"), None)
    if waiting is not None:
        text = f"{memory.proposals.get(waiting).result}\n{text}"
    reasoning = "A diary of what we did."
    made = memory.blocks.create("diary", title="Diary", body=text, reasoning=reasoning, proposal_id=waiting)
    return made.text


if __name__ == "__main__":
    with Assent() as memory:
        print(write_diary(memory, "Fractions went well; ratios next time.", date.today()))
