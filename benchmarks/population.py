"""Who and what the cases work on: students with the demo's texts as their memory, a tutor, an agent.

`make_history` gives one owner the past of some years of use: every table that grows has thousands of their rows.
"""

import io
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle, islice
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import models
from django.utils import timezone

from agent_tools.models import AgentToken, IdempotencyKey, ToolCall
from approvals import services
from approvals.demo import story
from approvals.models import Agent, Event, Kind, Proposal, Revision, Status, Tutorship, User, WeekCount
from approvals.review.summary import search_words
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from approvals.statistics import kept
from assent_client.text import memories_md
from assent_client.text.memories_md import TYPES, Memory, Parsed
from memory_app.models import Change, Message, SearchIndex
from memory_app.search import embedders
from memory_app.text import edits, worddiff

PASSWORD = "benchmark"
TUTOR = "tim"
AGENT = "scribe"

_TEXTS = [
    ("alice", "study_log"),
    ("alice", "goals"),
    ("alice", "preferences"),
    ("alice", "vocabulary"),
    ("alice", "lerntagebuch"),
    ("ben", "goals"),
    ("alice", "sticking_points"),
    ("ben", "study_log"),
    ("alice", "weekly_plan"),
    ("alice", "profile"),
]

OLD = "Next session: not arranged yet."
NEW = "Next session: Thursday at four, with the sheet of last week."


@dataclass(frozen=True)
class Target:
    """A block of the population; its text ends in the line `OLD`."""

    owner: str
    label: str


def make_people(students: int) -> tuple[str, ...]:
    """The tutor and so many students of hers; the students' usernames."""
    User.objects.create_user(TUTOR, password=PASSWORD, first_name="Tim", last_name="Brandt")
    names = make_students(students)
    User.objects.create_superuser("admin", password=PASSWORD)
    return names


def make_students(students: int, *, first: int = 0) -> tuple[str, ...]:
    """So many more students of the tutor, numbered from `first`; their usernames."""
    tutor = User.objects.get(username=TUTOR)
    names = tuple(f"student-{number:03}" for number in range(first, first + students))
    User.objects.bulk_create([User(username=name, first_name=name.title(), password="!") for name in names])
    owners = User.objects.filter(username__in=names)
    Tutorship.objects.bulk_create([Tutorship(tutor=tutor, owner=owner) for owner in owners])
    return names


def make_agent() -> str:
    """The agent; its raw token, which serves everyone."""
    Agent.objects.create(name=AGENT)
    out = io.StringIO()
    call_command("issue_token", "--agent", AGENT, "--all-owners", stdout=out)
    return out.getvalue().strip()


def make_blocks(owners: tuple[str, ...], count: int, *, first: int = 0) -> list[Target]:
    """So many blocks, spread over the owners, each a commit; numbered from `first`."""
    people = {user.username: user for user in User.objects.filter(username__in=owners)}
    targets = []
    for number, (owner, (source, label)) in enumerate(
        islice(zip(cycle(owners), cycle(_TEXTS), strict=False), count), first
    ):
        fields = story.block_fields(source, label)
        target = Target(owner, f"{label}-{number}")
        services.create_block(
            actor=people[owner],
            owner=owner,
            label=target.label,
            fields=services.BlockFields(
                title=fields.title,
                description=fields.description,
                body=f"{fields.body}\n\n{OLD}",
                limit=settings.BLOCK_LIMIT,
            ),
        )
        targets.append(target)
    return targets


def make_open_rows(owners: tuple[str, ...], count: int) -> None:
    """Open proposals as the lists see them: rows and their edits, without branches or texts."""
    agent = Agent.objects.get(name=AGENT)
    now = timezone.now()
    change = [edits.Replace(OLD, NEW, occurrences=1)]
    segments = worddiff.diff(OLD, NEW)
    reason = "She said so in session {}; the sheet of last week was the subject of it."
    proposals = Proposal.objects.bulk_create(
        [
            Proposal(
                owner=owners[number % len(owners)],
                target=f"goals-{number % (3 * len(owners))}",
                target_title="Learning goals",
                kind=Kind.EDIT,
                agent=agent,
                status=Status.OPEN,
                reasoning=reason.format(number),
                search_words=search_words(segments, (), reason.format(number), "Learning goals"),
                excerpt=[
                    ["same", "Next session: "],
                    ["removed", "not arranged yet"],
                    ["added", "Thursday at four, with the sheet of last week"],
                    ["same", "."],
                ],
                words_added=9,
                words_removed=3,
                result_sha256=edits.sha256_of(str(number)),
                operation=uuid.uuid4().hex,
                created_at=now - timedelta(minutes=number),
                expires_at=now + timedelta(days=30),
            )
            for number in range(count)
        ],
        batch_size=1000,
    )
    Revision.objects.bulk_create(
        [
            Revision(
                proposal=proposal,
                number=1,
                branch=f"p/{proposal.pk}",
                base_commit="0" * 40,
                base_sha256="0" * 64,
                edits=edits.to_json(change),
            )
            for proposal in proposals
        ],
        batch_size=1000,
    )


