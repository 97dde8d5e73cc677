"""Whether what was acknowledged is there, once, and nothing else: a pure function of the journal and of what the
databases say (`inside.report`).

What was sent and never answered may have happened or not, but never twice and never by half.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a client puts into each text it sends, to find it again: `[m12]`.
MARK = re.compile(r"\[(m\d+)\]")

#: What a decision makes of its proposal.
_DECIDED = {"approve": "approved", "reject": "rejected", "withdraw": "withdrawn"}
_UNDER_WAY = ("preparing", "merging")


@dataclass
class Verdict:
    """Sentences, by what is wrong."""

    lost: list[str] = field(default_factory=list)
    unapproved: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        return [f"{kind}: {sentence}" for kind, found in vars(self).items() for sentence in found]


def compare(entries: Iterable[Mapping[str, Any]], said: Mapping[str, Any]) -> Verdict:
    """Compare the journal's entries with a report of the databases, made while nobody writes.

    Args:
        said: as `inside.report` gives it: blocks, notes, proposals, ledger and problems.
    """
    verdict = Verdict()
    entries = list(entries)
    _proposals(entries, said, verdict)
    _notes(entries, said, verdict)
    verdict.stuck += [f"check_memory: {problem}" for problem in said["problems"]]
    return verdict


def _proposals(entries: list[Mapping[str, Any]], said: Mapping[str, Any], verdict: Verdict) -> None:
    sentences = Counter(mark for text in said["blocks"].values() for mark in MARK.findall(text))
    proposals = {proposal["id"]: proposal for proposal in said["proposals"]}
    of_mark: dict[str, list[int]] = defaultdict(list)
    for proposal in said["proposals"]:
        if proposal["kind"] == "edit":
            for mark in MARK.findall(proposal["reasoning"]):
                of_mark[mark].append(proposal["id"])
        if proposal["status"] in _UNDER_WAY:
            verdict.stuck.append(f"proposal {proposal['id']} is {proposal['status']}")
    tried: dict[int, set[str]] = defaultdict(set)
    for entry in entries:
        if entry["what"] in _DECIDED:
            tried[entry["id"]].add(entry["what"])

    for entry in entries:
        if not entry["acknowledged"]:
            continue
        if entry["what"] == "propose" and entry["id"] not in of_mark.get(entry["mark"], ()):
            verdict.lost.append(f"proposal {entry['id']} of {entry['mark']}")
        if entry["what"] in _DECIDED:
            status = proposals.get(entry["id"], {}).get("status")
            if status != _DECIDED[entry["what"]]:
                verdict.lost.append(f"{entry['what']} of proposal {entry['id']}, which is {status}")
    for mark, ids in of_mark.items():
        if len(ids) > 1:
            verdict.doubled.append(f"{mark} has the proposals {ids}")
        status = proposals[ids[0]]["status"]
        if status == "approved" and "approve" not in tried[ids[0]]:
            verdict.unapproved.append(f"proposal {ids[0]}, which nobody approved")
        if status == "approved" and not sentences[mark]:
            verdict.lost.append(f"the sentence of the approved proposal {ids[0]}")
    recorded = Counter(row["proposal_id"] for row in said["ledger"] if row["action"] == "approved")
    for mark, count in sentences.items():
        if count > 1:
            verdict.doubled.append(f"the sentence {mark} stands {count} times in the memory")
        if not any(proposals[id_]["status"] == "approved" for id_ in of_mark.get(mark, ())):
            verdict.unapproved.append(
                f"the sentence {mark} is in the memory, its proposals {of_mark.get(mark, [])} are not approved"
            )
    for id_, proposal in proposals.items():
        if proposal["status"] == "approved" and proposal["kind"] == "edit" and recorded[id_] != 1:
            (verdict.doubled if recorded[id_] else verdict.lost).append(
                f"the ledger has proposal {id_} {recorded[id_]} times"
            )


def _notes(entries: list[Mapping[str, Any]], said: Mapping[str, Any], verdict: Verdict) -> None:
    """Each note of a mark once; of an import all or none."""
    notes = Counter(mark for note in said["notes"] for mark in MARK.findall(note["content"]))
    known = {note["id"] for note in said["notes"]}
    recorded = {row["target"] for row in said["ledger"] if row["kind"] == "note"}
    wanted: dict[str, int] = {}
    done: set[str] = set()
    for entry in entries:
        if entry["what"] in ("note", "import"):
            wanted[entry["mark"]] = entry["count"]
            if entry["acknowledged"]:
                done.add(entry["mark"])
    for mark, count in wanted.items():
        found = notes[mark]
        if found > count:
            verdict.doubled.append(f"{mark}: {found} notes instead of {count}")
        elif found < count and (mark in done or found):
            verdict.lost.append(f"{mark}: {found} notes instead of {count}")
    verdict.lost += [f"the ledger's row of note {id_}" for id_ in sorted(known - recorded)]
    for mark in notes.keys() - wanted.keys():
        verdict.unapproved.append(f"a note of {mark}, which nobody sent")
