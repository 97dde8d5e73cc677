"""Asking for changes on the pages: the form, what the other pages say then, and what changed when it comes back."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from approvals import services
from approvals.models import Attention, Proposal, Status, User
from approvals.services.hand_back import hand_back
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import address, change, filled, fresh, look, send
from tests.support.fixtures import Propose
from tests.support.pages import assert_says, form, html, words

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/"}
SAY_WHICH = "Say which exam."


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "in June", "in July", reasoning="The exam was moved.")


def ask(client: Client, proposal: Proposal, headers: dict[str, str] | None = None, **typed: Any) -> Any:
    sent = {"revision": 1, "asks": 1, "comment": SAY_WHICH} | typed
    return client.post(address("request_changes", proposal), sent, headers=headers)


def amend(proposal: Proposal, new: str = "in July, in Leeds") -> None:
    change(proposal.agent, ("in June", new), proposal_id=proposal.pk, reasoning="Now with the place.")


def test_the_page_asks_and_the_others_say_whose_turn_it_is(
    as_alice: Client, as_tim: Client, proposal: Proposal
) -> None:
    assert_says(as_alice.get("/?tab=agent"), "Nothing is waiting for an agent")
    answer = send(as_tim, "request_changes", proposal, comment=SAY_WHICH, reason="wrong")
    assert answer.redirect_chain == [(proposal.get_absolute_url(), 302)]
    assert fresh(proposal).status == Status.CHANGES_REQUESTED
    assert_says(answer, "You asked scribe for changes", SAY_WHICH, "Approve as it is")
    assert "Ask for changes…" not in words(answer)
    assert_says(look(as_alice, proposal), "Tim Okafor asked scribe for changes")
    tab = as_alice.get("/?tab=agent")
    assert_says(tab, f"Tim Okafor asked: {SAY_WHICH} Wrong")
    assert tab.context["tabs"] == [("yours", 0), ("agent", 1), ("decided", 0)]
    assert_says(as_tim.get("/?tab=agent"), f"You asked: {SAY_WHICH}")
    assert SAY_WHICH not in words(as_alice.get("/?tab=agent&owner=nobody"))
    assert_says(as_alice.get("/"), "You’re all caught up")
    # Somebody who asks for something else is told of it.
    other = ask(as_alice, proposal, HTMX, comment="Which year?")
    assert_says(other, "Tim Okafor asked scribe for changes.", "Which year?", status=409)


@pytest.mark.parametrize(
    ("comment", "reason", "said"),
    [("  ", "outdated", "Please say what should change"), (SAY_WHICH, "too_private", "")],
)
def test_without_words_or_with_an_unknown_reason_nothing_is_asked(
    as_tim: Client, proposal: Proposal, comment: str, reason: str, said: str
) -> None:
    answer = ask(as_tim, proposal, HTMX, comment=comment, reason=reason)
    assert_says(answer, said, status=422)
    kept = form(answer, address("request_changes", proposal))
    assert (kept["comment"], kept.get("reason", "")) == (comment, "outdated" if reason == "outdated" else "")
    assert fresh(proposal).status == Status.OPEN


def test_who_opened_the_page_before_is_told_of_the_request_and_may_decide_then(
    as_alice: Client, as_tim: Client, goals: Block, proposal: Proposal
) -> None:
    url, sent = address("approve", proposal), filled(as_alice, "approve", proposal, comment="Fine.")
    ask(as_tim, proposal)
    refused = as_alice.post(url, sent, headers=HTMX)
    assert_says(refused, "Tim Okafor asked scribe for changes.", status=409)
    assert reads.block("alice", "goals") == goals
    again = form(refused, url)
    assert again["comment"] == "Fine."
    assert as_alice.post(url, again, headers=HTMX).status_code == 200
    assert fresh(proposal).status == Status.APPROVED


def test_a_request_is_undone_on_the_page_and_on_the_row(as_tim: Client, proposal: Proposal) -> None:
    url = address("request_changes", proposal)
    ask(as_tim, proposal)
    assert_says(send(as_tim, "request_changes", proposal, HTMX, back="1"), "It’s your turn again.")
    assert fresh(proposal).status == Status.OPEN
    row = ask(as_tim, proposal, HTMX, row="/")
    assert_says(row, "Changes requested")
    again = as_tim.post(url, form(row, url) | {"back": "1"}, headers=HTMX)
    assert f'id="row-{proposal.pk}"' in html(again)
    assert_says(again, "The exam was moved.")
    assert fresh(proposal).status == Status.OPEN
    # Of a request that was answered there is nothing to undo.
    ask(as_tim, proposal)
    amend(proposal)
    answer = as_tim.post(url, {"revision": 1, "back": 1}, headers=HTMX)
    assert_says(answer, "There is a newer revision. This proposal has just changed.", status=409)
    assert fresh(proposal).status == Status.OPEN


def test_without_scripts_a_page_asks_and_comes_back_to_the_list_it_names(as_tim: Client, proposal: Proposal) -> None:
    url = address("request_changes", proposal)
    sent = form(look(as_tim, proposal), url) | {"comment": "Which exam?", "row": "/?agent=scribe"}
    answer = as_tim.post(url, sent, follow=True)
    assert answer.redirect_chain == [("/?agent=scribe", 302)]
    assert_says(answer, "Changes requested: Learning goals")


def test_what_assent_handed_back_is_not_anybodys_request(as_tim: Client, proposal: Proposal) -> None:
    with transaction.atomic():
        hand_back(proposal, actor=None, automatic="conflict")
    assert_says(as_tim.get("/?tab=agent"), "Handed back: The text has changed")
    assert_says(look(as_tim, proposal), "Handed back to scribe")


# -- what changed since one looked ----------------------------------------------------------------


def test_looking_is_noted_once_and_not_for_what_is_loaded_ahead(as_tim: Client, tim: User, proposal: Proposal) -> None:
    path = proposal.get_absolute_url()
    as_tim.head(path)
    as_tim.get(path, headers={"Sec-Purpose": "prefetch;prerender"})
    as_tim.get(f"{path}?revision=1")
    assert not Attention.objects.exists()
    as_tim.get(path)
    seen = Attention.objects.get()
    assert (seen.person, seen.seen_revision) == (tim, 1)
    as_tim.get(path)
    assert Attention.objects.get().seen_at == seen.seen_at


def test_a_revision_that_came_since_says_what_changed_to_who_had_looked(
    as_alice: Client, as_tim: Client, proposal: Proposal
) -> None:
    look(as_tim, proposal)
    ask(as_tim, proposal)
    amend(proposal)
    assert_says(as_tim.get("/"), "revision 2 · changed since you looked")
    page = look(as_tim, proposal)
    asked, before = f"You asked: {SAY_WHICH}", "The exam was moved."
    assert_says(page, "What changed since you looked revision 1 → 2", asked, before)
    assert page.context["since"]["redline"].changes == 1
    for client in (as_tim, as_alice):  # once seen it is no news, nor where one never looked
        assert "changed since you looked" not in words(client.get("/"))
        assert "What changed since you looked" not in words(look(client, proposal))
    assert "?revision=2&amp;since=1#since" in html(look(as_tim, proposal))
    assert_says(look(as_tim, proposal, revision=2, since=1), "What changed revision 1 → 2")
    assert look(as_tim, proposal, revision=2, since=9).status_code == 404
    # The same text with other evidence is the same.
    said = [{"role": "user", "content": "It is in July."}]
    change(proposal.agent, ("in June", "in July, in Leeds"), proposal_id=proposal.pk, evidence=said)
    assert_says(look(as_tim, proposal), "Both revisions propose the same text.")


def test_a_second_try_and_the_rejection_name_each_other(
    as_tim: Client, tim: User, goals: Block, proposal: Proposal, propose: Propose
) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded", comment="Which exam?")
    second = propose(goals, "in June", "in July, the B2")
    page = look(as_tim, second)
    answers = f"Answers proposal {proposal.pk}, which Tim Okafor rejected: badly worded."
    assert_says(page, answers, "Which exam?")
    assert page.context["answering"]["redline"].changes == 1
    assert_says(look(as_tim, proposal), f"Proposed again as proposal {second.pk}")
