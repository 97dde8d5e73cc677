"""Makes histories: hundreds of operations by several owners, agents and tutors, through the services, from a seed.

For tests of what has to hold whatever happened before: that the ledger can be made again from the log, that a
restored backup says the same. The choices depend on the seed alone; operation ids and times do not, so two runs
give the same kinds of changes and not the same hashes.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, TypeVar

from approvals import services
from approvals.models import TAKEN, Agent, Kind, Policy, Proposal, RejectReason, Status, Tutorship, User
from approvals.services import imports, notes
from approvals.services.close import close
from approvals.services.errors import Refusal
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from assent_client.text.memories_md import Memory
from memory_app import reads
from memory_app.models import Change
from memory_app.text import edits
from memory_app.text.edits import EditError, Replace, Rewrite
from tests.support import hostile_texts as hostile
from tests.support.acts import as_seen

T = TypeVar("T")

#: Refusal attempts before the next kind of operation is drawn: a history has to end.
ATTEMPTS_FOR_EACH = 30

#: What the ledger says, all of it but the rows' own numbers.
COLUMNS = tuple(field.attname for field in Change._meta.concrete_fields if not field.primary_key)


def make_history(seed: int, operations: int) -> None:
    """Do `operations` things that the services accept, chosen by `seed`, in the memories of four owners.

    Raises:
        AssertionError: nearly everything is refused, so the history would not be one.
    """
    history = _History(random.Random(seed))
    done = attempts = 0
    while done < operations:
        attempts += 1
        assert attempts < ATTEMPTS_FOR_EACH * (operations + 10), f"{done} of {attempts} attempts were accepted"
        done += history.do_something()


def ledger_snapshot() -> list[tuple[Any, ...]]:
    """Return every row of the ledger, in the order pages show them, without its own number."""
    return list(Change.objects.order_by("at", "id").values_list(*COLUMNS))


class _Pointless(Exception):
    """There is nothing to do this to yet."""


class _History:
    """The people of a history and what they may do next. Names are never those of another test's people."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.owners = [self._person("alice"), *(self._person(hostile.name(number)) for number in range(3))]
        self.names = [owner.username for owner in self.owners]
        self.tutors = [self._person("tim"), self._person(hostile.name(8))]
        self.admin = self._person("admin", is_staff=True)
        for tutor in self.tutors:
            for owner in self.owners[:3]:
                Tutorship.objects.get_or_create(tutor=tutor, owner=owner)
        self.agents = [
            Agent.objects.get_or_create(name=name)[0]
            for name in ("scribe", "alice", hostile.name(9))  # an agent may be called as a person is
        ]
        self.made = 0
        for owner in self.owners:  # so that there is something to edit from the start
            services.create_block(actor=owner, owner=owner.username, label="goals", fields=self._fields())

    def do_something(self) -> bool:
        """Do one thing, drawn by weight; whether it was accepted."""
        kinds: dict[Callable[[], object], int] = {
            self.create_block: 3,
            self.edit_block: 10,
            self.delete_block: 2,
            self.propose: 22,
            self.approve: 22,
            self.reject: 5,
            self.withdraw: 3,
            self.expire: 1,
            self.save_note: 14,
            self.update_note: 9,
            self.delete_note: 3,
            self.supersede_note: 5,
            self.reinstate_note: 3,
            self.import_notes: 5,
            self.undo: 5,
            self.change_policy: 2,
        }
        kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
        try:
            kind()
        except (Refusal, EditError, reads.BlockNotFound, reads.NoteNotFound, _Pointless):
            return False
        return True

    # -- blocks -----------------------------------------------------------------------------------

    def create_block(self) -> None:
        # A label that was deleted comes back now and then.
        label = "goals" if self.rng.random() < 0.2 else hostile.label(self._number())
        services.create_block(label=label, fields=self._fields(), **self._writing(self._owner()))

    def edit_block(self) -> None:
        """Its whole text, or one line of it, which leaves room for what was proposed before."""
        owner, fields = self._owner(), self._fields()
        block = self._block(owner)
        if self.rng.random() < 0.7:
            body = edits.apply(block.body, self._replacements(block.body)[:1]).text
            fields = replace(fields, body=body)
        shown = {"label": block.label, "loaded_sha256": block.sha256}
        services.edit_block(fields=fields, **shown, **self._writing(owner))

    def delete_block(self) -> None:
        owner = self._owner()
        block = self._block(owner)
        services.delete_block(label=block.label, loaded_sha256=block.sha256, **self._writing(owner))

    def propose(self) -> None:
        block = self._block(self._owner())
        whole = self.rng.random() < 0.15
        services.propose(
            agent=self.rng.choice(self.agents),
            owner=block.owner,
            label=block.label,
            edits=[Rewrite(self._body())] if whole else self._replacements(block.body),
            kind=Kind.REWRITE if whole else Kind.EDIT,
            reasoning=self._text(),
            session_id="s" * 128 if self.rng.random() < 0.1 else "",
        )

    # -- deciding ---------------------------------------------------------------------------------

    def approve(self) -> None:
        """Whatever waits, also what was proposed on an older text and has to be applied again."""
        proposal = self._proposal(Status.OPEN)
        services.approve(comment=self._text(), **as_seen(proposal), **self._reviewing(proposal))

    def reject(self) -> None:
        proposal = self._proposal(Status.OPEN)
        number = proposal.current_revision_number
        said = {"reason": self.rng.choice(RejectReason.values), "comment": self._text()}
        services.reject(proposal_id=proposal.pk, revision=number, **said, **self._reviewing(proposal))

    def withdraw(self) -> None:
        proposal = self._proposal(Status.OPEN)
        services.withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=self._text())

    def expire(self) -> None:
        close(self._proposal(Status.OPEN), Status.EXPIRED, actor=None)

    def undo(self) -> None:
        """Also where the memory changed since, which the reviewer was shown."""
        proposal = self._proposal(*TAKEN, Status.REJECTED, Status.EXPIRED)
        seen = as_seen(proposal)["seen_sha256"] if self.rng.random() < 0.5 else None
        told = {"seen_sha256": seen, "comment": self._text()}
        services.undo(proposal_id=proposal.pk, **told, **self._reviewing(proposal))

    def change_policy(self) -> None:
        choice = self.rng.choice((Policy.Notes.APPLY, Policy.Notes.APPLY, Policy.Notes.REVIEW))
        Policy.objects.update_or_create(owner=self._owner().username, defaults={"notes": choice})

    # -- notes ------------------------------------------------------------------------------------

    def save_note(self) -> None:
        notes.save(
            **self._of_agent_or_person(self._owner()),
            content=self._content(),
            type=self.rng.choice(memories_md.TYPES),
            tags=self.rng.sample(["maths", "Target: block/goals", "t" * 64, "日本"], self.rng.randint(0, 3)),
            rationale=self._text(1_000) or None,
            note_id=self._note_id() if self.rng.random() < 0.5 else None,
        )

    def update_note(self) -> None:
        owner = self._owner()
        notes.update(note_id=self._note(owner).id, content=self._content(), **self._of_agent_or_person(owner))

    def delete_note(self) -> None:
        owner = self._owner()
        notes.delete(note_id=self._note(owner).id, **self._of_agent_or_person(owner))

    def supersede_note(self) -> None:
        owner = self._owner()
        given = {"note_id": self._note(owner).id, "reason": self._text(1_000)}
        replacement = self._note(owner).id if self.rng.random() < 0.5 else None
        notes.supersede(replacement_id=replacement, **given, **self._of_agent_or_person(owner))

    def reinstate_note(self) -> None:
        """Of any owner: few notes are outdated, since a change by an agent may wait."""
        of_all = [note for owner in self.owners for note in self._notes(owner)]
        note = self._one_of([note for note in of_all if note.is_superseded])
        owner = self.owners[self.names.index(note.owner)]
        notes.reinstate(note_id=note.id, loaded_sha256=note.sha256, **self._writing(owner))

    def import_notes(self) -> None:
        """Some new notes and some that are there; now and then more than a commit message names one by one."""
        owner = self._owner()
        known = self._notes(owner)[:5]
        count = self.rng.choice((1, 2, 8, 49, 51, 80))
        today = date(2025, 1, 1) + timedelta(days=self.rng.randrange(200))
        memories = [Memory(self._note_id(), "note", self._content(300), ("t",), today) for _ in range(count)]
        memories += [Memory(note.id, note.type, self._content(300), note.tags, today) for note in known]
        imports.import_file(data=memories_md.write(memories).encode(), **self._of_agent_or_person(owner))

    # -- choosing ---------------------------------------------------------------------------------

    def _person(self, username: str, **fields: Any) -> User:
        person = {"first_name": hostile.display_name(self.rng)} | fields
        return User.objects.get_or_create(username=username, defaults=person)[0]

    def _owner(self) -> User:
        return self.rng.choice(self.owners)

    def _writer(self, owner: User) -> User:
        return self.admin if self.rng.random() < 0.2 else owner

    def _writing(self, owner: User) -> dict[str, Any]:
        """Return who writes in a memory, and why."""
        return {"actor": self._writer(owner), "owner": owner.username, "comment": self._text()}

    def _reviewing(self, proposal: Proposal) -> dict[str, User]:
        """Return who decides: the owner, the site's staff, or a tutor of the first three owners."""
        place = self.names.index(proposal.owner)
        tutors = self.tutors if place < 3 else []
        return {"actor": self.rng.choice([self.owners[place], self.admin, *tutors])}

    def _of_agent_or_person(self, owner: User) -> dict[str, Any]:
        """Return who changes a note; an agent's change is applied or waits, as its token and the owner's policy say."""
        by = ChangeContext(actor=self._writer(owner), reasoning=self._text())
        if self.rng.random() < 0.7:
            by = replace(by, actor=self.rng.choice(self.agents), may_apply=self.rng.random() < 0.7)
        return {"by": by, "owner": owner.username}

    def _proposal(self, *statuses: Status) -> Proposal:
        found = Proposal.objects.filter(status__in=statuses, owner__in=self.names, reverted_by_commit="")
        return self._one_of(list(found.select_related("agent").order_by("pk")))

    def _block(self, owner: User) -> reads.Block:
        return self._one_of(sorted(reads.blocks(owner.username), key=lambda block: block.label))

    def _note(self, owner: User) -> reads.Note:
        return self._one_of(self._notes(owner))

    def _notes(self, owner: User) -> list[reads.Note]:
        """The oldest first: ids that the service chose differ from run to run."""
        return sorted(reads.notes(owner.username), key=lambda note: (note.updated_at, note.content))

    def _one_of(self, things: list[T]) -> T:
        if not things:
            raise _Pointless
        return self.rng.choice(things)

    # -- texts ------------------------------------------------------------------------------------

    def _text(self, longest: int = 5_000) -> str:
        return hostile.text(self.rng, self.names, longest=longest)

    def _content(self, longest: int = 2_000) -> str:
        return f"{self._number()} {hostile.text(self.rng, self.names, longest=longest - 10)}"

    def _body(self) -> str:
        lines = [f"{self._number()} {hostile.prose(self.rng, 60)}".replace("\n", " ") for _ in range(12)]
        return "\n".join(lines) + "\n"

    def _replacements(self, body: str) -> list[Replace]:
        """One to three lines of the block, each as something else."""
        lines = [line for line in body.split("\n") if line.strip() and body.count(line) == 1]
        if not lines:
            raise _Pointless
        chosen = self.rng.sample(lines, min(len(lines), self.rng.randint(1, 3)))
        return [Replace(line, f"{self._number()} {hostile.trailers(self.rng, self.names)}") for line in chosen]

    def _fields(self) -> services.BlockFields:
        return services.BlockFields(
            title=hostile.text(self.rng, self.names, longest=200),
            description=hostile.text(self.rng, self.names, longest=1_000),
            body=self._body(),
            limit=20_000,
        )

    def _note_id(self) -> str:
        return f"mem-{17 * 10**18 + self._number()}-{self.rng.randrange(10_000):04d}"

    def _number(self) -> int:
        self.made += 1
        return self.made
