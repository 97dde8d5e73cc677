"""Pages of undoing say what becomes of what went back to the agent, and lay the change out as elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from approvals import services
from approvals.models import Agent, Kind, Proposal, User
from approvals.services import Rest
from memory_app import reads
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.approvals.services.test_approve_some import approve_some, proposal, ticks
from tests.approvals.views.test_undo_page import url
from tests.support.acts import edit
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words

__all__ = ["proposal"]


@pytest.fixture
def part(goals: Block, tim: User, proposal: Proposal) -> Proposal:
    return approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="")


@pytest.fixture
def client(client_of: ClientOf, tim: User) -> Client:
    return client_of(tim)


def test_the_page_says_that_the_whole_comes_back_and_the_outcome_leads_to_it(
    client: Client, alice: User, part: Proposal
) -> None:
    rest = part.answered_by.get()
    edit(alice, "goals", "in June", "in July")
    shown = client.get(url(part))
    assert f"all of it waits for a decision again, as proposal {rest.pk}." in words(shown)
    answer = client.post(url(part), form(shown, url(part)), follow=True)
    assert f"All of it, also what was left out, waits again as proposal {rest.pk}." in words(answer)
    assert rest.get_absolute_url() in answer.content.decode()
    assert "Change 3 of 3" in words(client.get(rest.get_absolute_url()))


def test_the_page_says_that_what_was_decided_since_stays(client: Client, tim: User, part: Proposal) -> None:
    rest = part.answered_by.get()
    seen = reads.block("alice", "goals").sha256
    services.approve(actor=tim, proposal_id=rest.pk, revision=1, seen_sha256=seen, is_with_agent=True)
    shown = client.get(url(part))
    assert f"What went back became proposal {rest.pk}, which is approved. That stays." in words(shown)
    answer = client.post(url(part), form(shown, url(part)), follow=True)
    assert f"What was left out is proposal {rest.pk}, which stays as it is: approved." in words(answer)


def test_the_page_says_that_what_the_agent_changed_since_stays(client: Client, scribe: Agent, part: Proposal) -> None:
    rest = part.answered_by.get()
    said: dict[str, Any] = {
        "kind": Kind.EDIT,
        "reasoning": "Three then.",
        "edits": [Replace("one book", "three books")],
    }
    services.amend(agent=scribe, owner="alice", proposal_id=rest.pk, label="goals", **said)
    assert f"What went back was changed by scribe since. That stays: it is proposal {rest.pk}." in words(
        client.get(url(part))
    )


def test_what_undoing_changes_is_laid_out_and_its_source_is_one_click_away(
    client: Client, alice: User, part: Proposal
) -> None:
    edit(alice, "goals", "in June", "in July")
    laid_out = client.get(url(part)).content.decode()
    assert "redline rendered" in laid_out
    assert "redline source" not in laid_out
    assert 'href="?view=source"' in laid_out
    assert "redline source" in client.get(f"{url(part)}?view=source").content.decode()