def owner_name(number: int) -> str:
    return f"owner-{number:06}"


def make_owner_rows(first: int, last: int) -> None:
    """Owners as rows alone, from one number up to another: each with 10 proposals (1 of them open), 9 changes in the
    ledger and a row of the search index. Without memory, branches or texts."""
    agent, now = Agent.objects.get(name=AGENT), timezone.now()
    for start in range(first, last, 1_000):
        names = [owner_name(number) for number in range(start, min(start + 1_000, last))]
        _insert(User(username=name, first_name=name.title(), password="!") for name in names)
        proposals = _insert(
            Proposal(
                owner=name,
                target=f"goals-{number}",
                target_title="Learning goals",
                kind=Kind.EDIT,
                agent=agent,
                status=Status.APPROVED if number else Status.OPEN,
                reasoning="She said so.",
                search_words="goals algebra" if number % 2 else "goals",
                result_sha256=edits.sha256_of(str(number)),
                operation=uuid.uuid4().hex,
                merge_commit=uuid.uuid4().hex if number else "",
                created_at=now - timedelta(days=7 * number + 1),
                expires_at=now + timedelta(days=30),
                decided_at=now - timedelta(days=7 * number) if number else None,
            )
            for name in names
            for number in range(10)
        )
        _insert(
            Revision(
                proposal=each,
                number=1,
                branch=f"p/{each.pk}",
                base_commit="0" * 40,
                base_sha256="0" * 64,
                edits=edits.to_json([edits.Replace(OLD, NEW, occurrences=1)]),
            )
            for each in proposals
        )
        changes = _insert(
            Change(
                commit=each.merge_commit,
                owner=each.owner,
                target_kind="block",
                target=each.target,
                action=Change.Action.APPROVED,
                actor=each.owner,
                agent=AGENT,
                proposal_id=each.pk,
                at=each.decided_at,
            )
            for each in proposals
            if each.decided_at
        )
        newest = {change.owner: change for change in changes}
        settled = {"writes": 1, "writes_indexed": 1, "embedder": embedders.name_to_have() or ""}
        _insert(
            SearchIndex(owner=name, change_id=newest[name].pk, commit=newest[name].commit, **settled) for name in names
        )
    # As the tasks of the clock leave the counts, which takes them two minutes for 10,000 owners.
    WeekCount.objects.filter(is_new=True).delete()
    kept.correct()


