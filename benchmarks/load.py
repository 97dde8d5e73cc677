"""What people and agents do to a server in a soak: proposing, approving, saving, searching, reading, in a fixed mix."""

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from benchmarks import processes

STUDENTS = 3
LINES = 120
#: As many as a page of them has, and more proposals than an inbox page.
NOTES, WAITING = 60, 30
#: A block of each student whose proposals nobody decides.
UNDECIDED = "tasks"


@dataclass(frozen=True)
class Done:
    """One operation: when it began (seconds since the start), which, how long it took, whether it went well."""

    at: float
    kind: str
    ms: float
    ok: bool


def prepare() -> tuple[str, list[tuple[str, str]]]:
    """Make the databases, students with blocks and a full page of notes each, and an agent.

    A page that fills up takes longer each minute, which says nothing about the site.

    Returns:
        The agent's token, and the (owner, label) of each block that is changed.
    """
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from approvals import services as use_cases
    from approvals.models import User
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext
    from benchmarks import population

    for alias in ("default", "memory"):
        call_command("migrate", database=alias, verbosity=0)
    students = population.make_people(STUDENTS)
    token = population.make_agent()
    targets = []
    for owner in students:
        person = User.objects.get(username=owner)
        for label in ("log", "plan", UNDECIDED):
            body = "\n".join(f"Line {number} says nothing yet." for number in range(LINES))
            fields = use_cases.BlockFields(title="", description="", body=body, limit=settings.BLOCK_LIMIT)
            use_cases.create_block(actor=person, owner=owner, label=label, fields=fields)
            if label != UNDECIDED:
                targets.append((owner, label))
        made = population.memories(0, NOTES)
        import_memories(by=ChangeContext(actor=person), owner=owner, parsed=made)
    connections.close_all()
    return token, targets


@dataclass
class Load:
    """What is done to the server, and what came of it."""

    port: int
    token: str
    targets: list[tuple[str, str]]
    done: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._local = threading.local()
        self._waiting: SimpleQueue[int] = SimpleQueue()
        self._chance = random.Random(7)  # the same mix each time
        self.began = time.monotonic()
        self.kinds: dict[str, tuple[int, Callable[[], bool]]] = {
            "propose": (2, self.propose),
            "approve": (2, self.approve),
            "save": (1, self.save),
            "search": (2, self.search),
            "read": (1, self.read),
            "inbox": (1, lambda: self._page("/")),
            "memory page": (1, lambda: self._page(f"/memory/{self._target()[0]}/")),
            "notes page": (1, lambda: self._page(f"/memory/{self._target()[0]}/notes/")),
        }

    def order(self, count: int) -> list[str]:
        """So many operations in a mixed order."""
        names = [name for name, (weight, _) in self.kinds.items() for _ in range(weight)]
        wanted: list[str] = []
        while len(wanted) < count:
            self._chance.shuffle(names)
            wanted += names
        return wanted[:count]

    def run(self, kind: str) -> None:
        at = time.monotonic() - self.began
        began = time.perf_counter()
        try:
            ok = self.kinds[kind][1]()
        except (OSError, LookupError, ValueError) as error:
            print(f"  {kind}: {error!r}", file=sys.stderr, flush=True)
            ok = False
        self.done.append(Done(at, kind, (time.perf_counter() - began) * 1000, ok))

    def fill_inbox(self) -> None:
        """Make more proposals than a page shows, which nobody decides."""
        owners = sorted({owner for owner, _ in self.targets})
        for number in range(WAITING):
            answer = self._propose(owners[number % len(owners)], UNDECIDED, f"Line {number} says nothing yet.")
            if not answer["ok"]:
                raise RuntimeError(f"the inbox cannot be filled: {answer}")

    def warm_up(self) -> None:
        """Do everything a few times, unrecorded: a first search loads the model."""
        for _ in range(3):
            for _, do in self.kinds.values():
                do()

    # -- operations -------------------------------------------------------------------------------

    def propose(self) -> bool:
        owner, label = self._target()
        read = self._tool("read_memory_block", user_id=owner, block_label=label)
        answer = self._propose(owner, label, self._chance.choice(read["data"]["body"].split("\n")))
        if answer["ok"]:
            self._waiting.put(answer["data"]["proposal_id"])
        return bool(answer["ok"])

    def _propose(self, owner: str, label: str, old: str) -> dict[str, Any]:
        return self._tool(
            "propose_memory_edit",
            user_id=owner,
            block_label=label,
            old_string=old,
            new_string=f"Line {old.split()[1]} says {self._chance.randrange(10**9)} by now.",
            reasoning="She said so.",
        )

    def approve(self) -> bool:
        try:
            pk = self._waiting.get_nowait()
        except Empty:
            return True
        person = self.signed_in()
        page = person.get(f"/proposals/{pk}/")
        if page.status != 200:
            return False
        address, said = f"/proposals/{pk}/approve/", dict[str, str]()
        if address not in page.text:  # another change to the same line was first
            address, said = f"/proposals/{pk}/reject/", {"reason": "outdated"}
        fields = processes.form(page.text, address) | said
        return person.post_form(address, fields).status in (200, 302, 409)

    def save(self) -> bool:
        owner, _ = self._target()
        said = f"She mentioned {self._chance.randrange(10**9)} and heading {self._chance.randrange(97)}."
        return bool(self._tool("memory_save", user_id=owner, content=said)["ok"])

    def search(self) -> bool:
        query = f"what did she mention under heading {self._chance.randrange(97)}"
        return bool(self._tool("memory_search", user_id=self._target()[0], query=query)["ok"])

    def read(self) -> bool:
        owner, label = self._target()
        return bool(self._tool("read_memory_block", user_id=owner, block_label=label)["ok"])

    def _page(self, path: str) -> bool:
        return self.signed_in().get(path).status == 200

    def _target(self) -> tuple[str, str]:
        return self._chance.choice(self.targets)

    def _tool(self, name: str, **arguments: object) -> dict[str, Any]:
        answer = self._agent().post_json(f"/api/v1/tools/{name}/", json.dumps(arguments).encode())
        if answer.status >= 500:
            raise ValueError(f"{name} answered {answer.status}")
        return dict(json.loads(answer.text))

    def _agent(self) -> processes.Session:
        if not hasattr(self._local, "agent"):
            self._local.agent = processes.Session(self.port, self.token)
        agent: processes.Session = self._local.agent
        return agent

    def signed_in(self) -> processes.Session:
        from benchmarks import leg

        if not hasattr(self._local, "person"):
            self._local.person = leg.signed_in(processes.Session(self.port))
        person: processes.Session = self._local.person
        return person
