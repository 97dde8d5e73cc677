"""Reads the demo's texts: one Markdown file per memory block, with a few lines of front matter.

A file holds a block as it is first created, except for Alice's study log, which is written week by week: its
later entries are proposed by the agent and approved, as they would be in life.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from approvals.services import BlockFields
from memory_app.text.edits import Replace

FOLDER = Path(__file__).resolve().parent

_ENTRY = re.compile(r"^## (\d{4}-\d{2}-\d{2})\b", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """One file: the fields of a block, and whose block it is."""

    owner: str
    label: str
    fields: BlockFields


def block(owner: str, label: str) -> Text:
    """The file `blocks/<owner>/<label>.md`."""
    source = (FOLDER / "blocks" / owner / f"{label}.md").read_text(encoding="utf-8")
    _, head, body = source.split("---\n", 2)
    values = dict(line.split(": ", 1) for line in head.splitlines())
    return Text(
        owner,
        label,
        BlockFields(
            title=values["title"],
            description=values["description"],
            body=body.strip("\n"),
            limit=int(values["limit"]),
            read_only=values.get("read_only") == "true",
        ),
    )


def rewrite(name: str) -> str:
    """The whole new text an agent proposes, from `rewrites/<name>.md`."""
    return (FOLDER / "rewrites" / f"{name}.md").read_text(encoding="utf-8").strip("\n")


def log_until(day: str) -> str:
    """Alice's study log up to and including the entry of `day` (ISO date)."""
    body = block("alice", "study_log").fields.body
    later = [match.start() for match in _ENTRY.finditer(body) if match[1] > day]
    return body[: min(later, default=len(body))].rstrip("\n")


def log_entries(after: str, until: str) -> Replace:
    """The edit that adds the entries later than `after` up to `until` to the study log.

    Like an agent that has only exact replacement, it repeats the last paragraph and goes on from there.
    """
    present, wanted = log_until(after), log_until(until)
    last_paragraph = present.rsplit("\n\n", 1)[1]
    return Replace(last_paragraph, last_paragraph + wanted.removeprefix(present))
