"""What only Assent's own code can do: make the people of the load, and say what the databases hold.

`python -m tests.torture.inside prepare 1` prints a token for each agent, `… report` recovers and prints everything, as
JSON. Run with the site's settings, in a process of its own.
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
from memory_app.dolt.placement import databases, put_in  # noqa: E402
from memory_app.dolt.types import FIRST  # noqa: E402
from memory_app.models import Change  # noqa: E402
from tests.torture.load import AGENTS, ANCHOR, LABELS, OWNER, PASSWORD, REVIEWERS  # noqa: E402


def prepare(memories: str) -> dict[str, str]:
    """Make one owner with empty blocks in the last of so many databases, reviewers with passwords, and agents; a token
    for each agent by name."""
    for number in range(2, int(memories) + 1):
        call_command("memories", "add", f"{FIRST}_{number}", stdout=io.StringIO())
    put_in(OWNER, databases()[-1])
    people = {name: User(username=name) for name in REVIEWERS}
    for person in people.values():
        person.set_password(PASSWORD)
        person.save()
    for name in REVIEWERS:
        if name != OWNER:
            Tutorship.objects.create(tutor=people[name], owner=people[OWNER])
    for label in LABELS:
        fields = services.BlockFields(title=label, description="", body=f"# {label}\n{ANCHOR}\n", limit=200_000)
        services.create_block(actor=people[OWNER], owner=OWNER, label=label, fields=fields)
    issued = {}
    for name in AGENTS:
        agent = Agent.objects.create(name=name)
        issued[name] = auth.issue(agent=agent, owners=[people[OWNER]], scopes=Scope.values).secret
    return issued


def report() -> dict[str, Any]:
    """Run `manage.py recover`; return what main, the proposals and the ledger then hold, for `model.compare`."""
    recovered = io.StringIO()
    call_command("recover", stdout=recovered)
    return {
        "recovered": recovered.getvalue().strip(),
        "blocks": {block.label: block.body for block in reads.blocks(OWNER)},
        "notes": [{"id": note.id, "content": note.content} for note in reads.notes(OWNER)],
        "proposals": list(Proposal.objects.order_by("pk").values("id", "status", "kind", "reasoning")),
        "ledger": list(Change.objects.order_by("pk").values("action", "target", "proposal_id", kind=F("target_kind"))),
        "problems": list(map(str, problems())),
    }


if __name__ == "__main__":
    json.dump({"prepare": prepare, "report": report}[sys.argv[1]](*sys.argv[2:]), sys.stdout)
