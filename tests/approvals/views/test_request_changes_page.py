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
from tests.support.acts import change
from tests.support.fixtures import Propose
from tests.support.pages import form, words

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/"}


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "in June", "in July", reasoning="The exam was moved.")


def url(proposal: Proposal) -> str:
    return f"{proposal.get_absolute_url()}request-changes/"


def ask(client: Client, proposal: Proposal, comment: str = "Say which exam.", **more: Any) -> Any:
    return client.post(url(proposal), {"revision": 1, "asks": 1, "comment": comment} | more.pop("fields", {}), **more)


def amend(proposal: Proposal, new: str = "in July, in Leeds") -> None:
    change(proposal.agent, ("in June", new), proposal_id=proposal.pk, reasoning="Now with the place.")


def status(proposal: Proposal) -> str:
    proposal.refresh_from_db()
    return proposal.status


def test_the_page_asks_and_says_whose_turn_it_is(as_alice: Client, as_tim: Client, proposal: Proposal) -> None:
    sent = form(as_tim.get(proposal.get_absolute_url()), url(proposal))
    answer = as_tim.post(url(proposal), sent | {"comment": "Say which exam.", "reason": "wrong"}, follow=True)
    assert answer.redirect_chain == [(proposal.get_absolute_url(), 302)]
    assert status(proposal) == Status.CHANGES_REQUESTED
    page = words(answer)
    assert "You asked scribe for changes" in page
    assert "Say which exam." in page
    assert "Approve as it is" in page
    assert "Ask for changes…" not in page
    assert "Tim Okafor asked scribe for changes" in words(as_alice.get(proposal.get_absolute_url()))


@pytest.mark.parametrize(
    ("comment", "reason", "said"),
    [("  ", "outdated", "Please say what should change"), ("Say which exam.", "too_private", "")],
)
def test_without_words_or_with_an_unknown_reason_nothing_is_asked(
    as_tim: Client, proposal: Proposal, comment: str, reason: str, said: str
) -> None:
    answer = ask(as_tim, proposal, comment, fields={"reason": reason}, headers=HTMX)
    assert answer.status_code == 422
    assert said in words(answer)
    kept = form(answer, url(proposal))
    assert (kept["comment"], kept.get("reason", "")) == (comment, "outdated" if reason == "outdated" else "")
    assert status(proposal) == Status.OPEN


def test_sent_twice_it_is_asked_once(as_alice: Client, as_tim: Client, proposal: Proposal) -> None:
    assert ask(as_tim, proposal).status_code == ask(as_tim, proposal).status_code == 302
    assert proposal.events.filter(what="changes_requested").count() == 1
    other = ask(as_alice, proposal, "Which year?", headers=HTMX)
    assert other.status_code == 409
    assert "Tim Okafor asked scribe for changes." in words(other)
    assert "Which year?" in other.content.decode()


def test_who_opened_the_page_before_is_told_of_the_request_and_may_decide_then(
    as_alice: Client, as_tim: Client, goals: Block, proposal: Proposal
) -> None:
    client, approve = as_alice, f"{proposal.get_absolute_url()}approve/"
    sent = form(client.get(proposal.get_absolute_url()), approve)
    ask(as_tim, proposal)
    refused = client.post(approve, sent | {"comment": "Fine."}, headers=HTMX)
    assert refused.status_code == 409
    assert "Tim Okafor asked scribe for changes." in words(refused)
    assert reads.block("alice", "goals") == goals
    again = form(refused, approve)
    assert again["comment"] == "Fine."
    assert client.post(approve, again, headers=HTMX).status_code == 200
    assert status(proposal) == Status.APPROVED


def test_a_request_is_undone_on_the_page_and_on_the_row(as_tim: Client, proposal: Proposal) -> None:
    ask(as_tim, proposal)
    back = form(as_tim.get(proposal.get_absolute_url()), url(proposal)) | {"back": "1"}
    page = as_tim.post(url(proposal), back, headers=HTMX)
    assert "It’s your turn again." in words(page)
    assert status(proposal) == Status.OPEN
    row = ask(as_tim, proposal, fields={"row": "/"}, headers=HTMX)
    assert "Changes requested" in words(row)
    again = as_tim.post(url(proposal), form(row, url(proposal)) | {"back": "1"}, headers=HTMX)
    assert f'id="row-{proposal.pk}"' in again.content.decode()
    assert "The exam was moved." in words(again)
    assert status(proposal) == Status.OPEN


def test_undoing_a_request_that_was_answered_says_so(as_tim: Client, proposal: Proposal) -> None:
    ask(as_tim, proposal)
    amend(proposal)
    answer = as_tim.post(url(proposal), {"revision": 1, "back": 1}, headers=HTMX)
    assert answer.status_code == 409
    assert "There is a newer revision." in words(answer)
    assert status(proposal) == Status.OPEN


