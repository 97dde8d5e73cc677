"""What only Assent's own code can do: make the people of the load, and say what the databases hold.

`python -m tests.torture.inside prepare 1 1` prints a token for each agent, `… report` recovers and prints everything,
as JSON. Run with the site's settings, in a process of its own.
"""

import io
import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db.models import F  # noqa: E402

from agent_tools import auth  # noqa: E402
from agent_tools.models import Scope  # noqa: E402
from approvals import services  # noqa: E402
from approvals.models import Agent, Proposal, Tutorship, User  # noqa: E402
from approvals.recovery.integrity import problems  # noqa: E402
from memory_app import reads  # noqa: E402
from memory_app.dolt.connections import dolt_of  # noqa: E402
from memory_app.dolt.placement import databases, put_in  # noqa: E402
from memory_app.dolt.types import FIRST  # noqa: E402
from memory_app.models import Change  # noqa: E402
from tests.torture.load import (  # noqa: E402
    AGENTS,
    ANCHOR,
    LABELS,
    OWNER,
    PASSWORD,
    REVIEWERS,
    WITH_BLOCKS,
    others_of,
)


def prepare(memories: str, owners: str) -> dict[str, str]:
    """Make so many owners over so many databases, reviewers with passwords, and agents; a token for each agent by name.

    The first owner has all blocks and is in the last database; others have one, or notes alone.
    """
    for number in range(2, int(memories) + 1):
        call_command("memories", "add", f"{FIRST}_{number}", stdout=io.StringIO())
    others = [User(username=name) for name in others_of(int(owners))]
    people = {name: User(username=name, is_staff=bool(others)) for name in REVIEWERS}
    for person in people.values():
        person.set_password(PASSWORD)
        person.save()
    User.objects.bulk_create(others)
    for number, owner in enumerate([people[OWNER], *others], start=-1):
        put_in(owner.username, databases()[number % int(memories)])
    for name in REVIEWERS:
        if name != OWNER:
            Tutorship.objects.create(tutor=people[name], owner=people[OWNER])
    blocks = [(people[OWNER], label) for label in LABELS] + [(owner, LABELS[0]) for owner in others[:WITH_BLOCKS]]
    for owner, label in blocks:
        fields = services.BlockFields(title=label, description="", body=f"# {label}\n{ANCHOR}\n", limit=200_000)
        services.create_block(actor=owner, owner=owner.username, label=label, fields=fields)
    issued = {}
    for name in AGENTS:
        agent = Agent.objects.create(name=name)
        serves: dict[str, Any] = {"all_owners": True} if others else {"owners": [people[OWNER]]}
        issued[name] = auth.issue(agent=agent, scopes=Scope.values, **serves).secret
    return issued


def report() -> dict[str, Any]:
    """Run `manage.py recover`; return what all mains, the proposals and the ledger then hold, for `model.compare`."""
    recovered = io.StringIO()
    call_command("recover", stdout=recovered)
    return {
        "recovered": recovered.getvalue().strip(),
        "blocks": {f"{row['owner']}/blocks/{row['label']}": row["body"] for row in _rows(reads.BLOCKS)},
        "notes": [
            {"id": row["note_id"], "owner": row["owner"], "content": row["content"]} for row in _rows(reads.NOTES)
        ],
        "proposals": list(Proposal.objects.order_by("pk").values("id", "status", "kind", "reasoning")),
        "ledger": list(Change.objects.order_by("pk").values("action", "target", "proposal_id", kind=F("target_kind"))),
        "problems": list(map(str, problems())),
    }


def _rows(table: str) -> list[dict[str, Any]]:
    return [row for database in databases() for row in dolt_of(database).rows(table, None)]


if __name__ == "__main__":
    json.dump({"prepare": prepare, "report": report}[sys.argv[1]](*sys.argv[2:]), sys.stdout)
