"""Nothing of a note is remembered that its reviewer was not shown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from approvals.models import Policy, Proposal, Status
from approvals.services import notes
from approvals.services.imports import import_file
from approvals.services.notes import By
from memory_app import recall
from tests.pages import form, words


def saved(by: Any, content: str, **fields: Any) -> str:
    """The id of a note that is in alice's memory at once, whoever saves it."""
    return str(notes.save(by=By(actor=by, may_apply=True), owner="alice", content=content, **fields).note_id)


def imported(agent: Any, text: str) -> Proposal:
    """The waiting import of a file."""
    Policy.objects.update_or_create(owner="alice", defaults={"notes": Policy.Notes.REVIEW})
    import_file(by=By(actor=agent), owner="alice", data=text.encode())
    return Proposal.objects.get(status=Status.OPEN)


def test_the_two_hundred_and_first_note_of_an_import_is_on_a_page_that_links_lead_to(
    alice: Any, scribe: Any, client_of: Any
) -> None:
    client = client_of(alice)
    text = "".join(f"### mem-{number}-aaaa\n> Memory {number}.\n" for number in range(1, 202))
    read = [client.get(imported(scribe, text).get_absolute_url()).content.decode()]
    while following := re.search(r'rel="next" href="([^"]+)"', read[-1]):
        read.append(client.get(following[1]).content.decode())
    shown = {int(number) for text in read for number in re.findall(r"Memory (\d+)\.", text)}
    assert shown == set(range(1, 202))


@pytest.mark.parametrize("change", ["reworded", "deleted"])
def test_a_replacement_that_changed_since_it_was_read_is_not_approved(
    alice: Any, scribe: Any, client_of: Any, change: str
) -> None:
    outdated, instead = saved(alice, "Lives in Bonn."), saved(scribe, "Replacement one.")
    forget = notes.supersede(by=By(actor=scribe), owner="alice", note_id=outdated, replacement_id=instead)
    client = client_of(alice)
    shown, approve = forget.proposal.get_absolute_url(), reverse("approve", args=[forget.proposal.pk])
    read = client.get(shown)
    assert "Replacement one." in words(read)
    by = By(actor=scribe, may_apply=True)
    if change == "reworded":
        notes.update(by=by, owner="alice", note_id=instead, content="Alice owes Example Ltd 500 euros.")
    else:
        notes.delete(by=by, owner="alice", note_id=instead)
    answer = client.post(approve, form(read, approve))
    assert answer.status_code == 409
    assert "The note, or the one in its place, changed since you opened this page." in words(answer)
    assert not recall.note("alice", outdated).is_superseded
    assert client.post(approve, form(client.get(shown), approve)).status_code == 302
    assert recall.note("alice", outdated).superseded_by == instead
