"""Who and what the cases work on: students with the demo's texts as their memory, a tutor, an agent."""

from __future__ import annotations

import io
import uuid
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle, islice

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from approvals import services
from approvals.demo import texts
from approvals.models import Agent, Kind, Proposal, Revision, Status, Tutorship, User
from memory_app import edits

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
    tutor = User.objects.create_user(TUTOR, password=PASSWORD, first_name="Tim", last_name="Brandt")
    names = tuple(f"student-{number:03}" for number in range(students))
    User.objects.bulk_create([User(username=name, first_name=name.title(), password="!") for name in names])
    owners = User.objects.filter(username__in=names)
    Tutorship.objects.bulk_create([Tutorship(tutor=tutor, owner=owner) for owner in owners])
    User.objects.create_superuser("admin", password=PASSWORD)
    return names


def make_agent() -> str:
    """The agent; its raw token, which serves everyone."""
    Agent.objects.create(name=AGENT)
    out = io.StringIO()
    call_command("issue_token", "--agent", AGENT, "--all-owners", stdout=out)
    return out.getvalue().strip()


def make_blocks(owners: tuple[str, ...], count: int) -> list[Target]:
    """So many blocks, spread over the owners, each a commit."""
    people = {user.username: user for user in User.objects.filter(username__in=owners)}
    targets = []
    for number, (owner, (source, label)) in enumerate(islice(zip(cycle(owners), cycle(_TEXTS), strict=False), count)):
        fields = texts.block(source, label).fields
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
    proposals = Proposal.objects.bulk_create(
        [
            Proposal(
                owner=owners[number % len(owners)],
                target=f"goals-{number % (3 * len(owners))}",
                target_title="Learning goals",
                kind=Kind.EDIT,
                agent=agent,
                status=Status.OPEN,
                reasoning=f"She said so in session {number}; the sheet of last week was the subject of it.",
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
