"""Commit messages: one line of subject, and the trailers at the end.

`commits` writes them; readers of the log parse them here. A message holds no free text: a reviewer's comment or
an agent's reason stays in `default`, where it can be erased and where no parser can take it for a trailer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")
_NAME = re.compile(r"\S(?:[^\n]{0,62}\S)?")

#: What each trailer may say; a paragraph with any other line in it does not count as trailers.
_VALUES: dict[str, re.Pattern[str]] = {
    "Action": re.compile(r"[a-z]{1,16}"),
    "Owner": _NAME,
    "Target": re.compile(r"(?:block|note)/\S{1,64}"),
    "Targets": re.compile(r"[0-9]{1,9}"),
    "Proposal": re.compile(r"[0-9]{1,19}"),
    "Agent": _NAME,
    "Reviewed-by": _NAME,
    "Undoes": re.compile(r"[0-9a-v]{32,64}"),
    "Actor": _NAME,
    "At": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"),
    "Operation": re.compile(r"[0-9a-f]{32}"),
}

#: The fields of `Trailers` that hold a value as it is; of the two that name a person the reviewer counts.
_FIELDS = {
    **{name: name.lower() for name in ("Action", "Owner", "Agent", "Undoes", "Operation")},
    **dict.fromkeys(("Actor", "Reviewed-by"), "person"),
}

#: Left out, one after the other, where a message would be longer than the engine keeps: the rows that the commit
#: changed and its second parent say the same.
#: "Approve proposal 12: goals of alice" becomes "Approve proposal 12" before the reviewer's name goes.
_SUBJECT = "what follows the colon of the subject"
_DISPENSABLE = ("Agent", "Target", "Targets", "Owner", _SUBJECT, "Reviewed-by")


@dataclass(frozen=True)
class Trailers:
    """The trailers of a commit message; empty values where it has none.

    Args:
        targets: (kind, label or id) pairs; empty also where the message only counts them.
        person: username of the person who decided or edited.
        undoes: of an undone decision, the commit that it had made.
        at: when the change was made, to the microsecond.
    """

    action: str = ""
    owner: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    proposal_id: int | None = None
    agent: str = ""
    person: str = ""
    undoes: str = ""
    at: datetime | None = None
    operation: str = ""

    @classmethod
    def of(cls, message: str) -> Trailers:
        """Return the trailers of `message`, none when its last paragraph is not made of trailers alone."""
        values: dict[str, str] = {}
        targets: list[tuple[str, str]] = []
        last = message.rstrip("\n").rpartition("\n\n")[2]
        for line in last.split("\n"):
            match = _TRAILER.fullmatch(line)
            if not match:
                return cls()
            name, value = match.groups()
            if name not in _VALUES or not _VALUES[name].fullmatch(value) or name in values:
                return cls()
            if name == "Target":
                kind, _, target = value.partition("/")
                targets.append((kind, target))
            else:
                values[name] = value
        return cls(
            targets=tuple(targets),
            proposal_id=int(values["Proposal"]) if "Proposal" in values else None,
            at=_read(values.get("At", "")),
            **{field: values[name] for name, field in _FIELDS.items() if name in values},
        )


def message(subject: str, trailers: Iterable[tuple[str, str]], *, most: int) -> str:
    """Return a commit message: the subject in one line, then one line for each trailer.

    Args:
        trailers: (name, value) pairs; one without a value is left out.
        most: bytes the engine keeps of a message. What is dispensable is left out above it.

    Raises:
        ValueError: a value that cannot be read back as that trailer, or a message that does not fit.
    """
    lines = [(name, value) for name, value in trailers if value]
    for name, value in lines:
        if not _VALUES[name].fullmatch(value):
            raise ValueError(f"not a value of the trailer {name}: {value!r}")
    line = " ".join(subject.split())[:200]
    for dropped in ("", *_DISPENSABLE):
        if dropped == _SUBJECT:
            line = line.partition(":")[0]
        lines = [(name, value) for name, value in lines if name != dropped]
        text = "\n\n".join([line, "\n".join(f"{name}: {value}" for name, value in lines)])
        if len(text.encode()) <= most:
            return text
    raise ValueError(f"a commit message of {len(text.encode())} bytes; the engine keeps {most}")


def written(at: datetime) -> str:
    """Return a time as the trailer `At` has it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at) if at else None
    except ValueError:  # the 31st of February
        return None
