"""What a person does in one line, through the services, before what a test is about.

Belongs here: acts that tests of several rooms share. Not here: `propose`, which is a fixture, as scribe has to be made.
"""

from itertools import count
from typing import Any

from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, Status, User
from approvals.review.targets import current_state
from approvals.services import notes
from approvals.services.imports import import_memories
from assent_client.text import memories_md
from memory_app import reads
from memory_app.models import Change
from memory_app.text.edits import Edit, Replace, Rewrite
from tests.support.pages import form

_mondays = count(1)


def approve(actor: User, proposal: Proposal, *, comment: str = "", **seen: Any) -> Proposal:
    """Approve a proposal as it stands; `revision` and `seen_sha256` say what else was on the screen."""
    return services.approve(actor=actor, comment=comment, **(as_seen(proposal) | seen))


def reject(actor: User, proposal: Proposal, reason: str = "wrong", **more: Any) -> Proposal:
    """Reject a proposal as it stands."""
    at = {"proposal_id": proposal.pk, "revision": proposal.current_revision_number}
    return services.reject(actor=actor, reason=reason, **(at | more))


def as_seen(proposal: Proposal) -> dict[str, Any]:
    """Return what names a proposal to a decision about it as it stands."""
    return {
        "proposal_id": proposal.pk,
        "revision": proposal.current_revision_number,
        "seen_sha256": current_state(proposal, proposal.current_revision).sha256,
    }


def change(
    agent: Agent, *edits: Edit | tuple[str, str], label: str = "goals", reasoning: str = "Alice said so.", **more: Any
) -> Proposal:
    """An agent proposes several edits of a block of alice's, or `owner`'s: `(old, new)`, or any other edit."""
    made = [Replace(*each) if isinstance(each, tuple) else each for each in edits]
    kind = Kind.REWRITE if any(isinstance(each, Rewrite) for each in made) else Kind.EDIT
    given = {"owner": "alice", "label": label, "edits": made, "kind": kind, "reasoning": reasoning}
    return services.propose(agent=agent, **(given | more)).proposal


def edit(owner: User, label: str, old: str, new: str, *, title: str | None = None, comment: str = "") -> Change:
    """Replace a text, and perhaps the title, in a block of the owner's own."""
    block = reads.block(owner.username, label)
    fields = services.BlockFields(
        title=block.title if title is None else title,
        description=block.description,
        body=block.body.replace(old, new),
        limit=block.limit,
        read_only=block.read_only,
    )
    who = {"actor": owner, "owner": owner.username, "label": label}
    return services.edit_block(fields=fields, loaded_sha256=block.sha256, comment=comment, **who)


def save(owner: User, content: str = "", **fields: Any) -> str:
    """Save a note of the owner's own, which says what no other does unless told otherwise; its id."""
    says = content or f"Reads on Monday {next(_mondays)}."
    made = notes.save(by=notes.ChangeContext(actor=owner), owner=owner.username, content=says, **fields)
    return made.note_id


def imported(by: User | Agent, count: int, content: str, *, first: int = 0, may_apply: bool = True) -> None:
    """Import so many notes of alice's, with a number each in the place of `{}`."""
    numbers = range(first, first + count)
    text = "".join(f"### mem-{number}-aaaa\n> {content.format(number)}\n" for number in numbers)
    by_whom = notes.ChangeContext(actor=by, may_apply=may_apply)
    import_memories(by=by_whom, owner="alice", parsed=memories_md.parse(text))


def proposed_import(agent: Agent, count: int, content: str = "Memory {}.") -> Proposal:
    """A waiting import of so many new notes."""
    Policy.objects.update_or_create(owner="alice", defaults={"notes": Policy.Notes.REVIEW})
    imported(agent, count, content, first=1, may_apply=False)
    return Proposal.objects.get(status=Status.OPEN)


def address(name: str, proposal: Proposal) -> str:
    return reverse(name, args=[proposal.pk])


def look(client: Client, proposal: Proposal, **query: Any) -> Any:
    """The page of a proposal."""
    return client.get(address("proposal", proposal), query)


def fresh(proposal: Proposal) -> Proposal:
    """The proposal as its row is now."""
    return Proposal.objects.get(pk=proposal.pk)


#: Forms about a proposal that have a page of their own; the others stand on the proposal's.
_OWN_PAGE = ("edit", "resolve", "redact")


def filled(client: Client, name: str, proposal: Proposal, **typed: Any) -> dict[str, Any]:
    """The fields of a form about a proposal as its page has them, with what is typed."""
    page = client.get(address(name if name in _OWN_PAGE else "proposal", proposal))
    return form(page, address(name, proposal)) | typed


def send(client: Client, name: str, proposal: Proposal, headers: dict[str, str] | None = None, **typed: Any) -> Any:
    """Fill in and send a form about a proposal; the page that comes of it in the end."""
    sent = filled(client, name, proposal, **typed)
    return client.post(address(name, proposal), sent, headers=headers, follow=True)


def press(
    client: Client, page: Any, proposal: Proposal, verb: str = "approve", *, htmx: bool = True, **more: str
) -> Any:
    """Send the form of this verb about a proposal, as the page has it, with what was typed."""
    url = address(verb, proposal)
    return client.post(url, form(page, url) | more, headers={"HX-Request": "true"} if htmx else {})


def sign_in_again(client: Client, person: User, refused: Any) -> Any:
    """Sign in where a form sent while signed out was answered with that; the page that the form is on."""
    assert refused.status_code == 401
    person.set_password("a long enough passphrase")
    person.save()
    go_on = reverse("sign_in_and_go_on")
    kept = form(refused, go_on) | {"username": person.username, "password": "a long enough passphrase"}
    return client.post(go_on, kept, follow=True)


def assert_ledger(target: str, *, owner: str = "alice", kind: str = "block", **newest: object) -> None:
    """Assert what the newest row of the ledger about a target says: `assert_ledger("goals", action="edited")`."""
    change = reads.history(owner, kind, target)[0]
    assert {name: getattr(change, name) for name in newest} == newest