def test_without_scripts_a_row_asks_and_comes_back_to_the_list(as_tim: Client, proposal: Proposal) -> None:
    sent = form(as_tim.get("/?agent=scribe"), url(proposal))
    answer = as_tim.post(url(proposal), sent | {"comment": "Which exam?"}, follow=True)
    assert answer.redirect_chain == [("/?agent=scribe", 302)]
    assert "Changes requested: Learning goals" in words(answer)


# -- waiting for the agent ------------------------------------------------------------------------


def test_the_tab_says_what_was_asked_by_whom(as_alice: Client, as_tim: Client, proposal: Proposal) -> None:
    empty = words(as_alice.get("/?tab=agent"))
    assert "Nothing is waiting for an agent" in empty
    ask(as_tim, proposal, fields={"reason": "wrong"})
    page = as_alice.get("/?tab=agent")
    said = words(page)
    assert "Tim Okafor asked: Say which exam. Wrong" in said
    assert page.context["tabs"] == [("yours", 0), ("agent", 1), ("decided", 0)]
    assert "You asked: Say which exam." in words(as_tim.get("/?tab=agent"))
    assert "Say which exam." not in words(as_alice.get("/?tab=agent&owner=nobody"))
    assert "You’re all caught up" in words(as_alice.get("/"))


def test_what_assent_handed_back_is_not_anybodys_request(as_tim: Client, proposal: Proposal) -> None:
    with transaction.atomic():
        hand_back(proposal, actor=None, automatic="conflict")
    assert "Handed back: The text has changed" in words(as_tim.get("/?tab=agent"))
    page = words(as_tim.get(proposal.get_absolute_url()))
    assert "Handed back to scribe" in page


# -- what changed since one looked ----------------------------------------------------------------


def test_looking_is_noted_once_and_not_for_what_is_loaded_ahead(as_tim: Client, tim: User, proposal: Proposal) -> None:
    client, path = as_tim, proposal.get_absolute_url()
    client.head(path)
    client.get(path, headers={"Sec-Purpose": "prefetch;prerender"})
    assert not Attention.objects.exists()
    client.get(f"{path}?revision=1")
    assert not Attention.objects.exists()
    client.get(path)
    (seen,) = Attention.objects.all()
    assert (seen.person, seen.seen_revision) == (tim, 1)
    at = seen.seen_at
    client.get(path)
    seen.refresh_from_db()
    assert seen.seen_at == at


def test_a_revision_that_came_since_says_what_changed(as_tim: Client, proposal: Proposal) -> None:
    client, path = as_tim, proposal.get_absolute_url()
    client.get(path)
    ask(client, proposal)
    amend(proposal)
    assert "revision 2 · changed since you looked" in words(client.get("/"))
    page = client.get(path)
    assert "What changed since you looked revision 1 → 2" in words(page)
    assert "You asked: Say which exam." in words(page)
    assert "The exam was moved." in words(page)  # the reason given before
    assert page.context["since"]["redline"].changes == 1
    # Once seen it is no news, and can still be compared.
    assert "changed since you looked" not in words(client.get("/"))
    again = client.get(path)
    assert "What changed since you looked" not in words(again)
    assert f"{path}?revision=2&amp;since=1#since" in again.content.decode()
    assert "What changed revision 1 → 2" in words(client.get(f"{path}?revision=2&since=1"))
    assert client.get(f"{path}?revision=2&since=9").status_code == 404


def test_who_never_looked_is_not_told_of_changes(as_alice: Client, proposal: Proposal) -> None:
    amend(proposal)
    assert "changed since you looked" not in words(as_alice.get("/"))
    assert "What changed" not in words(as_alice.get(proposal.get_absolute_url()))


def test_the_same_text_with_other_evidence_says_that_it_is_the_same(as_tim: Client, proposal: Proposal) -> None:
    client, path = as_tim, proposal.get_absolute_url()
    client.get(path)
    said = [{"role": "user", "content": "It is in July."}]
    change(proposal.agent, ("in June", "in July"), proposal_id=proposal.pk, evidence=said)
    assert "Both revisions propose the same text." in words(client.get(path))


# -- what a rejection leads to --------------------------------------------------------------------


def test_a_second_try_and_the_rejection_name_each_other(
    as_tim: Client, tim: User, goals: Block, proposal: Proposal, propose: Propose
) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded", comment="Which exam?")
    second = propose(goals, "in June", "in July, the B2")
    page = as_tim.get(second.get_absolute_url())
    said = words(page)
    assert f"Answers proposal {proposal.pk}, which Tim Okafor rejected: badly worded." in said
    assert "Which exam?" in said
    assert page.context["answering"]["redline"].changes == 1
    before = words(as_tim.get(proposal.get_absolute_url()))
    assert f"Taken up again in proposal {second.pk}" in before