# -- an owner with a history ----------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """How much of everything an owner has.

    Args:
        proposals: decided ones, each with its text, its events and its row in the ledger.
        waiting: open ones, on one block.
        keys: idempotency keys, with the answers kept for them.
    """

    blocks: int = 300
    notes: int = 20_000
    proposals: int = 10_000
    waiting: int = 200
    calls: int = 50_000
    messages: int = 10_000
    keys: int = 10_000


def make_history(owner: str, size: History) -> None:
    """Give an owner a past. Blocks and notes are written through the services; decided proposals, calls and
    messages are rows alone, older than those: their branches are gone anyway."""
    person = User.objects.get(username=owner)
    targets = make_blocks((owner,), size.blocks, first=1_000)
    for start in range(0, size.notes, 10_000):
        import_memories(
            by=ChangeContext(actor=person), owner=owner, parsed=memories(start, min(size.notes - start, 10_000))
        )
    _make_decided_rows(person, size, [target.label for target in targets])
    make_open_rows((owner,), size.waiting)
    agent = Agent.objects.get(name=AGENT)
    token = AgentToken.objects.filter(agent=agent).first()
    now = timezone.now()
    _insert(
        ToolCall(
            token=token,
            agent=agent,
            owner=owner,
            tool=("memory_search", "read_memory_block", "propose_memory_edit")[number % 3],
            target=f"goals-{number % 300}",
            session_id=f"session-{number // 40}",
            outcome="ok",
            status=200,
            duration_ms=4.2,
            request_bytes=120,
            response_bytes=900,
            request_id=uuid.uuid4().hex,
            at=now - timedelta(minutes=number),
        )
        for number in range(size.calls)
    )
    _insert(
        Message(
            owner=owner,
            session_id=f"session-{number // 40}",
            message_id=f"message-{number}",
            role="user" if number % 2 else "assistant",
            content=sentence(number),
            agent=AGENT,
            at=now - timedelta(minutes=size.messages - number),
        )
        for number in range(size.messages)
    )
    _insert(
        IdempotencyKey(
            token=token,
            key=f"key-{number}",
            arguments_sha256="0" * 64,
            operation=uuid.uuid4().hex,
            status=200,
            response='{"text": "done"}',
            lease_expires_at=now,
            created_at=now - timedelta(seconds=number),
        )
        for number in range(size.keys)
    )


def _make_decided_rows(person: User, size: History, labels: list[str]) -> None:
    agent = Agent.objects.get(name=AGENT)
    began = timezone.now() - timedelta(days=400)
    proposals = []
    for number in range(size.proposals):
        at = began + timedelta(minutes=number * 50)
        applied = number % 4 == 0
        proposals.append(
            Proposal(
                owner=person.username,
                target_kind="note" if applied else "block",
                target=f"mem-{1_600_000_000 + number}-abcd" if applied else labels[number % len(labels)],
                target_title="Learning goals",
                kind=Kind.SAVE if applied else Kind.EDIT,
                agent=agent,
                status=Status.APPLIED if applied else (Status.APPROVED, Status.REJECTED)[number % 5 == 0],
                auto_applied=applied,
                reasoning=f"She said so in session {number}.",
                result_sha256=edits.sha256_of(str(number)),
                operation=uuid.uuid4().hex,
                merge_commit=f"{number:040x}",
                created_at=at,
                expires_at=at + timedelta(days=30),
                decided_at=at + timedelta(minutes=5),
                decided_by=None if applied else person,
            )
        )
    made = _insert(proposals)
    body = story.block_fields("ben", "goals").body
    _insert(
        Revision(
            proposal=proposal,
            number=1,
            branch=f"p/{proposal.pk}",
            base_commit="0" * 40,
            head_commit="1" * 40,
            base_sha256="0" * 64,
            base_text=body,
            result_text=f"{body}\n{NEW}",
            edits=edits.to_json([edits.Replace(OLD, NEW, occurrences=1)]),
        )
        for proposal in made
    )
    _insert(
        Event(
            proposal=proposal,
            owner=proposal.owner,
            what=what,
            actor=AGENT,
            actor_kind="agent",
            revision=1,
            at=proposal.decided_at,
            tells=agent if what == Event.What.APPROVED else None,
        )
        for proposal in made
        for what in (Event.What.PROPOSED, Event.What.APPROVED)
    )
    # As after years of use: all of it has been told.
    AgentToken.objects.update(tells_after=Event.objects.latest("pk").pk)
    _insert(
        Change(
            commit=proposal.merge_commit,
            owner=proposal.owner,
            target_kind=proposal.target_kind,
            target=proposal.target,
            action=Change.Action.APPLIED if proposal.auto_applied else Change.Action.APPROVED,
            actor="" if proposal.auto_applied else person.username,
            agent=AGENT,
            proposal_id=proposal.pk,
            at=proposal.decided_at,
        )
        for proposal in made
        if proposal.status != Status.REJECTED
    )


def _insert(rows: Iterable[Any]) -> list[Any]:
    rows = list(rows)
    model: type[models.Model] | None = type(rows[0]) if rows else None
    return list(model._default_manager.bulk_create(rows, batch_size=1000)) if model else []


_SUBJECTS = ("algebra", "the exam", "her sister", "chemistry", "the library", "Tuesday", "the essay", "music", "French")
_VERBS = ("prefers", "finished", "is worried about", "wants to discuss", "has given up", "asked about", "enjoys")
_DAY = date(2026, 11, 1)


def sentence(number: int) -> str:
    """What a note says."""
    verb, subject = _VERBS[number % len(_VERBS)], _SUBJECTS[number // len(_VERBS) % len(_SUBJECTS)]
    return f"On day {number} she {verb} {subject} and noted it under heading {number % 97}."


def subject(number: int) -> str:
    """Something notes speak of, to search for."""
    return _SUBJECTS[number % len(_SUBJECTS)]


_FORMS = ("she likes {}", "彼女は{}が好きです", "Она любит {} и читает", "تحب {} كثيرا", 'says "{}" and \\\non a line')


def varied(start: int, count: int) -> Parsed:
    """So many notes of all types, with and without tags, in several scripts and lengths."""
    every = []
    for number in range(start, start + count):
        text = sentence(number) if number % 10 < 7 else _FORMS[number % len(_FORMS)].format(f"thing {number}")
        text = f"{' '.join([text] * (number % 7 + 1))} {number}" if number % 10 == 9 else text
        tags = ("bulk", f"topic-{number % 37}") if number % 3 else ()
        day = _DAY + timedelta(days=number % 300)
        every.append(Memory(f"mem-{1_700_000_000 + number}-abcd", TYPES[number % len(TYPES)], text, tags, day))
    return memories_md.parse(memories_md.write(every))


def memories(start: int, count: int) -> Parsed:
    """So many notes as a memories.md has them."""
    numbers = range(start, start + count)
    every = [Memory(f"mem-{1_700_000_000 + n}-abcd", "fact", sentence(n), ("bulk",), _DAY) for n in numbers]
    return memories_md.parse(memories_md.write(every))
