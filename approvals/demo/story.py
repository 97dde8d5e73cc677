"""The demo's story, read from `story.toml` and `blocks/`; plain values, no database.

What the keys of the file mean stands at its top.
"""

import re
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from approvals.services import BlockFields
from memory_app.text.edits import Edit, Replace, Rewrite

_FOLDER = Path(__file__).resolve().parent
_TOLD: Mapping[str, Any] = tomllib.loads((_FOLDER / "story.toml").read_text(encoding="utf-8"))
_NAMESPACE = uuid.UUID("0c0c7f0e-6a55-5f0c-8d7e-1d7b3a2f9e44")

BLOCK_VERBS = frozenset({"create", "edit", "propose"})
NOTE_VERBS = frozenset({"save", "update", "forget", "delete"})
DECISIONS = frozenset({"approved", "rejected", "withdrawn", "expired"})
#: What happens to a proposal that is not decided.
TURNS = frozenset({"changes_requested", "amended"})

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_LOG_ENTRY = re.compile(r"^## (\d{4}-\d{2}-\d{2})\b", re.MULTILINE)

PASSWORD: str = _TOLD["password"]
AGENT: str = _TOLD["agent"]["name"]
AGENT_DESCRIPTION: str = _TOLD["agent"]["description"]
AGENT_CREATED_BY: str = _TOLD["agent"]["created_by"]
#: Owner and label of the block that the printed call is about.
CALL_TARGET = (_TOLD["call"]["owner"], _TOLD["call"]["block"])


@dataclass(frozen=True)
class Person:
    username: str
    what: str
    first_name: str = ""
    last_name: str = ""
    is_admin: bool = False
    asked_about_notes: bool = False
    tutor_of: tuple[str, ...] = ()


PEOPLE = tuple(Person(**person) for person in _TOLD["people"])


@dataclass(frozen=True)
class Step:
    """One thing that happened: something was done to a block or note, or a proposal was decided.

    Args:
        age: how long before the demo was made.
        target: label of a block, or name of a note.
        by: username of a person, or the agent's name; empty for what happened by itself.
        key: names a proposal, in the step that makes it and in the one that decides it.
        data: the further keys of `story.toml`.
    """

    age: timedelta
    verb: str
    owner: str
    target: str
    by: str
    key: str
    data: Mapping[str, Any]

    @property
    def operation(self) -> str:
        """Return the operation id of the proposal: always the same, so that a later run finds it."""
        return uuid.uuid5(_NAMESPACE, self.key).hex

    @property
    def edits(self) -> tuple[Edit, ...]:
        if "rewrite" in self.data:
            return (Rewrite(self.data["rewrite"]),)
        if "log" in self.data:
            return (_log_entries(*self.data["log"]),)
        pairs = self.data.get("edits") or [(self.data["old"], self.data["new"])]
        return tuple(Replace(old, new, self.data.get("everywhere", False)) for old, new in pairs)

    def evidence(self, at: datetime) -> list[dict[str, str]]:
        """Return the turns behind a step that happened `at`, with the times they were said at."""
        return [
            {
                "role": turn["role"],
                "content": turn["content"],
                "at": (at - _duration(turn["before"])).isoformat(timespec="seconds"),
            }
            for turn in self.data.get("evidence", ())
        ]


def note_id(name: str) -> str:
    return f"note-{uuid.uuid5(_NAMESPACE, name)}"


def block_fields(owner: str, label: str, *, until: str | None = None) -> BlockFields:
    """Return the block of the file `blocks/<owner>/<label>.md`.

    Args:
        until: for the study log, the day (ISO date) of the last entry that is wanted.
    """
    source = (_FOLDER / "blocks" / owner / f"{label}.md").read_text(encoding="utf-8")
    _, head, body = source.split("---\n", 2)
    values = dict(line.split(": ", 1) for line in head.splitlines())
    later = [entry.start() for entry in _LOG_ENTRY.finditer(body) if until and entry[1] > until]
    return BlockFields(
        title=values["title"],
        description=values["description"],
        body=body[: min(later, default=len(body))].strip("\n"),
        limit=int(values["limit"]),
        read_only=values.get("read_only") == "true",
    )


def call_arguments(body: str) -> dict[str, str] | None:
    """Return the arguments of a call that proposes an edit of the block `CALL_TARGET`; None when no edit fits.

    Args:
        body: of the block as it is.
    """
    owner, label = CALL_TARGET
    for old, new, reasoning in _TOLD["call"]["edits"]:
        if body.count(old) == 1:
            return {
                "user_id": owner,
                "block_label": label,
                "old_string": old,
                "new_string": new,
                "reasoning": reasoning,
            }
    return None


def _log_entries(after: str, until: str) -> Replace:
    """Return the edit that adds the entries later than `after` up to `until` to Alice's study log.

    Like an agent that has only exact replacement, it repeats the last paragraph and goes on from there.
    """
    present, wanted = (block_fields("alice", "study_log", until=day).body for day in (after, until))
    last_paragraph = present.rsplit("\n\n", 1)[1]
    return Replace(last_paragraph, last_paragraph + wanted.removeprefix(present))


def _duration(text: str) -> timedelta:
    """Return what `text`, such as "69d 23h", means."""
    return sum((timedelta(**{_UNITS[part[-1]]: int(part[:-1])}) for part in text.split()), timedelta())


def _steps() -> Iterator[Step]:
    for data in _TOLD["steps"]:
        (verb,) = data.keys() & (BLOCK_VERBS | NOTE_VERBS)
        owner, target = data[verb].split("/")
        by = data.get("by", owner if verb in ("create", "edit") else AGENT)
        step = Step(_duration(data["ago"]), verb, owner, target, by, data.get("key", target), data)
        yield step
        for decision in data.keys() & (DECISIONS | TURNS):
            how = data[decision]
            yield replace(step, age=_duration(how["ago"]), verb=decision, by=how.get("by", ""), data=how)


#: In the order it happened.
STORY: tuple[Step, ...] = tuple(sorted(_steps(), key=lambda step: step.age, reverse=True))
